// What the commands print with --json, for programs that read it (SPEC C). The documents' types follow from here, so that
// what a command builds and what it promises cannot differ. Commands import the types alone.
import * as z from "zod";

import { REASONS } from "../../helpers/decision/decision.ts";
import { CHECKS, STATUSES, VERDICTS } from "../../helpers/preflight/preflight_contract.ts";

const reason = z.enum([...REASONS, "not_protected", "tool_policy"]);
const allowOrDeny = z.enum(["allow", "deny"]);
const check = z.enum(CHECKS);

/** The status of each of the six checks. */
const statuses = z.record(check, z.enum(STATUSES));

const error = z.enum([
  "deadline",
  "connect",
  "tls",
  "status",
  "redirect",
  "encoding",
  "content_type",
  "too_large",
  "truncated",
  "inconsistent",
]);

const settingError = z.strictObject({ path: z.string(), expected: z.string() });

const policy = z.strictObject({
  required_proven: z.array(check),
  tolerate_unknown_required: z.boolean(),
  on_caution: allowOrDeny,
  on_unavailable: allowOrDeny,
});

/** What is known about an endpoint: everything but `guild_origin` is null or false after a failure. */
const evidence = z.strictObject({
  guild_origin: z.string(),
  verdict: z.enum(VERDICTS).nullable(),
  statuses: statuses.nullable(),
  /** How many checks outside the six the answer has. */
  unlisted: z.int().nonnegative(),
  observed_at: z.iso.datetime().nullable(),
  cached: z.boolean(),
  age_seconds: z.number().nonnegative().nullable(),
  error: error.nullable(),
});

/** One scenario's ending. */
const ending = z.strictObject({ outcome: z.enum(["ran", "denied"]), reason });

/** `demo --json`. */
export const demoDocument = z.strictObject({
  ok: z.boolean(),
  scenarios: z.array(
    z.strictObject({
      name: z.string(),
      story: z.string(),
      path: z.enum(["native", "text"]),
      request: z.string(),
      outcome: z.enum(["ran", "denied", "failed"]),
      reason: reason.nullable(),
      expected: ending,
      /** Whether the Guild of this scenario is scripted, or none. */
      synthetic: z.boolean(),
      guild_requests: z.int().nonnegative(),
      tool_calls: z.int().nonnegative(),
      ms: z.int().nonnegative(),
    }),
  ),
});

/** One call of a script. */
const call = z.strictObject({
  /** As the script or the model names it. */
  tool: z.string(),
  by_worker: z.boolean(),
  outcome: z.enum(["ran", "denied", "no_such_tool", "failed", "not_dispatched"]),
  /** Null where nothing decided: no such tool, failed, not dispatched, denied by an extension of somebody else. */
  reason: reason.nullable(),
  /** Whether the tool ran and its server called the result an error. */
  tool_error: z.boolean(),
  ms: z.number().nonnegative().nullable(),
  /** The approved endpoint, null when it may not be shown or none was compared. */
  endpoint: z.string().nullable(),
  policy: policy.nullable(),
  evidence: evidence.nullable(),
  /** What the operator can see of the reason in the configuration as it was after the run: file, setting, why. */
  details: z.array(z.string()),
});

/** `run --json`. */
export const runDocument = z.strictObject({
  ok: z.boolean(),
  root: z.string(),
  project: z.string().nullable(),
  profile: z.string().nullable(),
  turns: z.array(
    z.strictObject({
      turn: z.int().positive(),
      path: z.enum(["native", "text"]),
      /** `calls`: it asked for tools; `answer`: it ended the run; `refused`: the host could not make a request of it. */
      kind: z.enum(["calls", "answer", "refused", "not_reached"]),
      calls: z.array(call),
    }),
  ),
  /** Why the run ended before its script; null when it did not, or an answer ended it. */
  problem: z.string().nullable(),
  /** MCP servers that cannot be used. */
  mcp_problems: z.array(z.strictObject({ name: z.string(), problem: z.string() })),
});

/** Something that the Guild's own rules make certain before it is asked. */
const certainty = z.strictObject({
  code: z.enum(["url_too_long", "port_refused", "host_refused", "url_refused", "no_protocol_probe"]),
  /** In words. */
  means: z.string(),
  /** What the policy then makes of every call; null when it need not deny. */
  denies: reason.nullable(),
});

