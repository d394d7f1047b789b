import { frozenJson } from "./frozen_json.ts";
import type { JsonObject, ModelTurn, ToolCall } from "./prompt_executor.ts";

/**
 * Checks and copies what an executor returned, so that what it changes afterwards has no effect on calls under way.
 * Members beyond the known ones are left out: a call names a tool, it does not bring one.
 *
 * @throws TypeError for anything that is no {@link ModelTurn}; the message repeats nothing of it
 */
export function readModelTurn(value: unknown): ModelTurn {
  const turn = value as Partial<Record<"kind" | "text" | "calls", unknown>> | null | undefined;
  if (turn?.kind === "answer" && typeof turn.text === "string") return { kind: "answer", text: turn.text };
  const { text = "", calls } = turn ?? {};
  if (turn?.kind === "tool_calls" && typeof text === "string" && Array.isArray(calls) && calls.length > 0) {
    return { kind: "tool_calls", text, calls: Object.freeze(calls.map(readCall)) };
  }
  throw new TypeError(
    'promptExecutor.execute: expected { kind: "answer", text } or { kind: "tool_calls", calls } with one call or more',
  );
}

function readCall(value: unknown): ToolCall {
  const call = value as Partial<Record<keyof ToolCall, unknown>> | null | undefined;
  if (typeof call?.id !== "string" || typeof call.name !== "string" || !isObject(call.arguments)) {
    throw new TypeError(
      "promptExecutor.execute: expected calls of the form { id, name, arguments }, arguments being an object",
    );
  }
  return Object.freeze({
    id: call.id,
    name: call.name,
    arguments: frozenJson(call.arguments) as JsonObject,
  });
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
