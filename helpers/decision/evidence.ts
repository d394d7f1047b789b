import type { GateAgent } from "../host.ts";
import type { PreflightError, PreflightOutcome } from "../preflight/guild_preflight.ts";
import type { JsonValue } from "../formats/strict_json.ts";
import type { Verdict } from "../preflight/preflight_contract.ts";
import type { Policy } from "../settings/settings.ts";
import type { Decision, Reason } from "./decision.ts";
import { redactEndpoint } from "./denial.ts";
import { readKeptEvidence } from "../preflight/kept_evidence.ts";
import type { KeptMember } from "../preflight/kept_evidence.ts";

/** Where an agent keeps the record of its last decision, and of its last {@link MAX_RECORDS} (SPEC P9.1). */
export const LAST_OBSERVATION_KEY = "agent_guild_preflight.last_observation";
export const DECISIONS_KEY = "agent_guild_preflight.decisions";

/** How many decision records an agent keeps. */
export const MAX_RECORDS = 20;

/**
 * What a preflight brought, as stored evidence. The lists, `checks`, `method` and `limits` are the remote side's own
 * words, up to a bound: operator data that never enters a prompt, the history or a denial (SPEC P9.4). After a failure what has no
 * value is `null` and `error` says why.
 */
export interface ObservationRecord {
  readonly verdict: Verdict | null;
  readonly failed: JsonValue;
  readonly unknowns: JsonValue;
  readonly scored: JsonValue;
  readonly checks: JsonValue;
  readonly method: JsonValue;
  readonly limits: JsonValue;
  readonly guild_origin: string;
  /** When its body was complete, in ISO 8601, UTC. */
  readonly observed_at: string | null;
  readonly cached: boolean;
  readonly age_seconds: number | null;
  readonly error: PreflightError | null;
  /** Present when some members were too long to be kept as they came. */
  readonly shortened?: {
    /** Their names: of `checks` the six with their statuses are kept, of others the beginning of their text. */
    readonly members: readonly KeptMember[];
    /** How many checks outside the six the answer has (SPEC P10.2). */
    readonly unlisted: number;
  };
}

/** The policy of a record, with the setting names of the configuration. */
export interface PolicyRecord {
  readonly required_proven: readonly string[];
  readonly tolerate_unknown_required: boolean;
  readonly on_caution: "allow" | "deny";
  readonly on_unavailable: "allow" | "deny";
}

/** One decision about one call (SPEC P9.2). */
export interface DecisionRecord {
  readonly decision: "allow" | "deny";
  readonly reason: Reason;
  readonly server: string;
  readonly tool: string;
  /** The approved URL; absent when it is not eligible, since it may hold a credential (SPEC P4.4). */
  readonly endpoint?: string;
  readonly policy: PolicyRecord;
  /** In ISO 8601, UTC. */
  readonly decided_at: string;
  /** Present when a preflight was attempted. */
  readonly observation?: ObservationRecord;
}

/**
 * Stores one decision on the agent and writes its summary to the chat log (SPEC P9). Synchronous, so that concurrent
 * calls neither lose nor mix their records.
 *
 * @param agent - the agent whose call was decided
 * @param decision - the decision
 */
export function recordDecision(agent: GateAgent, decision: Decision): void {
  const record = toRecord(decision);
  const earlier = agent.getData(DECISIONS_KEY);
  const decisions = [...(Array.isArray(earlier) ? (earlier as DecisionRecord[]) : []), record];
  agent.setData(LAST_OBSERVATION_KEY, record);
  agent.setData(DECISIONS_KEY, decisions.slice(-MAX_RECORDS));
  agent.context.log.log(toLogItem(decision));
}

function toRecord(decision: Decision): DecisionRecord {
  const { reason, call, endpoint, policy, outcome } = decision;
  return {
    decision: decision.decision,
    reason,
    server: call.server,
    tool: call.tool,
    ...(reason === "ineligible_endpoint" ? {} : { endpoint }),
    policy: toPolicyRecord(policy),
    decided_at: decision.decidedAt.toISOString(),
    ...(outcome === null ? {} : { observation: toObservationRecord(outcome) }),
  };
}

/** A policy under the names of the settings. */
export function toPolicyRecord(policy: Policy): PolicyRecord {
  return {
    required_proven: [...policy.requiredProven],
    tolerate_unknown_required: policy.tolerateUnknownRequired,
    on_caution: policy.onCaution,
    on_unavailable: policy.onUnavailable,
  };
}

function toObservationRecord(outcome: PreflightOutcome): ObservationRecord {
  if (outcome.kind === "failure") {
    return {
      verdict: null,
      failed: null,
      unknowns: null,
      scored: null,
      checks: null,
      method: null,
      limits: null,
      guild_origin: outcome.guildOrigin,
      observed_at: null,
      cached: false,
      age_seconds: null,
      error: outcome.error,
    };
  }
  const { answer, guildOrigin, observedAt, cached, ageSeconds } = outcome.observation;
  const { untrusted, unlisted } = answer;
  return {
    verdict: answer.verdict,
    ...readKeptEvidence(untrusted),
    guild_origin: guildOrigin,
    observed_at: observedAt.toISOString(),
    cached,
    age_seconds: ageSeconds,
    error: null,
    ...(untrusted.shortened.length === 0 ? {} : { shortened: { members: untrusted.shortened, unlisted } }),
  };
}

const PLAIN_NAME = /^[A-Za-z0-9_.-]{1,128}$/;

/** A name where it is plain enough to be logged, else what stands for it: a tool's name is remote text (SPEC P9.4). */
export function nameToShow(name: unknown, otherwise: string): string {
  return typeof name === "string" && PLAIN_NAME.test(name) ? name : otherwise;
}

function toLogItem({ decision, reason, call, endpoint, outcome }: Decision) {
  const observation = outcome?.kind === "observation" ? outcome.observation : null;
  return {
    type: decision === "deny" ? ("warning" as const) : ("info" as const),
    heading: "Agent Guild preflight",
    content: decision === "deny" ? "The call was blocked." : "The call was not blocked.",
    kvps: {
      decision,
      reason,
      server: nameToShow(call.server, "<server>"),
      tool: nameToShow(call.tool, "<tool>"),
      endpoint: reason === "ineligible_endpoint" ? null : redactEndpoint(endpoint),
      verdict: observation?.answer.verdict ?? null,
      observed_at: observation?.observedAt.toISOString() ?? null,
      cached: observation?.cached ?? null,
      error: outcome?.kind === "failure" ? outcome.error : null,
    },
  };
}