/** `check --json`. */
export const checkDocument = z.strictObject({
  /** Whether nothing denies a call. That is no approval. */
  ok: z.boolean(),
  decision: allowOrDeny,
  reason,
  /** What was disclosed, and to whom; null when nothing was. */
  disclosed: z.strictObject({ to: z.string(), url: z.string() }).nullable(),
  /** The rule of SPEC P4 that refuses the URL, and a fixed word for why; null when none does. */
  ineligible: z.strictObject({ rule: z.enum(["P4.1", "P4.2", "P4.3"]), problem: z.string() }).nullable(),
  certainties: z.array(certainty),
  evidence: evidence.nullable(),
  /** Null where no policy could be read. */
  policy: policy.nullable(),
  /** The servers for which the root's configuration approves exactly this URL; null without a root. */
  approved_for: z.array(z.string()).nullable(),
  /** What is wrong with the root's configuration. */
  setting_errors: z.array(settingError),
  /** What an observation is not. */
  is_not: z.array(z.string()),
});

const finding = z.strictObject({
  /** A problem makes the exit code 1. */
  level: z.enum(["problem", "warning"]),
  code: z.string(),
  words: z.string(),
  /** What to do about it. */
  remedy: z.string(),
});

const bindingRule = z.strictObject({
  rule: z.enum(["P5.1", "P5.2", "P5.3", "P5.4", "P5.5"]),
  /** The reason with which a call is denied when it fails. */
  reason,
  outcome: z.enum(["holds", "fails", "not_known_offline", "not_reached"]),
  words: z.string(),
});

/** Why a URL may not be disclosed; it is not shown itself. */
const ineligible = z.strictObject({
  rule: z.enum(["P4.1", "P4.2", "P4.3"]),
  problem: z.string(),
  words: z.string(),
});

/** `doctor --json`. */
export const doctorDocument = z.strictObject({
  ok: z.boolean(),
  /** All of it in a sentence. */
  verdict: z.strictObject({
    kind: z.enum(["protected", "nothing_protected", "not_gated", "problems"]),
    words: z.string(),
  }),
  root: z.string(),
  project: z.string().nullable(),
  profile: z.string().nullable(),
  plugin: z.strictObject({
    path: z.string().nullable(),
    origin: z.enum(["user", "built-in"]).nullable(),
    enabled: z.boolean(),
  }),
  /** How the plugin's folder compares with its release; paths are relative to it. */
  release: z.strictObject({
    state: z.enum(["as_released", "differs", "clone", "unmarked", "missing"]),
    version: z.string().nullable(),
    missing: z.array(z.string()),
    changed: z.array(z.string()),
    /** Files that the release does not have; the operator's own are left out. */
    foreign: z.array(z.string()),
    /** Compiled files of a clone that are missing or older than their sources. */
    outdated: z.array(z.string()),
  }),
  configuration: z.strictObject({
    /** The file that decides, relative to the root; null when none does. */
    file: z.string().nullable(),
    places: z.array(
      z.strictObject({
        scope: z.string(),
        path: z.string().nullable(),
        outcome: z.enum(["chosen", "unreadable", "not reached", "absent", "not considered"]),
        why: z.string(),
      }),
    ),
    valid: z.boolean(),
    errors: z.array(settingError),
    policy: policy.nullable(),
    /** The other settings in force; null when the configuration is not valid. */
    settings: z
      .strictObject({
        timeout_seconds: z.number(),
        cache_ttl_seconds: z.number(),
        allow_private_hosts: z.boolean(),
        fixture_guild_origin: z.string().nullable(),
        decision_log: z.string().nullable(),
      })
      .nullable(),
  }),
  servers: z.array(
    z.strictObject({
      name: z.string(),
      /** The approved URL; null when it may not be disclosed. */
      endpoint: z.string().nullable(),
      /** The path of the setting that approves it. */
      setting: z.string(),
      ineligible: ineligible.nullable(),
      /** Both URLs where the binding fails for that; null where they are the same or nothing is to be compared. */
      mismatch: z
        .strictObject({
          approved: z.string(),
          /** Null when it may hold a credential. */
          configured: z.string().nullable(),
          /** The first character in which they differ, counted from 1. */
          differs_at: z.int().positive(),
        })
        .nullable(),
      rules: z.array(bindingRule),
      certainties: z.array(certainty),
      /** With `--live` alone, and only where every rule that can be known holds. */
      live: z
        .strictObject({
          decision: allowOrDeny,
          reason,
          evidence,
          /** What the server itself answered. */
          tools: z.strictObject({ count: z.int().nonnegative(), problem: z.string().nullable() }),
        })
        .nullable(),
    }),
  ),
  mcp: z.strictObject({
    problem: z.string().nullable(),
    entries: z.array(
      z.strictObject({
        name: z.string(),
        kind: z.enum(["remote", "local", "unusable"]),
        protected: z.boolean(),
        /** Why it will not work, as far as that shows offline. */
        problem: z.string().nullable(),
      }),
    ),
  }),
  extensions: z.strictObject({
    point: z.literal("tool_execute_before"),
    /** Why nothing runs at the point. */
    problem: z.string().nullable(),
    in_order: z.array(
      z.strictObject({
        path: z.string(),
        scope: z.string(),
        plugin: z.string().nullable(),
        shadows: z.array(z.string()),
        is_gate: z.boolean(),
      }),
    ),
  }),
  self_test: z.strictObject({ passed: z.boolean(), words: z.string() }),
  findings: z.array(finding),
});

