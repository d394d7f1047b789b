// Not shared: the plugin's denial tells of a host's configuration. The words here are the agent's own.
import { CHECKS } from "../../helpers/preflight/preflight_contract.ts";
import { PREFLIGHT_ERRORS } from "./preflight_errors.ts";
import type { CallDenial, DenialReason } from "./call_decision.ts";
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

/** The message for a call that did not reach its tool. @param why - in controlled words */
export function notSentMessage(call: ToolCall, why: string): ToolMessage {
  const text = `The call was not sent to the tool, so the tool did not run: ${why}. Go on without it, or try again later.`;
  return messageOf(call, "failed", text);
}

/** How the outcome of a call is shown to the model. */
export interface Showing {
  /** Of a long result no more is shown. */
  readonly maxResultCharacters: number;
  /** Whether the words of a server that refuses a call are shown, as a tool's own words are. */
  readonly showServerErrors: boolean;
}

/** The message for a call that was made. */
export function outcomeMessage(call: ToolCall, outcome: CallOutcome, showing: Showing): ToolMessage {
  if (outcome.kind !== "result") return failureMessage(call, outcome, showing);
  const { isError } = outcome;
  const { content, structuredContent } = boundResult(outcome, showing.maxResultCharacters);
  const end = isError ? "tool_error" : "result";
  return Object.freeze({ role: "tool", callId: call.id, tool: call.name, end, content, structuredContent });
}

/** What is known of a call that has no usable result (SPEC G12). */
function failureMessage(
  call: ToolCall,
  { fate, why, remoteText }: Extract<CallOutcome, { kind: "failed" }>,
  { maxResultCharacters, showServerErrors }: Showing,
): ToolMessage {
  switch (fate.kind) {
    case "not_sent":
      return notSentMessage(call, why);
    case "refused": {
      const what = fate.by === "http" ? "HTTP status" : "JSON-RPC error";
      const means = (fate.by === "json_rpc" ? RPC_ERRORS[fate.code] : undefined) ?? "";
      const message = messageOf(
        call,
        "failed",
        `The tool's server refused the call with the ${what} ${fate.code}${means}. It gave no result.`,
      );
      if (!showServerErrors || remoteText === null) return message;
      const said = { content: [{ type: "text", text: remoteText }], structuredContent: null };
      const { content } = boundResult(said, maxResultCharacters);
      return Object.freeze({ ...message, content: Object.freeze([...message.content, ...content]) });
    }
    default:
      return messageOf(
        call,
        "failed",
        `The tool call was sent but gave no usable result: ${why}. Whether the tool did its work is not known: do not assume either.`,
      );
  }
}

/** What the codes of JSON-RPC say, in words of our own. */
const RPC_ERRORS: Readonly<Record<number, string>> = {
  [-32600]: ", which means that the request is not valid",
  [-32601]: ", which means that it does not have the method",
  [-32602]: ", which means that it does not know the tool, or does not take its arguments",
  [-32603]: ", which means that something went wrong within the server",
};

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
