import type { McpServer } from "./configuration.ts";
import type { McpCallResult } from "./connection.ts";
import { McpFailure } from "./failure.ts";
import { ServerSlot } from "./server_slot.ts";
import type { McpToolInfo } from "./tool_listing.ts";

/**
 * The connections of one host, one for each exact entry: an entry that differs in anything has a connection of its own,
 * and no connection ever serves another entry than the one it was opened for (SPEC P5.7).
 */
export class ServerConnections {
  readonly #slots = new Map<string, ServerSlot>();
  /** Those of entries that are no longer configured, while calls on them are under way. */
  readonly #retired = new Set<ServerSlot>();
  #closed = false;

  /**
   * Opens the connection of an entry unless it is open, or waits until it is. One that failed is tried again. Does
   * not throw: {@link problem} tells.
   */
  async open(server: McpServer): Promise<void> {
    await this.#slotFor(server)?.open();
  }

  /** Finds out what an entry's server offers now; connects for that if need be. Does not throw. */
  async discover(server: McpServer): Promise<void> {
    await this.#slotFor(server)?.discover();
  }

  /** The tools that an entry's server listed last; none before it was reached once. */
  tools(server: McpServer): readonly McpToolInfo[] {
    return this.#slots.get(keyOf(server))?.tools ?? [];
  }

  /** Why an entry's server cannot be used, or `null`. */
  problem(server: McpServer): string | null {
    return this.#slots.get(keyOf(server))?.problem ?? null;
  }

  /** The end of what an entry's server wrote on its standard error; empty for a remote one. */
  log(server: McpServer): string {
    return this.#slots.get(keyOf(server))?.log ?? "";
  }

  /** @throws McpFailure when the entry's server cannot be used or the call fails; the reason of `signal` when that fires */
  async call(
    server: McpServer,
    tool: string,
    args: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<McpCallResult> {
    const slot = this.#slotFor(server);
    if (slot === null) throw new McpFailure("broken", "the host was closed");
    return await slot.call(tool, args, signal);
  }

  /** Retires the connections of all other entries; each closes once its last call is done. */
  keepOnly(servers: readonly McpServer[]): void {
    const wanted = new Set(servers.map(keyOf));
    for (const [key, slot] of this.#slots) {
      if (wanted.has(key)) continue;
      this.#slots.delete(key);
      this.#retired.add(slot);
      void slot.retire().then(() => this.#retired.delete(slot));
    }
  }

  /** Closes everything, calls under way included, and waits until it is closed. */
  async close(): Promise<void> {
    this.#closed = true;
    const slots = [...this.#slots.values(), ...this.#retired];
    this.#slots.clear();
    await Promise.all(slots.map((slot) => slot.close()));
  }

  #slotFor(server: McpServer): ServerSlot | null {
    if (this.#closed) return null;
    const key = keyOf(server);
    const slot = this.#slots.get(key) ?? new ServerSlot(server);
    this.#slots.set(key, slot);
    return slot;
  }
}

const keys = new WeakMap<McpServer, string>();

/** Everything that the entry says: two entries share a connection only when they are the same in all of it. */
function keyOf(server: McpServer): string {
  let key = keys.get(server);
  if (key === undefined) {
    key = JSON.stringify(server, (_, value: unknown) => writable(value));
    keys.set(server, key);
  }
  return key;
}

/** What stands in the key for a value that JSON has no form for: nothing that another value is written as. */
function writable(value: unknown): unknown {
  if (value instanceof Map) return [...value];
  const isPlain = typeof value !== "bigint" && (typeof value !== "number" || Number.isFinite(value));
  return isPlain ? value : { [typeof value]: String(value) };
}
