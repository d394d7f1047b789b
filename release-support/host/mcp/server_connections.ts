import { McpFailure } from "../../mcp/failure.ts";
import type { McpToolInfo } from "../../mcp/listing.ts";
import type { ToolResult } from "../../mcp/results.ts";
import { McpSession } from "../../mcp/session.ts";
import type { McpServer } from "./configuration.ts";
import { connectionTo } from "./connect.ts";
import { ServerLog } from "./server_log.ts";

/** What belongs to one entry. */
interface Slot {
  readonly session: McpSession;
  readonly log: ServerLog;
}

/**
 * The connections of one host, one for each exact entry: an entry that differs in anything has a connection of its own,
 * and no connection ever serves another entry than the one it was opened for (SPEC P5.7).
 */
export class ServerConnections {
  readonly #slots = new Map<string, Slot>();
  /** Those of entries that are no longer configured, while calls on them are under way. */
  readonly #retired = new Set<McpSession>();
  #closed = false;

  /**
   * Opens the connection of an entry unless it is open, or waits until it is. One that failed is tried again. Does
   * not throw: {@link problem} tells.
   */
  async open(server: McpServer): Promise<void> {
    await this.#sessionFor(server)?.open();
  }

  /** Finds out what an entry's server offers now; connects for that if need be. Does not throw. */
  async discover(server: McpServer): Promise<void> {
    await this.#sessionFor(server)?.discover();
  }

  /** The tools that an entry's server listed last; none before it was reached once. */
  tools(server: McpServer): readonly McpToolInfo[] {
    return this.#known(server)?.session.tools ?? [];
  }

  /** Why an entry's server cannot be used, or `null`. */
  problem(server: McpServer): string | null {
    return this.#known(server)?.session.problem ?? null;
  }

  /** The end of what an entry's server wrote on its standard error; empty for a remote one. */
  log(server: McpServer): string {
    return this.#known(server)?.log.text ?? "";
  }

  /** Why the list of an entry's server may not be what it offers; `null` when it is. */
  listingProblem(server: McpServer): string | null {
    return this.#known(server)?.session.listingProblem ?? null;
  }

  /**
   * Calls a tool. A server that has forgotten the session has certainly not run the call: then it is made once more, over
   * another connection. After any other failure it is not (SPEC H5).
   *
   * @throws McpFailure when the entry's server cannot be used or the call fails; the reason of `signal` when that fires
   */
  async call(
    server: McpServer,
    tool: string,
    args: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<ToolResult> {
    const session = this.#sessionFor(server);
    if (session === null) throw McpFailure.notSent("the host was closed");
    try {
      return await session.call(tool, args, signal);
    } catch (error) {
      const wasLost = error instanceof McpFailure && error.breaks && error.fate.kind === "not_sent";
      if (!wasLost) throw error;
    }
    return await session.call(tool, args, signal);
  }

  /** Retires the connections of all other entries; each closes once its last call is done. */
  keepOnly(servers: readonly McpServer[]): void {
    const wanted = new Set(servers.map(keyOf));
    for (const [key, slot] of this.#slots) {
      if (wanted.has(key)) continue;
      this.#slots.delete(key);
      this.#retired.add(slot.session);
      void slot.session.retire().then(() => this.#retired.delete(slot.session));
    }
  }

  /** Closes everything, calls under way included, and waits until it is closed. */
  async close(): Promise<void> {
    this.#closed = true;
    const sessions = [...[...this.#slots.values()].map(({ session }) => session), ...this.#retired];
    this.#slots.clear();
    await Promise.all(sessions.map((session) => session.close()));
  }

  #known(server: McpServer): Slot | undefined {
    return this.#slots.get(keyOf(server));
  }

  #sessionFor(server: McpServer): McpSession | null {
    if (this.#closed) return null;
    const known = this.#known(server);
    if (known !== undefined) return known.session;
    const log = new ServerLog();
    const session = new McpSession(() => connectionTo(server, log));
    this.#slots.set(keyOf(server), { session, log });
    return session;
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
