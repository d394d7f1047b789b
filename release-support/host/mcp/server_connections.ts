import type { McpServer } from "./configuration.ts";
import { McpConnection } from "./connection.ts";
import type { McpCallResult, McpToolInfo } from "./connection.ts";

/**
 * The connections of one host, one for each exact entry: an entry that differs in anything has a connection of its own,
 * and no connection ever serves another entry than the one it was opened for (SPEC P5.7).
 */
export class ServerConnections {
  readonly #slots = new Map<string, Slot>();
  #closed = false;

  /**
   * Opens the connection of an entry unless it is open, or waits until it is. One that failed is tried again. Does
   * not throw: {@link problem} tells.
   */
  async open(server: McpServer): Promise<void> {
    if (this.#closed) return;
    const key = keyOf(server);
    let slot = this.#slots.get(key);
    if (slot === undefined) {
      slot = new Slot(server);
      this.#slots.set(key, slot);
    }
    await slot.open();
  }

  /** The tools that an entry's server listed; none while it is not connected. */
  tools(server: McpServer): readonly McpToolInfo[] {
    return this.#slots.get(keyOf(server))?.connection?.tools ?? [];
  }

  /** Why an entry's server cannot be used, or `null`. */
  problem(server: McpServer): string | null {
    return this.#slots.get(keyOf(server))?.problem ?? null;
  }

  /** @throws Error when the entry's server is not connected or the call fails */
  async call(
    server: McpServer,
    tool: string,
    args: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<McpCallResult> {
    const slot = this.#slots.get(keyOf(server));
    if (slot === undefined) throw new Error("the server is not connected");
    return await slot.call(tool, args, signal);
  }

  /** Retires the connections of all other entries; each closes once its last call is done. */
  keepOnly(servers: readonly McpServer[]): void {
    const wanted = new Set(servers.map(keyOf));
    for (const [key, slot] of this.#slots) {
      if (wanted.has(key)) continue;
      this.#slots.delete(key);
      slot.retire();
    }
  }

  /** Closes everything, calls under way included, and waits until it is closed. */
  async close(): Promise<void> {
    this.#closed = true;
    const slots = [...this.#slots.values()];
    this.#slots.clear();
    await Promise.all(slots.map((slot) => slot.close()));
  }
}

/** The connection of one entry, while it is opened, open, or failed. */
class Slot {
  connection: McpConnection | null = null;
  problem: string | null = null;
  readonly #server: McpServer;
  #opening: Promise<void> | null = null;
  #calls = 0;
  #retired = false;

  constructor(server: McpServer) {
    this.#server = server;
  }

  open(): Promise<void> {
    if (this.connection !== null) return Promise.resolve();
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  async call(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<McpCallResult> {
    if (this.connection === null) throw new Error("the server is not connected");
    this.#calls += 1;
    try {
      return await this.connection.callTool(tool, args, signal);
    } finally {
      this.#calls -= 1;
      if (this.#retired) this.retire();
    }
  }

  retire(): void {
    this.#retired = true;
    if (this.#calls === 0) void this.close();
  }

  async close(): Promise<void> {
    this.#retired = true;
    await this.#opening;
    const { connection } = this;
    this.connection = null;
    await connection?.close();
  }

  async #connect(): Promise<void> {
    try {
      this.connection = await McpConnection.open(this.#server);
      this.problem = null;
    } catch (error) {
      this.problem = error instanceof Error ? error.message : "the server could not be initialised";
    }
    if (this.#retired) await this.connection?.close();
  }
}

/** Everything that the entry says: two entries share a connection only when they are the same in all of it. */
function keyOf(server: McpServer): string {
  return JSON.stringify(server, (_, value: unknown) => {
    if (value instanceof Map) return [...value] as unknown;
    return typeof value === "bigint" ? `${value}n` : value;
  });
}
