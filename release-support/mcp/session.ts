import { unlessAborted } from "../within.ts";
import type { McpConnection } from "./connection.ts";
import { McpFailure } from "./failure.ts";
import type { McpToolInfo } from "./listing.ts";
import type { RemoteObject } from "./json_rpc.ts";
import type { ToolResult } from "./results.ts";

/**
 * The way to one server: a connection that is opened when it is needed, shared by all who need it at once, and replaced
 * for the next call when it broke. What the server listed last is remembered over that.
 */
export class McpSession {
  readonly #connect: () => McpConnection;
  /** Every connection that is not closed: the one in use, and those whose last calls are not done. */
  readonly #connections = new Set<McpConnection>();
  /** Fires when the server is no longer wanted. */
  readonly #ending = new AbortController();
  /** The last one that was opened, which may have broken since. */
  #connection: McpConnection | null = null;
  #opening: Promise<void> | null = null;
  #openingFailure: McpFailure | null = null;

  /**
   * @param connect - makes a connection that is not open yet; throws McpFailure where there is no way to one
   * @param first - one that its owner opens, where there is one already
   */
  constructor(connect: () => McpConnection, first?: McpConnection) {
    this.#connect = connect;
    if (first === undefined) return;
    this.#connection = first;
    this.#keep(first);
  }

  /** What the server listed last; nothing before it was reached once. */
  get tools(): readonly McpToolInfo[] {
    return this.#connection?.tools ?? [];
  }

  /** Why the server cannot be used, or could not be used the last time; `null` when all is well. */
  get problem(): string | null {
    return this.#openingFailure?.message ?? this.#connection?.problem ?? this.listingProblem;
  }

  /** Why the list of tools may not be what the server offers; `null` when it is. */
  get listingProblem(): string | null {
    return this.#connection?.listingProblem ?? null;
  }

  /** Whether a connection is open that nothing is known to be wrong with. */
  get isOpen(): boolean {
    return this.#usable !== null;
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
   * Calls a tool, once (SPEC H5, H11).
   *
   * @throws McpFailure when the server cannot be used or the call fails; the reason of `signal` when that fires
   */
  async call(tool: string, args: RemoteObject, signal: AbortSignal): Promise<ToolResult> {
    await unlessAborted(signal, () => this.open());
    const connection = this.#usable;
    if (connection === null) {
      throw McpFailure.notSent(this.problem ?? "the server is no longer configured");
    }
    if (!connection.tools.some(({ name }) => name === tool)) {
      throw McpFailure.notSent("the server does not offer the tool any more");
    }
    return await connection.callTool(tool, args, signal);
  }

  /** Lets the calls under way finish, then closes, and waits until it is closed. Nothing is opened any more. */
  async retire(): Promise<void> {
    this.#ending.abort(McpFailure.notSent("the server is no longer configured"));
    const connections = [...this.#connections];
    for (const connection of connections) connection.retire();
    await Promise.all(connections.map(({ closed }) => closed));
  }

  /** Closes everything, calls under way included, and waits until it is closed. */
  async close(): Promise<void> {
    this.#ending.abort(McpFailure.notSent("the connection was closed"));
    await Promise.all([...this.#connections].map((connection) => connection.close()));
  }

  get #usable(): McpConnection | null {
    return this.#connection?.problem === null ? this.#connection : null;
  }

  async #openAnother(): Promise<void> {
    try {
      const connection = this.#connect();
      this.#keep(connection);
      await connection.start(this.#ending.signal);
      this.#connection = connection;
      this.#openingFailure = null;
    } catch (error) {
      this.#openingFailure =
        error instanceof McpFailure ? error : McpFailure.notSent("the server cannot be used");
    }
  }

  #keep(connection: McpConnection): void {
    this.#connections.add(connection);
    void connection.closed.then(() => this.#connections.delete(connection));
  }
}
