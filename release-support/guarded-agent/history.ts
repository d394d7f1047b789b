import { frozenJson } from "./frozen_json.ts";
import { readModelTurn } from "./model_turn.ts";
import type { AssistantMessage } from "./model_turn.ts";
import type { Message } from "./prompt_executor.ts";
import type { ToolMessage } from "./tool_messages.ts";

const ENDS: readonly ToolMessage["end"][] = [
  "result",
  "tool_error",
  "denied",
  "failed",
  "cancelled",
  "unknown_tool",
  "invalid_arguments",
  "not_run",
];

/**
 * Checks and copies the earlier messages of a conversation, such as the `messages` of an earlier run's trace. Nothing in
 * them is executed.
 *
 * @returns frozen copies
 * @throws TypeError for anything but messages of a user, and of an assistant each followed by one result for each of its
 * calls, in their order; the text repeats nothing of them
 */
export function readHistory(value: unknown): readonly Message[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw wrong();
  const messages: Message[] = [];
  /** The calls of the last turn that have no result yet. */
  let open: AssistantMessage["calls"] = [];
  for (const item of value as readonly unknown[]) {
    const message = readMessage(item);
    const [next, ...others] = open;
    if (message.role === "tool" ? message.callId !== next?.id : next !== undefined) throw wrong();
    open = message.role === "assistant" ? message.calls : others;
    messages.push(message);
  }
  if (open.length > 0) throw wrong();
  return messages;
}

function readMessage(value: unknown): Exclude<Message, { role: "system" }> {
  const message = value as Partial<Record<"role" | keyof AssistantMessage, unknown>> | null | undefined;
  switch (message?.role) {
    case "user":
      if (typeof message.text !== "string") throw wrong();
      return Object.freeze({ role: "user", text: message.text });
    case "assistant": {
      const { text, calls, state } = message;
      const kind = Array.isArray(calls) && calls.length > 0 ? "tool_calls" : "answer";
      return readModelTurn({ kind, text, calls, state });
    }
    case "tool":
      return readResult(message);
    default:
      throw wrong();
  }
}

function readResult(value: Partial<Record<keyof ToolMessage, unknown>>): ToolMessage {
  const { callId, tool, content, structuredContent = null } = value;
  const end = ENDS.find((word) => word === value.end);
  const areItems = Array.isArray(content) && content.every((item) => typeOf(item) !== undefined);
  if (typeof callId !== "string" || typeof tool !== "string" || end === undefined || !areItems) throw wrong();
  if (typeof structuredContent !== "object" || Array.isArray(structuredContent)) throw wrong();
  return frozenJson({ role: "tool", callId, tool, end, content, structuredContent }) as ToolMessage;
}

function typeOf(item: unknown): string | undefined {
  const type = (item as { readonly type?: unknown } | null | undefined)?.type;
  return typeof type === "string" ? type : undefined;
}

function wrong(): TypeError {
  return new TypeError(
    "history: expected messages of user and assistant, each call followed by its result, as in the trace of a run",
  );
}
