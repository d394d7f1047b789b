import { McpFailure } from "./failure.ts";
import { isObject } from "./json_rpc.ts";
import type { RemoteObject } from "./json_rpc.ts";

/** A tool as a server lists it: its own words. */
export interface McpToolInfo {
  /** Never empty. */
  readonly name: string;
  /** Empty where the server gives none. */
  readonly description: string;
  /** JSON Schema of its arguments; an object without members where the server gives none. */
  readonly inputSchema: RemoteObject;
}

/** How far a listing is followed. */
export interface ListingLimits {
  readonly maxPages: number;
  readonly maxTools: number;
}

/** What a listing brought; `problem` says why it is incomplete, and is `null` when it is not. */
export interface ToolListing {
  readonly tools: readonly McpToolInfo[];
  readonly problem: string | null;
}

/** The code of a method that a server does not have: one without tools need not list them. */
const METHOD_NOT_FOUND = -32601;

/**
 * Collects all pages of a server's list of tools, bounded: a server must not keep its client busy for ever (SPEC H5). What
 * is no tool is passed over. A page that fails ends the list, which is incomplete then (SPEC H11).
 *
 * @param fetchPage - asks for the page at a cursor, without one for the first
 * @returns the tools in the server's order
 * @throws McpFailure when the first page fails or is no list, when there are more pages or tools than the limits allow, or
 *   the list comes back to a cursor; what else `fetchPage` throws
 */
export async function listAllTools(
  fetchPage: (cursor: string | undefined) => Promise<RemoteObject>,
  { maxPages, maxTools }: ListingLimits,
): Promise<ToolListing> {
  const tools: McpToolInfo[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 0; pages < maxPages; pages += 1) {
    let page: RemoteObject;
    try {
      page = await fetchPage(cursor);
    } catch (error) {
      if (!(error instanceof McpFailure) || error.breaks) throw error;
      if (pages > 0) return { tools, problem: error.message };
      const { fate } = error;
      if (fate.kind === "refused" && fate.code === METHOD_NOT_FOUND) return { tools, problem: null };
      throw error;
    }
    for (const tool of toolsOf(page)) tools.push(tool);
    if (tools.length > maxTools) throw unusable(`it has more than ${maxTools} tools`);
    const { nextCursor } = page;
    if (typeof nextCursor !== "string" || nextCursor === "") return { tools, problem: null };
    if (seen.has(nextCursor)) throw unusable("it comes back to a page that it has given");
    seen.add(nextCursor);
    cursor = nextCursor;
  }
  throw unusable(`it has more than ${maxPages} pages`);
}

function toolsOf({ tools }: RemoteObject): McpToolInfo[] {
  const listed = tools ?? [];
  if (!Array.isArray(listed)) throw McpFailure.unknownEnd("the server's answer is not what MCP prescribes");
  return listed.flatMap((tool: unknown) => {
    if (!isObject(tool)) return [];
    const { name, description, inputSchema } = tool;
    if (typeof name !== "string" || name === "") return [];
    return {
      name,
      description: typeof description === "string" ? description : "",
      inputSchema: isObject(inputSchema) ? inputSchema : {},
    };
  });
}

function unusable(why: string): McpFailure {
  return McpFailure.unknownEnd(`the server's list of tools cannot be used: ${why}`);
}
