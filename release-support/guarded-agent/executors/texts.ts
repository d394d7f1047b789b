import { readJson, writeJson } from "../../exact_json.ts";
import type { ContentItem, JsonObject, Message, ToolCall } from "../prompt_executor.ts";

type ToolMessage = Extract<Message, { role: "tool" }>;

/**
 * Reads the arguments that a model wrote. Integers stay exact (SPEC H11).
 *
 * @param text - JSON; an empty text stands for no arguments, as providers have it
 * @returns `null` for anything but one JSON object (SPEC G14)
 */
export function readArguments(text: string): JsonObject | null {
  if (text.trim() === "") return {};
  try {
    const value = readJson(text);
    return isObject(value) ? (value as JsonObject) : null;
  } catch {
    return null;
  }
}

/** The arguments of a call as JSON; what was none becomes an empty object. */
export function argumentsText({ arguments: given }: ToolCall): string {
  return writeJson(given ?? {}) ?? "{}";
}

/** Whether a value is an object and no list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A tool's result as one text, for providers whose results are texts; what is no text is named by its type. */
export function resultText({ content, structuredContent }: ToolMessage): string {
  const texts = content.map(itemText);
  if (structuredContent !== null && !texts.some((text) => text !== null && text !== "")) {
    texts.push(writeJson(structuredContent) ?? "");
  }
  return texts.map((text, index) => text ?? `[${content[index]?.type}: not shown to this model]`).join("\n");
}

/** The text of an item; `null` where it is none. */
export function itemText(item: ContentItem): string | null {
  const { type, text, resource } = item as Readonly<Record<string, unknown>>;
  if (type === "text" && typeof text === "string") return text;
  const inner = type === "resource" && isObject(resource) ? resource["text"] : undefined;
  return typeof inner === "string" ? inner : null;
}

/**
 * The state of a turn that an executor of this kind gave; `null` for a turn without one, or of another kind: a
 * conversation may have begun with another model.
 */
export function stateOf(message: Extract<Message, { role: "assistant" }>, kind: string): unknown {
  const { state } = message;
  return isObject(state) && state["kind"] === kind ? state["turn"] : null;
}

/** An answer that broke off says nothing about what it would have been. */
export function incomplete(): Error {
  return new Error("the provider's answer broke off before it was complete");
}
