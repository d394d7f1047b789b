import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";

import type { McpServer } from "./configuration.ts";
import { localTransport, remoteTransport } from "./transport.ts";
import type { OpenTransport } from "./transport.ts";

/** A tool as a server lists it. */
export interface McpToolInfo {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: unknown;
}

/** What a tool call brought, as text. */
export interface McpCallResult {
  readonly text: string;
  readonly isError: boolean;
}

/**
 * One open connection to one configured server: opened for one exact entry and never used for another (SPEC P5.7).
 * Only this folder knows the MCP SDK.
 */
export class McpConnection {
  readonly server: McpServer;
  readonly #client: Client;
  readonly #open: OpenTransport;
  #tools: readonly McpToolInfo[];

  private constructor(server: McpServer, client: Client, open: OpenTransport, tools: readonly McpToolInfo[]) {
    this.server = server;
    this.#client = client;
    this.#open = open;
    this.#tools = tools;
  }

  /**
   * Connects, initialises the session and lists the tools, within the entry's `init_timeout`.
   *
   * @throws Error when the server cannot be reached or does not speak MCP; nothing stays open then
   */
  static async open(server: McpServer): Promise<McpConnection> {
    const open = server.kind === "remote" ? remoteTransport(server) : localTransport(server);
    const client = new Client({ name: "agent-guild-preflight-host", version: "0.1.0" });
    try {
      await client.connect(open.transport, { timeout: server.initTimeout * 1000 });
      const tools = await listTools(client, server.initTimeout * 1000);
      return new McpConnection(server, client, open, tools);
    } catch (error) {
      await closeBoth(client, open);
      throw error;
    }
  }

  /** The tools that the server listed last, those disabled in the configuration included. */
  get tools(): readonly McpToolInfo[] {
    return this.#tools;
  }

  /** Lists the tools afresh. */
  async refreshTools(): Promise<void> {
    this.#tools = await listTools(this.#client, this.server.initTimeout * 1000);
  }

  /**
   * Calls a tool.
   *
   * @throws Error when the server answers with an error, not in time, or not at all; the reason of `signal` when that fires
   */
  async callTool(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<McpCallResult> {
    const result = (await this.#client.callTool({ name: tool, arguments: args }, undefined, {
      signal,
      timeout: this.server.toolTimeout * 1000,
    })) as CallToolResult;
    return { text: textOf(result), isError: result.isError === true };
  }

  /** Ends the session and closes every socket; calls under way fail. Safe to call twice. */
  async close(): Promise<void> {
    await closeBoth(this.#client, this.#open);
  }
}

async function listTools(client: Client, timeout: number): Promise<McpToolInfo[]> {
  const { tools } = await client.listTools(undefined, { timeout });
  return tools.map((tool) => ({
    name: tool.name,
    description: tool.description ?? "",
    inputSchema: tool.inputSchema,
  }));
}

async function closeBoth(client: Client, open: OpenTransport): Promise<void> {
  // What a dying connection says about its own end helps nobody.
  await client.close().catch(() => undefined);
  await open.destroy().catch(() => undefined);
}

function textOf(result: CallToolResult): string {
  return result.content.map((item) => (item.type === "text" ? item.text : `[${item.type}]`)).join("\n");
}
