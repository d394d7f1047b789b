import { McpFailure } from "./failure.ts";

/** A tool as a server lists it. */
export interface McpToolInfo {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: unknown;
}

/** One page of a listing. */
export interface ToolPage {
  readonly tools: readonly McpToolInfo[];
  /** Where the next page begins; absent or empty on the last one. */
  readonly nextCursor?: string | undefined;
}

/** How far a listing is followed. */
const MAX_PAGES = 1000;
const MAX_TOOLS = 10_000;

/**
 * Collects all pages of a server's list of tools, bounded: a server must not keep its client busy for ever (SPEC H5).
 *
 * @param fetchPage - asks for the page at a cursor, without one for the first
 * @returns the tools in the server's order
 * @throws McpFailure when the list has more than 1,000 pages or 10,000 tools, or comes back to a cursor; what
 *   `fetchPage` throws
 */
export async function listAllTools(
  fetchPage: (cursor: string | undefined) => Promise<ToolPage>,
): Promise<McpToolInfo[]> {
  const tools: McpToolInfo[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { tools: more, nextCursor } = await fetchPage(cursor);
    for (const tool of more) tools.push(tool);
    if (tools.length > MAX_TOOLS) throw unusable(`it has more than ${MAX_TOOLS} tools`);
    if (nextCursor === undefined || nextCursor === "") return tools;
    if (seen.has(nextCursor)) throw unusable("it comes back to a page that it has given");
    seen.add(nextCursor);
    cursor = nextCursor;
  }
  throw unusable(`it has more than ${MAX_PAGES} pages`);
}

function unusable(why: string): McpFailure {
  return new McpFailure("failed", `the server's list of tools cannot be used: ${why}`);
}
