import { strip } from "../formats/python_text.ts";

/**
 * Gives the name under which the framework knows an MCP server: trimmed, lower-cased without a locale, every code
 * point that is neither a letter, a number nor `_` turned into one `_` (SPEC P3.3; vectors `normalize_name`).
 *
 * @param name - the name as configured
 * @returns the normalised name, possibly empty
 */
export function normalizeServerName(name: string): string {
  return strip(name)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_]/gu, "_");
}

/** The two halves of a qualified MCP tool name. */
export interface QualifiedToolName {
  readonly server: string;
  readonly tool: string;
}

/**
 * Splits `server.tool` at the first full stop (vectors `qualified_tool_name`).
 *
 * @param name - a qualified tool name
 * @returns its halves, untrimmed and not normalised; `null` when either would be empty
 */
export function splitToolName(name: string): QualifiedToolName | null {
  const dot = name.indexOf(".");
  if (dot <= 0 || dot === name.length - 1) return null;
  return { server: name.slice(0, dot), tool: name.slice(dot + 1) };
}
