// Not shared: the plugin's denial tells of a host's configuration. The words here are the agent's own.
import { CHECKS } from "../../helpers/preflight/preflight_contract.ts";
import { PREFLIGHT_ERRORS } from "./errors.ts";
import type { DenialReason, GuardDecision } from "./guard.ts";
import type { CallOutcome } from "./mcp_connection.ts";
import type { Message, ToolCall, ToolCallEnd } from "./prompt_executor.ts";

type ToolMessage = Extract<Message, { role: "tool" }>;

const REASONS: Readonly<Record<DenialReason, string>> = {
  do_not_delegate: "the Guild's verdict on the tool's endpoint is do_not_delegate, which no policy overrides",
  malformed_evidence: "the evidence about the tool's endpoint is incomplete or contradicts itself",
  verdict_not_allowed: "the policy does not allow the Guild's verdict on the tool's endpoint",
  failed_not_allowed: "a check of the tool's endpoint failed that the policy does not let fail",
  unknown_not_allowed: "a check of the tool's endpoint is unknown that the policy does not leave open",
  required_not_proven: "a check of the tool's endpoint that the policy requires is not proven",
  evidence_unavailable: "there is no usable evidence about the tool's endpoint",
};

const FIXED: Readonly<Record<Exclude<ToolCallEnd, "result" | "tool_error" | "denied">, string>> = {
  failed:
    "The tool call was sent but gave no usable result. Whether the tool did its work is not known: do not assume either.",
  unknown_tool: "There is no tool of that name. Nothing was sent. Use one of the tools that are offered.",
  not_run: "Too many tool calls in one turn. This one was not sent. Ask for fewer at a time.",
};

/** The message for a call that ended without the tool's own result, in fixed words. */
export function fixedMessage(call: ToolCall, end: keyof typeof FIXED): ToolMessage {
  return messageOf(call, end, FIXED[end]);
}

/**
 * The message for a denied call: fixed words and the names of checks, statuses, verdicts and errors. No remote string
 * gets into it (SPEC G6).
 */
export function denialMessage(
  call: ToolCall,
  denial: Extract<GuardDecision, { kind: "denied" }>,
): ToolMessage {
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

/** The message for a call that was made. */
export function outcomeMessage(call: ToolCall, outcome: CallOutcome): ToolMessage {
  if (outcome.kind !== "result") return fixedMessage(call, "failed");
  const { isError, content, structuredContent } = outcome;
  const end = isError ? "tool_error" : "result";
  return Object.freeze({ role: "tool", callId: call.id, tool: call.name, end, content, structuredContent });
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
