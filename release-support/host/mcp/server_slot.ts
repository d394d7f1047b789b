import type { McpServer } from "./configuration.ts";
import { McpConnection } from "./connection.ts";
import type { McpCallResult } from "./connection.ts";
import { McpFailure } from "./failure.ts";
import { ServerLog } from "./server_log.ts";
import type { McpToolInfo } from "./tool_listing.ts";
import { unlessAborted } from "../../within.ts";

/**
 * One entry of the configuration and the connection to its server: opened when it is needed, shared by all who need it
 * at once, replaced when it broke. What the server listed last is remembered over that.
 */
export class ServerSlot {
  readonly #server: McpServer;
  readonly #log = new ServerLog();
  /** Every connection that is not closed: the one in use, and those whose last calls are not done. */
  readonly #connections = new Set<McpConnection>();
  /** Fires when the entry is no longer wanted. */
  readonly #ending = new AbortController();
  /** The last one that was opened, which may have broken since. */
  #connection: McpConnection | null = null;
  #opening: Promise<void> | null = null;
  #openingProblem: string | null = null;

  constructor(server: McpServer) {
    this.#server = server;
  }

  /** What the server listed last, tools disabled in the configuration included; nothing before it was reached once. */
  get tools(): readonly McpToolInfo[] {
    return this.#connection?.tools ?? [];
  }

  /** Why the server cannot be used, or could not be used the last time; `null` when all is well. */
  get problem(): string | null {
    return this.#openingProblem ?? this.#connection?.problem ?? this.#connection?.listingProblem ?? null;
  }

  /** What a local server wrote on its standard error. */
  get log(): string {
    return this.#log.text;
  }

  /** Opens a connection unless one is open, or waits for the one that is being opened. Does not throw. */
  async open(): Promise<void> {
    if (this.#usable !== null || this.#ending.signal.aborted) return;
    this.#opening ??= this.#openAnother().finally(() => {
      this.#opening = null;
    });
    await this.#opening;
  }

  /** Finds out what the server offers now. Does not throw. */
  async discover(): Promise<void> {
    if (this.#usable === null) await this.open();
    else await this.#usable.refreshTools();
  }

  /**
   * Calls a tool. A server that has forgotten the session has not run the call: then it is made once more, over another
   * connection. After any other failure it is not, unless nothing was sent (SPEC H5).
   *
   * @throws McpFailure when the server cannot be used or the call fails; the reason of `signal` when that fires
   */
  async call(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<McpCallResult> {
    try {
      const connection = await this.#connectionFor(tool, signal);
      return await connection.callTool(tool, args, signal);
    } catch (error) {
      if (!(error instanceof McpFailure) || error.kind !== "not_run") throw error;
    }
    const connection = await this.#connectionFor(tool, signal);
    return await connection.callTool(tool, args, signal);
  }

  /** Lets the calls under way finish, then closes, and waits until it is closed. Nothing is opened any more. */
  async retire(): Promise<void> {
    this.#ending.abort(new McpFailure("broken", "the server is no longer configured"));
    const connections = [...this.#connections];
    for (const connection of connections) connection.retire();
    await Promise.all(connections.map(({ closed }) => closed));
  }

  /** Closes everything, calls under way included, and waits until it is closed. */
  async close(): Promise<void> {
    this.#ending.abort(new McpFailure("broken", "the host was closed"));
    await Promise.all([...this.#connections].map((connection) => connection.close()));
  }

  get #usable(): McpConnection | null {
    return this.#connection?.problem === null ? this.#connection : null;
  }

  async #connectionFor(tool: string, signal: AbortSignal): Promise<McpConnection> {
    await unlessAborted(signal, () => this.open());
    const connection = this.#usable;
    if (connection === null) {
      throw new McpFailure("broken", this.problem ?? "the server is no longer configured");
    }
    if (!connection.tools.some(({ name }) => name === tool)) {
      throw new McpFailure("failed", "the server does not offer the tool any more");
    }
    return connection;
  }

  async #openAnother(): Promise<void> {
    try {
      const connection = new McpConnection(this.#server, this.#log);
      this.#connections.add(connection);
      void connection.closed.then(() => this.#connections.delete(connection));
      await connection.start(this.#ending.signal);
      this.#connection = connection;
      this.#openingProblem = null;
    } catch (error) {
      this.#openingProblem = error instanceof Error ? error.message : "the server cannot be used";
    }
  }
}
