// Not shared: the plugin's denial tells of a host's configuration. The words here are the agent's own.
import { CHECKS } from "../../helpers/preflight/preflight_contract.ts";
import { PREFLIGHT_ERRORS } from "./preflight_errors.ts";
import type { CallDenial, DenialReason } from "./call_decision.ts";
import type { Fate } from "../mcp/failure.ts";
import type { CallOutcome } from "./endpoint_session.ts";
import { boundResult } from "./prompt_bounds.ts";
import type { Message, ToolCall, ToolCallEnd } from "./prompt_executor.ts";

/** What became of a call, as the model reads it. */
export type ToolMessage = Extract<Message, { role: "tool" }>;

const REASONS: Readonly<Record<DenialReason, string>> = {
  do_not_delegate: "the Guild's verdict on the tool's endpoint is do_not_delegate, which no policy overrides",
  malformed_evidence: "the evidence about the tool's endpoint is incomplete or contradicts itself",
  verdict_not_allowed: "the policy does not allow the Guild's verdict on the tool's endpoint",
  failed_not_allowed: "a check of the tool's endpoint failed that the policy does not let fail",
  unknown_not_allowed: "a check of the tool's endpoint is unknown that the policy does not leave open",
  required_not_proven: "a check of the tool's endpoint that the policy requires is not proven",
  evidence_unavailable: "there is no usable evidence about the tool's endpoint",
};

/** How calls end that the tool itself says nothing about, and what the model is told. */
const FIXED = {
  failed: [
    "failed",
    "The tool call was sent but gave no usable result. Whether the tool did its work is not known: do not assume either.",
  ],
  not_sent: [
    "failed",
    "The tool call did not reach the tool's server, so it was not run. Try again later, or go on without it.",
  ],
  cancelled: [
    "cancelled",
    "The run was cancelled before this call had ended. Whether the tool did its work is not known: do not assume either.",
  ],
  unknown_tool: [
    "unknown_tool",
    "There is no tool of that name. Nothing was sent. Use one of the tools that are offered.",
  ],
  invalid_arguments: [
    "invalid_arguments",
    "The arguments are not one JSON object. Nothing was sent. Write them again, as the tool's schema has them.",
  ],
  too_many: ["not_run", "Too many tool calls in one turn. This one was not sent. Ask for fewer at a time."],
  last_turn: ["not_run", "This call was not sent: the run had no turn left in which to read its result."],
} as const satisfies Readonly<Record<string, readonly [ToolCallEnd, string]>>;

/** The message for a call that ended without the tool's own result, in fixed words. */
export function fixedMessage(call: ToolCall, why: keyof typeof FIXED): ToolMessage {
  const [end, text] = FIXED[why];
  return messageOf(call, end, text);
}

/**
 * The message for a denied call: fixed words and the names of checks, statuses, verdicts and errors. No remote string
 * gets into it (SPEC G6).
 */
export function denialMessage(call: ToolCall, denial: CallDenial): ToolMessage {
  const { reason, checks, observation } = denial;
  const lines = [`The tool call was blocked before it was sent: ${REASONS[reason]}.`, `Reason: ${reason}`];
  if (observation.kind === "answered") {
    const statuses = CHECKS.map((check) => `${check} ${observation.statuses[check]}`);
    lines.push(`Verdict: ${observation.verdict}`, `Checks: ${statuses.join(", ")}`);
    if (checks.length > 0) lines.push(`Not acceptable: ${checks.join(", ")}`);
  } else {
    lines.push(`Error: ${observation.error} (${PREFLIGHT_ERRORS[observation.error]})`);
  }
  lines.push("Use another tool, go on without it, or tell the operator what is missing.");
  return messageOf(call, "denied", lines.join("\n"));
}

/** The message for a call that was made; of a long result as much as `maxCharacters` allow. */
export function outcomeMessage(call: ToolCall, outcome: CallOutcome, maxCharacters: number): ToolMessage {
  if (outcome.kind !== "result") return failureMessage(call, outcome.fate);
  const { isError } = outcome;
  const { content, structuredContent } = boundResult(outcome, maxCharacters);
  const end = isError ? "tool_error" : "result";
  return Object.freeze({ role: "tool", callId: call.id, tool: call.name, end, content, structuredContent });
}

/** What is known of a call that has no usable result (SPEC G12). */
function failureMessage(call: ToolCall, fate: Fate): ToolMessage {
  switch (fate.kind) {
    case "not_sent":
      return fixedMessage(call, "not_sent");
    case "refused": {
      const what = fate.by === "http" ? "HTTP status" : "JSON-RPC error";
      return messageOf(call, "failed", `The tool's server refused the call with the ${what} ${fate.code}.`);
    }
    default:
      return fixedMessage(call, "failed");
  }
}

function messageOf(call: ToolCall, end: ToolCallEnd, text: string): ToolMessage {
  const content = Object.freeze([Object.freeze({ type: "text", text })]);
  return Object.freeze({
    role: "tool",
    callId: call.id,
    tool: call.name,
    end,
    content,
    structuredContent: null,
  });
}
