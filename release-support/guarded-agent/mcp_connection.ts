// The only file of the guarded agent that imports the MCP SDK.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, ListToolsResultSchema } from "@modelcontextprotocol/sdk/types.js";

import { abortable, Scope } from "./cancellation.ts";
import { GuardedAgentError } from "./errors.ts";
import { frozenJson } from "./frozen_json.ts";
import type { Network } from "./network.ts";
import { PinnedConnection } from "./pinned_connection.ts";
import type { ContentItem, JsonObject, ToolDescription } from "./prompt_executor.ts";

/** Bounds of one endpoint's list of tools. */
const MAX_PAGES = 32;
const MAX_TOOLS = 1024;

/** How long the farewell to a server may take, in milliseconds. */
const FAREWELL_MS = 1000;

/** The SDK's own timers are out of the way: deadlines are signals here. */
const NO_TIMEOUT = { timeout: 2 ** 31 - 1 };

/** What became of a tool call that was sent. Its texts are the tool's own: remote, and meant for the model. */
export type CallOutcome =
  | {
      readonly kind: "result";
      /** Whether the tool itself says that it failed. */
      readonly isError: boolean;
      readonly content: readonly ContentItem[];
      readonly structuredContent: JsonObject | null;
    }
  | { readonly kind: "failed" };

/** One MCP server, initialised over one pinned connection that nobody else has (SPEC G2). */
export class McpConnection {
  readonly #pinned: PinnedConnection;
  readonly #transport: StreamableHTTPClientTransport;
  readonly #client: Client;

  private constructor(endpoint: string, pinned: PinnedConnection) {
    this.#pinned = pinned;
    this.#transport = new StreamableHTTPClientTransport(new URL(endpoint), {
      fetch: (url, init) =>
        isStandingStream(init) ? Promise.resolve(notOffered()) : pinned.fetch(url, init),
    });
    this.#client = new Client({ name: "agent-guild-preflight", version: "0.1.0" });
  }

  /**
   * Resolves, screens, connects and initialises.
   *
   * @param endpoint - an endpoint's URL
   * @param signal - ends it all and closes what was opened
   * @throws GuardedAgentError `resolution_failed`, `address_refused`, `connect_failed`, `tls_failed` or
   * `handshake_failed`; the reason of `signal` when that fires first
   */
  static async open(endpoint: string, network: Network, signal: AbortSignal): Promise<McpConnection> {
    const pinned = await PinnedConnection.prepare(endpoint, network, signal);
    const connection = new McpConnection(endpoint, pinned);
    try {
      await connection.#within(signal, () => connection.#client.connect(connection.#transport, NO_TIMEOUT));
      return connection;
    } catch {
      await connection.#drop();
      signal.throwIfAborted();
      throw new GuardedAgentError(pinned.failure ?? "handshake_failed");
    }
  }

  /**
   * Lists the server's tools, all pages.
   *
   * @returns frozen copies
   * @throws GuardedAgentError `listing_refused`; the reason of `signal` when that fires first
   */
  async listTools(signal: AbortSignal): Promise<ToolDescription[]> {
    if (this.#client.getServerCapabilities()?.tools === undefined) return [];
    try {
      return await this.#within(signal, () => this.#allPages());
    } catch {
      signal.throwIfAborted();
      throw new GuardedAgentError("listing_refused");
    }
  }

  /**
   * Calls a tool, once.
   *
   * @param signal - ends the call: its request is cut off, and the server is told
   * @param seconds - how long it may take
   * @throws the reason of `signal` when that fires first; nothing else
   */
  async call(name: string, args: JsonObject, signal: AbortSignal, seconds: number): Promise<CallOutcome> {
    const scope = new Scope([signal], { seconds, reason: new Error("deadline") });
    try {
      return await this.#within(scope.signal, () => this.#send(name, args, scope.signal));
    } catch {
      signal.throwIfAborted();
      return { kind: "failed" };
    } finally {
      scope.end();
    }
  }

  /** Says farewell to the server if that is quick, then closes client, transport and connection. Never throws. */
  async close(): Promise<void> {
    const farewell = new Scope([], { seconds: FAREWELL_MS / 1000, reason: new Error("deadline") });
    await this.#within(farewell.signal, () => this.#transport.terminateSession()).catch(() => undefined);
    farewell.end();
    await this.#drop();
  }

  async #allPages(): Promise<ToolDescription[]> {
    const tools: ToolDescription[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      // Not `client.listTools()`: that compiles every output schema, which is a server's word to our CPU.
      const request = { method: "tools/list", ...(cursor === undefined ? {} : { params: { cursor } }) };
      const result = await this.#client.request(request, ListToolsResultSchema, NO_TIMEOUT);
      for (const { name, description, inputSchema } of result.tools) {
        tools.push(frozenJson({ name, description: description ?? "", inputSchema }) as ToolDescription);
      }
      cursor = result.nextCursor;
      if (tools.length > MAX_TOOLS) break;
      if (cursor === undefined) return tools;
    }
    throw new Error("too many tools");
  }

  async #send(name: string, args: JsonObject, signal: AbortSignal): Promise<CallOutcome> {
    const cancellation = new AbortController();
    // The SDK sends the reason of an abort to the server; the caller's reason is none of its business.
    const cancel = () => cancellation.abort("cancelled");
    signal.addEventListener("abort", cancel, { once: true });
    try {
      const request = { method: "tools/call", params: { name, arguments: args } };
      const options = { ...NO_TIMEOUT, signal: cancellation.signal };
      const result = await this.#client.request(request, CallToolResultSchema, options);
      return frozenJson({
        kind: "result",
        isError: result.isError === true,
        content: result.content,
        structuredContent: result.structuredContent ?? null,
      }) as CallOutcome;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  /** An action on this connection that ends with the signal, whatever the SDK makes of it. */
  async #within<Result>(signal: AbortSignal, action: () => Promise<Result>): Promise<Result> {
    signal.throwIfAborted();
    return await abortable(this.#pinned.within(signal, action), signal);
  }

  /** Closes at once, without a farewell. */
  async #drop(): Promise<void> {
    await this.#client.close().catch(() => undefined);
    await this.#pinned.close().catch(() => undefined);
  }
}

/**
 * Whether a request opens the stream for messages that answer nothing. The agent offers servers nothing to ask for,
 * so it holds none open; a GET that resumes the answer to a call is another matter.
 */
function isStandingStream(init: RequestInit | undefined): boolean {
  return init?.method === "GET" && !new Headers(init.headers).has("last-event-id");
}

/** What a server says that has no such stream: the SDK goes on without. */
function notOffered(): Response {
  return new Response(null, { status: 405 });
}
