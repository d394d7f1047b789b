import { frozenJson } from "./frozen_json.ts";
import type { JsonObject, Message, ToolCall } from "./prompt_executor.ts";

/** A turn of the model as the conversation keeps it; one without calls is the answer. */
export type AssistantMessage = Extract<Message, { role: "assistant" }>;

/**
 * Checks and copies what an executor returned, so that what it changes afterwards has no effect on calls under way.
 * Members beyond the known ones are left out: a call names a tool, it does not bring one. Arguments that are no JSON
 * object become `null`: what a model wrote spoils its own call, not the run (SPEC G14).
 *
 * @throws TypeError for anything that is no {@link ModelTurn}; the message repeats nothing of it
 */
export function readModelTurn(value: unknown): AssistantMessage {
  const turn = value as Partial<Record<"kind" | "text" | "calls" | "state", unknown>> | null | undefined;
  const { text = "", calls, state = null } = turn ?? {};
  if (turn?.kind === "answer" && typeof turn.text === "string") return assistant(turn.text, [], state);
  if (turn?.kind === "tool_calls" && typeof text === "string" && Array.isArray(calls) && calls.length > 0) {
    return assistant(text, calls.map(readCall), state);
  }
  throw new TypeError(
    'promptExecutor.execute: expected { kind: "answer", text } or { kind: "tool_calls", calls } with one call or more',
  );
}

function assistant(text: string, calls: readonly ToolCall[], state: unknown): AssistantMessage {
  const copy = asJson(state);
  if (copy === undefined) throw new TypeError("promptExecutor.execute: expected JSON data as state");
  return Object.freeze({
    role: "assistant",
    text,
    calls: Object.freeze(calls),
    state: copy as AssistantMessage["state"],
  });
}

function readCall(value: unknown): ToolCall {
  const call = value as Partial<Record<keyof ToolCall, unknown>> | null | undefined;
  if (typeof call?.id !== "string" || typeof call.name !== "string") {
    throw new TypeError("promptExecutor.execute: expected calls of the form { id, name, arguments }");
  }
  return Object.freeze({ id: call.id, name: call.name, arguments: readArguments(call.arguments) });
}

function readArguments(value: unknown): JsonObject | null {
  const copy = asJson(value);
  return typeof copy === "object" && copy !== null && !Array.isArray(copy) ? (copy as JsonObject) : null;
}

/** A frozen copy; `undefined` where a value has no JSON form. */
function asJson(value: unknown): unknown {
  try {
    return frozenJson(value);
  } catch {
    return undefined;
  }
}
