import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
  CallToolResultSchema,
  ListToolsResultSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { CallToolResult, ListToolsResult } from "@modelcontextprotocol/sdk/types.js";

import { onAbort } from "../../../helpers/on_abort.ts";
import type { McpServer } from "./configuration.ts";
import { McpFailure } from "./failure.ts";
import { failureFrom } from "./sdk_failure.ts";
import type { ServerLog } from "./server_log.ts";
import { listAllTools } from "./tool_listing.ts";
import type { McpToolInfo } from "./tool_listing.ts";
import { makeTransport } from "./transport.ts";
import type { OpenTransport } from "./transport.ts";
import { within } from "../../within.ts";

/** What a tool call brought, as text. */
export interface McpCallResult {
  readonly text: string;
  readonly isError: boolean;
}

/** How long the farewell to a server may take, in milliseconds. */
const FAREWELL_MS = 1000;

/** The SDK's own timers are out of the way: every limit here is a signal. */
const NO_TIMEOUT = { timeout: 2 ** 31 - 1 };

/**
 * One connection to one configured server, made for one exact entry and never used for another (SPEC P5.7). It begins
 * once and ends once: when the server ends it, when an exchange breaks, when it is retired or closed. Who needs the
 * server afterwards makes another connection.
 */
export class McpConnection {
  readonly server: McpServer;
  /** Resolves when nothing of the connection is left. */
  readonly closed: Promise<void>;
  readonly #client = new Client({ name: "agent-guild-preflight-host", version: "0.1.0" });
  readonly #open: OpenTransport;
  #tools: readonly McpToolInfo[] = [];
  /** Whether server and session are there: from the first listing on. */
  #started = false;
  /** Whether the transport has closed, by itself or not. */
  #lost = false;
  #problem: string | null = null;
  #listingProblem: string | null = null;
  #listing: Promise<void> | null = null;
  #listingChanged = false;
  #calls = 0;
  #retired = false;
  #closing: Promise<void> | null = null;
  #tellClosed: () => void = () => undefined;

