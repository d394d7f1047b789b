import { splitToolName } from "../../../helpers/binding/names.ts";

/** A usable server with the tools that it lists. */
export interface ListedServer {
  /** The normalised name. */
  readonly name: string;
  readonly disabledTools: readonly string[];
  /** The names that the server reports, disabled ones included. */
  readonly tools: readonly string[];
}

/**
 * Tells whether a qualified name is a tool that can be used: of several servers with one name only the first is looked
 * at, and a disabled tool does not exist (vectors `mcp_has_tool`).
 *
 * @param servers - in lookup order
 * @param name - `server.tool`, compared exactly
 */
export function hasTool(servers: readonly ListedServer[], name: string): boolean {
  const parts = splitToolName(name);
  const server = servers.find((one) => one.name === parts?.server);
  return parts !== null && server !== undefined && exposes(server, parts.tool);
}

/**
 * Finds the tool that a model's name means: a qualified name, else what the map of provider-side function names has
 * for it (vectors `mcp_has_tool`).
 *
 * @param nameMap - function names to qualified tool names; looked at only when the name itself is no tool
 * @returns the qualified name, or `null`
 */
export function findTool(
  servers: readonly ListedServer[],
  name: string,
  nameMap: ReadonlyMap<string, string> = new Map(),
): string | null {
  if (hasTool(servers, name)) return name;
  const mapped = nameMap.get(name);
  return mapped !== undefined && hasTool(servers, mapped) ? mapped : null;
}

/** Lists every enabled tool of every server by its qualified name, in order. */
export function allToolNames(servers: readonly ListedServer[]): string[] {
  return servers.flatMap((server) =>
    server.tools.filter((tool) => exposes(server, tool)).map((tool) => `${server.name}.${tool}`),
  );
}

function exposes({ tools, disabledTools }: ListedServer, tool: string): boolean {
  return tools.includes(tool) && !disabledTools.includes(tool);
}
