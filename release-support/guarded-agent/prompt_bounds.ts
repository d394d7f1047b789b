import { writeJson } from "../exact_json.ts";
import type { ContentItem, JsonObject, ToolDescription } from "./prompt_executor.ts";

/** How much of a server's words may reach a prompt, in characters (UTF-16 units). */
export interface PromptBounds {
  /** Of one result, all its items and its structured content together. */
  readonly maxResultCharacters: number;
  /** Of one tool's description. */
  readonly maxDescriptionCharacters: number;
  /** Of one tool's schema, as JSON. */
  readonly maxSchemaCharacters: number;
}

/** The defaults, which are also the most that a caller can set. */
export const LARGEST_BOUNDS: PromptBounds = Object.freeze({
  maxResultCharacters: 262_144,
  maxDescriptionCharacters: 8192,
  maxSchemaCharacters: 65_536,
});

/** The longest name of a tool that is offered. */
const MAX_NAME_CHARACTERS = 128;

/**
 * Makes a tool fit to be offered: a description that is too long is cut. A schema cannot be cut, nor a name.
 *
 * @returns `null` for a tool whose name or schema is too long, or whose name is empty: it is not offered
 */
export function boundDescription(tool: ToolDescription, bounds: PromptBounds): ToolDescription | null {
  const { name, description, inputSchema } = tool;
  if (name === "" || name.length > MAX_NAME_CHARACTERS) return null;
  if (lengthOf(inputSchema) > bounds.maxSchemaCharacters) return null;
  if (description.length <= bounds.maxDescriptionCharacters) return tool;
  const cut = cutText(description, bounds.maxDescriptionCharacters);
  return Object.freeze({ name, description: cut, inputSchema });
}

/** What of a tool's result reaches the prompt. */
interface Result {
  readonly content: readonly ContentItem[];
  readonly structuredContent: JsonObject | null;
}

/**
 * Cuts a result that is too long: texts are cut where the bound is reached, other items that do not fit are left out,
 * and so is structured content. A last text of our own then says that something is missing.
 */
export function boundResult({ content, structuredContent }: Result, maxCharacters: number): Result {
  let left = maxCharacters;
  const kept: ContentItem[] = [];
  for (const item of content) {
    const fitting = fit(item, left);
    if (fitting !== null) kept.push(fitting);
    if (fitting !== item) return shortened(kept, maxCharacters);
    left -= sizeOf(item);
  }
  if (structuredContent === null || lengthOf(structuredContent) <= left) {
    return { content, structuredContent };
  }
  return shortened(kept, maxCharacters);
}

function shortened(kept: readonly ContentItem[], maxCharacters: number): Result {
  const text = `[The rest of this result was left out: it is longer than ${maxCharacters} characters.]`;
  const note: ContentItem = Object.freeze({ type: "text", text });
  return { content: Object.freeze([...kept, note]), structuredContent: null };
}

/** The item, as much of it as there is room for, or `null`. */
function fit(item: ContentItem, room: number): ContentItem | null {
  if (sizeOf(item) <= room) return item;
  const { type, text } = item as { readonly type: string; readonly text?: unknown };
  if (type !== "text" || typeof text !== "string" || room === 0) return null;
  return Object.freeze({ type: "text", text: cutText(text, room) });
}

/** What counts of a text item is its text; of any other, all of it. */
function sizeOf(item: ContentItem): number {
  const { type, text } = item as { readonly type: string; readonly text?: unknown };
  const isPlain = type === "text" && typeof text === "string" && Object.keys(item).length === 2;
  return isPlain ? text.length : lengthOf(item);
}

function lengthOf(value: JsonObject): number {
  return (writeJson(value) ?? "").length;
}

/** The beginning of a text, without half of a surrogate pair at its end. */
function cutText(text: string, characters: number): string {
  return text.slice(0, characters).replace(/[\uD800-\uDBFF]$/, "");
}
