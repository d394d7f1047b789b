import { classifyServers, parseServerEntries } from "../../host/mcp/configuration.ts";
import { allToolNames, findTool, hasTool } from "../../host/mcp/tool_lookup.ts";
import type { Port } from "../runner.ts";

interface Input {
  readonly servers: unknown;
  readonly server_tools: Readonly<Record<string, readonly string[]>>;
  readonly query: string;
  readonly name_map: Readonly<Record<string, string>> | null;
}

export default {
  run(input: Input) {
    const classified = classifyServers(parseServerEntries(input.servers));
    if (classified.kind !== "classified") return { error: classified.reason };
    const servers = classified.servers.map((server, index) => ({
      ...server,
      tools: input.server_tools[index] ?? [],
    }));
    return {
      has_tool: hasTool(servers, input.query),
      get_tool: findTool(servers, input.query, new Map(Object.entries(input.name_map ?? {}))),
      all_tools: allToolNames(servers),
    };
  },
} satisfies Port;
