import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult, Tool } from "@modelcontextprotocol/sdk/types.js";

import type { AdaptedHost } from "../ask_gate.ts";
import { gateTransport } from "../mcp-sdk/gate_transport.ts";
import { fetchWithoutRedirects } from "../mcp-sdk/index.ts";
import type { PiContent, PiTool, PiToolResult } from "./pi.ts";
import type { McpEntry } from "./places.ts";

/** More pages of a listing than this are not read. */
const MAX_PAGES = 100;
/** The longest name that model providers take. */
const MAX_NAME = 64;

/** An open connection to a remote MCP server, with the gate in it. */
export class GuardedServer {
  readonly entry: McpEntry;
  readonly #client = new Client({ name: "agent-guild-preflight", version: "1" });
  #tools: readonly Tool[] = [];

  private constructor(entry: McpEntry) {
    this.entry = entry;
  }

  /**
   * Connects and lists the tools, which happens before any gate.
   *
   * @param entry - whom to connect to
   * @param host - whom the gate is asked for
   * @throws Error when there is no connection or no listing, or the entry has no URL
   */
  static async open(entry: McpEntry, host: AdaptedHost): Promise<GuardedServer> {
    if (entry.url === null) throw new Error("only servers with a url are connected to");
    const server = new GuardedServer(entry);
    const transport = new StreamableHTTPClientTransport(new URL(entry.url), {
      fetch: fetchWithoutRedirects,
      requestInit: { headers: entry.headers },
    });
    try {
      const methods = new Set(["tools/call"]);
      await server.#client.connect(gateTransport(transport, { host, server: entry.name, methods }));
      server.#tools = await server.#list();
    } catch (error) {
      await server.close();
      throw error;
    }
    return server;
  }

  /** Whether the server listed the tool when it was connected to. */
  exposes(tool: string): boolean {
    return this.#tools.some(({ name }) => name === tool);
  }

  /** Its tools as pi's: each call passes the gate at the moment in which it would be sent. */
  piTools(): PiTool[] {
    return this.#tools.map(({ name, description = "", inputSchema }) => ({
      name: `${this.entry.name}_${name}`.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_NAME),
      label: `${this.entry.name}: ${name}`,
      description,
      parameters: inputSchema,
      execute: async (_id, input, signal) => {
        const options = signal === undefined ? {} : { signal };
        return piResult(
          (await this.#client.callTool({ name, arguments: input }, undefined, options)) as CallToolResult,
        );
      },
    }));
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  async #list(): Promise<Tool[]> {
    const tools: Tool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const listing = await this.#client.listTools(cursor === undefined ? {} : { cursor });
      tools.push(...listing.tools);
      cursor = listing.nextCursor;
      if (cursor === undefined) return tools;
    }
    throw new Error("the listing of tools does not end");
  }
}

/** @throws Error with the result's text when the result is an error: pi shows the model just that */
function piResult({ content, isError = false }: CallToolResult): PiToolResult {
  const shown = content.map((part): PiContent => {
    if (part.type === "text") return { type: "text", text: part.text };
    if (part.type === "image") return { type: "image", data: part.data, mimeType: part.mimeType };
    return { type: "text", text: JSON.stringify(part) };
  });
  if (isError)
    throw new Error(shown.map((part) => (part.type === "text" ? part.text : "[image]")).join("\n"));
  return { content: shown, details: undefined };
}