/** A line of `guild --json`: first where it listens, then each preflight. */
export const guildLine = z.union([
  z.strictObject({ event: z.literal("listening"), origin: z.string(), allows_loopback: z.boolean() }),
  z.strictObject({
    event: z.literal("preflight"),
    /** As received: whoever asked wrote it. */
    target: z.string(),
    verdict: z.enum(VERDICTS),
    statuses,
    ms: z.int().nonnegative(),
  }),
]);

const configFile = z.strictObject({
  scope: z.string(),
  project: z.string().nullable(),
  profile: z.string().nullable(),
  /** Relative to the root. */
  path: z.string(),
  valid: z.boolean(),
  errors: z.array(settingError),
});

/** `config list --json`. */
export const configListDocument = z.strictObject({ ok: z.boolean(), files: z.array(configFile) });

/** `config show --json`. */
export const configShowDocument = z.strictObject({
  ok: z.boolean(),
  file: configFile,
  /** What the file holds; null when it is not strict JSON. */
  value: z.json().nullable(),
});

/** `config remove --json`. */
export const configRemoveDocument = z.strictObject({
  ok: z.literal(true),
  removed: z.string(),
  /** The file that decides for the same scope from now on, relative to the root. */
  decides_now: z.string().nullable(),
});

/** One decision: a line of the decision log, of `decisions --follow --json` and of `run --log`. */
export const decisionLine = z.strictObject({
  v: z.literal(1),
  id: z.string().regex(/^[0-9a-f]{12}$/),
  decided_at: z.iso.datetime(),
  /** How long the gate took. */
  took_ms: z.number().nonnegative(),
  decision: allowOrDeny,
  reason: z.enum(REASONS),
  project: z.string().nullable(),
  profile: z.string().nullable(),
  server: z.string(),
  tool: z.string(),
  /** Redacted; null when it is not eligible or the configuration could not be used. */
  endpoint: z.string().nullable(),
  policy: policy.nullable(),
  evidence: evidence.nullable(),
  /** What was wrong with the configuration; null for every other reason. */
  configuration: z
    .strictObject({ where: z.string(), errors: z.array(settingError), more: z.int().nonnegative() })
    .nullable(),
});

/** A line of the decision log that stands for decisions that could not be written. */
export const lostLine = z.strictObject({
  v: z.literal(1),
  lost: z.int().positive(),
  from: z.iso.datetime(),
  to: z.iso.datetime(),
});

/** `decisions --json`. */
export const decisionsDocument = z.strictObject({
  /** Whether every line could be read and none was lost. */
  ok: z.boolean(),
  root: z.string(),
  /** The setting `decision_log`. */
  file: z.string(),
  /** The oldest first. */
  decisions: z.array(decisionLine),
  /** How many decisions could not be written. */
  lost: z.int().nonnegative(),
  /** How many lines are none of a decision log. */
  unreadable: z.int().nonnegative(),
});

export type PolicyDocument = z.infer<typeof policy>;
export type EvidenceDocument = z.infer<typeof evidence>;
export type CallDocument = z.infer<typeof call>;
export type Certainty = z.infer<typeof certainty>;
export type Finding = z.infer<typeof finding>;
export type BindingRule = z.infer<typeof bindingRule>;
export type DemoDocument = z.infer<typeof demoDocument>;
export type RunDocument = z.infer<typeof runDocument>;
export type CheckDocument = z.infer<typeof checkDocument>;
export type DoctorDocument = z.infer<typeof doctorDocument>;
export type GuildLine = z.infer<typeof guildLine>;
export type ConfigFile = z.infer<typeof configFile>;
export type ConfigListDocument = z.infer<typeof configListDocument>;
export type ConfigShowDocument = z.infer<typeof configShowDocument>;
export type ConfigRemoveDocument = z.infer<typeof configRemoveDocument>;
export type DecisionLine = z.infer<typeof decisionLine>;
export type DecisionsDocument = z.infer<typeof decisionsDocument>;