  /**
   * Makes a connection that is not open yet.
   *
   * @param server - the entry
   * @param log - gets what a local server writes on its standard error
   * @throws McpFailure when the entry holds something that cannot be dialled or started
   */
  constructor(server: McpServer, log: ServerLog) {
    this.server = server;
    this.#open = makeTransport(server, log);
    this.closed = new Promise((resolve) => {
      this.#tellClosed = resolve;
    });
    // The SDK tells of the end of a connection in no other way.
    // oxlint-disable-next-line unicorn/prefer-add-event-listener
    this.#client.onclose = () => {
      this.#lost = true;
      this.#break(this.#open.whenLost);
    };
    this.#client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      this.#listingChanged = true;
      if (this.#started) void this.refreshTools();
    });
  }

  /**
   * Connects, initialises the session and lists the tools, all together within the entry's `init_timeout`.
   *
   * @throws McpFailure when the server cannot be used, and the connection closes then; the reason of `signal` when
   *   that fires
   */
  async start(signal: AbortSignal): Promise<void> {
    const { initTimeout } = this.server;
    const late = () => new McpFailure("broken", `the server was not ready within ${initTimeout} s`);
    try {
      await within({ ms: initTimeout * 1000, late, signal }, async (stop) => {
        await this.#client.connect(this.#open.transport, NO_TIMEOUT);
        this.#tools = await this.#listTools(stop);
      });
    } catch (error) {
      const failure = this.#failureFrom(error);
      this.#break(failure.message);
      signal.throwIfAborted();
      throw failure;
    }
    this.#started = true;
    if (this.#listingChanged) void this.refreshTools();
  }

  /** The tools that the server listed last, those disabled in the configuration included. */
  get tools(): readonly McpToolInfo[] {
    return this.#tools;
  }

  /** Why the connection serves no further request, or `null`. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Why the tools are those of an earlier listing, or `null`. */
  get listingProblem(): string | null {
    return this.#listingProblem;
  }

  /**
   * Lists the tools afresh, or waits for the listing that is under way. What was listed before stays until the new
   * list is complete, and for good when that fails: {@link listingProblem} tells. Does not throw.
   */
  refreshTools(): Promise<void> {
    this.#listing ??= this.#listAgain().finally(() => {
      this.#listing = null;
    });
    return this.#listing;
  }

  /**
   * Calls a tool, within the entry's `tool_timeout`. The call is sent once, and never again (SPEC H5).
   *
   * @throws McpFailure when the server answers with an error, not in time, or not at all; the reason of `signal` when
   *   that fires
   */
  async callTool(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<McpCallResult> {
    const { toolTimeout } = this.server;
    const late = () => new McpFailure("failed", `the tool did not answer within ${toolTimeout} s`);
    if (this.#problem !== null) throw new McpFailure("not_run", this.#problem);
    this.#calls += 1;
    try {
      const request = { method: "tools/call", params: { name: tool, arguments: args } };
      // Not the SDK's `callTool`: that compiles output schemas, which are a server's word to our processor.
      const result = await within({ ms: toolTimeout * 1000, late, signal }, (stop) =>
        this.#client.request(request, CallToolResultSchema, { ...NO_TIMEOUT, signal: stop }),
      );
      return { text: textOf(result), isError: result.isError === true };
    } catch (error) {
      signal.throwIfAborted();
      throw this.#noted(error);
    } finally {
      this.#calls -= 1;
      if (this.#retired) this.retire();
    }
  }

  /** Closes the connection once the last call on it is done. */
  retire(): void {
    this.#retired = true;
    if (this.#calls === 0) void this.close();
  }

  /** Ends the session and closes every socket or the process; calls under way fail. Safe to call twice. */
  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  async #shutDown(): Promise<void> {
    if (this.#problem === null) {
      const limits = { ms: FAREWELL_MS, late: () => new Error("the farewell took too long"), signal: null };
      // A server that does not take the farewell finds out by itself.
      await within(limits, () => this.#open.endSession()).catch(() => undefined);
    }
    this.#problem ??= "the connection was closed";
    // What a dying connection says about its own end helps nobody.
    await this.#client.close().catch(() => undefined);
    await this.#open.destroy().catch(() => undefined);
    this.#tellClosed();
  }

  async #listAgain(): Promise<void> {
    if (this.#problem !== null) return;
    const { initTimeout } = this.server;
    const late = () => new McpFailure("failed", `the server did not list its tools within ${initTimeout} s`);
    const limits = { ms: initTimeout * 1000, late, signal: null };
    try {
      await within(limits, async (stop) => {
        do {
          this.#listingChanged = false;
          this.#tools = await this.#listTools(stop);
          this.#listingProblem = null;
        } while (this.#listingChanged);
      });
    } catch (error) {
      this.#listingProblem = `its tools could not be listed again: ${this.#noted(error).message}`;
    }
  }

  async #listTools(stop: AbortSignal): Promise<McpToolInfo[]> {
    return await listAllTools(async (cursor) => {
      const { tools, nextCursor } = await this.#requestPage(cursor, stop);
      return {
        tools: tools.map(({ name, description = "", inputSchema }) => ({ name, description, inputSchema })),
        nextCursor,
      };
    });
  }

  async #requestPage(cursor: string | undefined, stop: AbortSignal): Promise<ListToolsResult> {
    // The SDK leaves its listener on a signal for good, so that each request has to have its own.
    const controller = new AbortController();
    const forget = onAbort(stop, () => controller.abort(stop.reason));
    try {
      const request = { method: "tools/list", ...(cursor === undefined ? {} : { params: { cursor } }) };
      const options = { ...NO_TIMEOUT, signal: controller.signal };
      // Not the SDK's `listTools`, for the same reason as above.
      return await this.#client.request(request, ListToolsResultSchema, options);
    } finally {
      forget();
    }
  }

  /** The failure behind an error; one that the connection cannot go on after breaks it. */
  #noted(error: unknown): McpFailure {
    const failure = this.#failureFrom(error);
    if (failure.kind !== "failed") this.#break(failure.message);
    return failure;
  }

  #failureFrom(error: unknown): McpFailure {
    return failureFrom(error, this.#lost ? (this.#problem ?? this.#open.whenLost) : null);
  }

  #break(problem: string): void {
    this.#problem ??= problem;
    this.retire();
  }
}

function textOf(result: CallToolResult): string {
  return result.content.map((item) => (item.type === "text" ? item.text : `[${item.type}]`)).join("\n");
}
