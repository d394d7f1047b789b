import { BINDING_REASONS } from "../../../helpers/binding/mcp_binding.ts";
import type { Verdict } from "../../../helpers/preflight/preflight_contract.ts";
import type { CallReason, RecordedCall } from "../../host/call_recorder.ts";

/** The stages of a request, in order. */
export const STAGES = ["policy", "binding", "preflight", "second look", "decision", "tool"] as const;

/** The name of a stage. */
export type StageName = (typeof STAGES)[number];

/** One stage of a request. */
export interface Stage {
  readonly name: StageName;
  /** `passed` went on, `open` went on without being settled, `stopped` ended the request, `skipped` did not take place. */
  readonly state: "passed" | "open" | "stopped" | "skipped";
  /** What it came to, in a few words. */
  readonly words: string;
  /** When it began and ended, in milliseconds since the request; `null` for one that did not take place. */
  readonly span: { readonly from: number; readonly to: number } | null;
}

/** How a request went through its stages, and when. */
export function stagesOf(call: RecordedCall): Stage[] {
  const { asked, ...times } = call.times;
  const at = (moment: number | undefined, otherwise: number) =>
    moment === undefined ? otherwise : moment - asked;
  const found = at(times.found, 0);
  const policy = at(times.policy, found);
  const decided = at(times.decided, policy);
  const bound = at(times.bound, decided);
  const confirmed = at(times.confirmed, decided);
  const answered = at(times.answered, decided);
  const spans: Readonly<Record<StageName, Stage["span"]>> = {
    policy: { from: 0, to: policy },
    binding: { from: policy, to: bound },
    preflight: { from: bound, to: confirmed },
    "second look": { from: confirmed, to: decided },
    decision: { from: decided, to: decided },
    tool: { from: decided, to: answered },
  };
  return STAGES.map((name) => {
    const [state, words] = DESCRIPTIONS[name](call);
    return { name, state, words, span: state === "skipped" ? null : spans[name] };
  });
}

type Description = readonly [state: Stage["state"], words: string];

const DESCRIPTIONS: Readonly<Record<StageName, (call: RecordedCall) => Description>> = {
  policy: describePolicy,
  binding: describeBinding,
  preflight: describePreflight,
  "second look": describeSecondLook,
  decision: describeDecision,
  tool: describeTool,
};

function reasonOf({ ending }: RecordedCall): CallReason | null {
  return "reason" in ending ? ending.reason : null;
}

function describePolicy(call: RecordedCall): Description {
  if (reasonOf(call) === "tool_policy") return ["stopped", "the host's tool policy blocks the tool"];
  return call.times.policy === undefined
    ? ["skipped", "no tool policy in force"]
    : ["passed", "the host's tool policy does not object"];
}

function describeBinding(call: RecordedCall): Description {
  const reason = reasonOf(call);
  if (reason === "configuration_invalid") return ["stopped", "the configuration cannot be used"];
  if (reason !== null && BINDING_REASONS.some((one) => one === reason)) return ["stopped", reason];
  if (call.record !== null) return ["passed", "it is the approved endpoint"];
  return ["skipped", reason === "not_protected" ? "nobody protects it" : "not reached"];
}

const VERDICT_STATES: Readonly<Record<Verdict, Stage["state"]>> = {
  do_not_delegate: "stopped",
  delegate_with_caution: "open",
  no_failed_checks: "passed",
};

function describePreflight({ record }: RecordedCall): Description {
  const observation = record?.observation;
  if (observation === undefined) return ["skipped", "the Guild was not asked"];
  const { verdict, cached, error } = observation;
  if (verdict === null) return ["open", `no evidence: ${error ?? "unknown"}`];
  return [VERDICT_STATES[verdict], cached ? `${verdict}, from the cache` : verdict];
}

function describeSecondLook(call: RecordedCall): Description {
  if (reasonOf(call) === "binding_changed") return ["stopped", "the binding changed"];
  return call.times.confirmed === undefined
    ? ["skipped", "nothing was waited for"]
    : ["passed", "the binding still holds"];
}

function describeDecision({ record }: RecordedCall): Description {
  if (record === null) return ["skipped", "the gate decided nothing"];
  return record.decision === "allow" ? ["passed", "not denied"] : ["stopped", `denied: ${record.reason}`];
}

function describeTool({ ending }: RecordedCall): Description {
  switch (ending.kind) {
    case "ran":
      return ending.toolError ? ["open", "it ran and reported an error"] : ["passed", "it ran"];
    case "no_such_tool":
      return ["stopped", "there is no such tool"];
    case "failed":
      return ["stopped", "it did not end"];
    default:
      return ["skipped", "it did not run"];
  }
}
