import { writeJson } from "../exact_json.ts";
import { McpFailure } from "./failure.ts";
import { isObject } from "./json_rpc.ts";
import type { RemoteObject } from "./json_rpc.ts";

/** What a tool call brought: remote data, meant for the model. */
export interface ToolResult {
  /** Whether the tool itself says that it failed. */
  readonly isError: boolean;
  /** The items that have a type; what is none is left out. */
  readonly content: readonly ContentItem[];
  readonly structuredContent: RemoteObject | null;
}

/** An item of a result in the form of MCP: `{ type: "text", text }` and so on. Nothing but the type is certain. */
export type ContentItem = RemoteObject & { readonly type: string };

/** What a model is told of a result that holds nothing. */
const NOTHING = "The tool gave no content.";

/**
 * Reads the result of a tool call. Null counts as absent, and what is not used is not looked at (SPEC H11).
 *
 * @throws McpFailure for one whose content is no list: the tool has run, and what it brought is not known
 */
export function readResult({ content, structuredContent, isError }: RemoteObject): ToolResult {
  const items = content ?? [];
  if (!Array.isArray(items)) throw McpFailure.unknownEnd("the server's answer is not what MCP prescribes");
  return {
    isError: isError === true,
    content: items.filter(
      (item: unknown): item is ContentItem => isObject(item) && typeof item["type"] === "string",
    ),
    structuredContent: isObject(structuredContent) ? structuredContent : null,
  };
}

/**
 * A result as one text: its texts, those of embedded resources included, in the place of other items their type. Where
 * there is no text at all, the structured content as JSON; where there is nothing, a sentence that says so (SPEC H11).
 */
export function textOf({ content, structuredContent }: ToolResult): string {
  const items = content.map((item) => textIn(item) ?? `[${item.type}]`);
  if (structuredContent !== null && !content.some((item) => (textIn(item) ?? "") !== "")) {
    items.push(writeJson(structuredContent) ?? "");
  }
  const text = items.join("\n");
  return text.trim() === "" ? NOTHING : text;
}

function textIn({ type, text, resource }: ContentItem): string | null {
  const holder = type === "resource" && isObject(resource) ? resource["text"] : text;
  return (type === "text" || type === "resource") && typeof holder === "string" ? holder : null;
}
