import { McpConnection } from "../mcp/connection.ts";
import { McpFailure } from "../mcp/failure.ts";
import type { Fate } from "../mcp/failure.ts";
import { McpSession } from "../mcp/session.ts";
import { StreamableHttp } from "../mcp/streamable_http.ts";
import { abortable } from "./cancellation.ts";
import { GuardedAgentError } from "./errors.ts";
import { frozenJson } from "./frozen_json.ts";
import type { Network } from "./network.ts";
import { MAX_RESPONSE_BYTES, PinnedConnection } from "./pinned_connection.ts";
import type { ContentItem, JsonObject, ToolDescription } from "./prompt_executor.ts";

/** Bounds of one endpoint's list of tools. */
const LISTING = { maxPages: 32, maxTools: 1024 };

/** How long opening and one call may take, in seconds. */
export interface SessionTimes {
  readonly openTimeoutSeconds: number;
  readonly toolTimeoutSeconds: number;
}

/** What became of a tool call. The texts of a result are the tool's own: remote, and meant for the model. */
export type CallOutcome =
  | {
      readonly kind: "result";
      /** Whether the tool itself says that it failed. */
      readonly isError: boolean;
      readonly content: readonly ContentItem[];
      readonly structuredContent: JsonObject | null;
    }
  | {
      readonly kind: "failed";
      /** Whether it was sent, and what the server made of it, as far as that is known (SPEC G12). */
      readonly fate: Fate;
      /** The cause, in controlled words. */
      readonly why: string;
      /** What the server itself said: remote, and no more than a tool's result. `null` when it said nothing. */
      readonly remoteText: string | null;
    };

/**
 * One MCP server over pinned connections that nobody else has (SPEC G2). A session that is lost is opened anew for the
 * next call, over the addresses that were screened in the beginning (SPEC G12).
 */
export class EndpointSession {
  readonly #session: McpSession;
  /** What the server listed when it was opened: frozen, and never replaced. */
  readonly tools: readonly ToolDescription[];

  private constructor(session: McpSession, tools: readonly ToolDescription[]) {
    this.#session = session;
    this.tools = tools;
  }

  /**
   * Resolves, screens, connects, initialises and lists the tools.
   *
   * @param endpoint - an endpoint's URL
   * @param signal - ends it all and closes what was opened
   * @throws GuardedAgentError `resolution_failed`, `address_refused`, `connect_failed`, `tls_failed`, `handshake_failed`
   * or `listing_refused`; the reason of `signal` when that fires first
   */
  static async open(
    endpoint: string,
    network: Network,
    times: SessionTimes,
    signal: AbortSignal,
  ): Promise<EndpointSession> {
    const pinned = await PinnedConnection.prepare(endpoint, network, signal);
    const connectionOver = (carrier: PinnedConnection) => {
      const server = { url: endpoint, headers: new Headers(), carrier, maxAnswerBytes: MAX_RESPONSE_BYTES };
      // The agent offers servers nothing to ask for: it holds no stream open on which they could.
      return new McpConnection(new StreamableHttp(server, { opensStream: false }), {
        clientName: "agent-guild-preflight",
        initSeconds: times.openTimeoutSeconds,
        toolSeconds: times.toolTimeoutSeconds,
        ...LISTING,
      });
    };
    const first = connectionOver(pinned);
    const session = new McpSession(() => connectionOver(pinned.again()), first);
    try {
      await first.start(signal);
      if (first.listingProblem !== null) throw new GuardedAgentError("listing_refused");
      return new EndpointSession(
        session,
        first.tools.map((tool) => frozenJson(tool) as ToolDescription),
      );
    } catch {
      await session.close();
      signal.throwIfAborted();
      throw new GuardedAgentError(
        first.isInitialized ? "listing_refused" : (pinned.failure ?? "handshake_failed"),
      );
    }
  }

  /**
   * Opens a lost session anew. Nobody need be asked about a call that cannot be made (SPEC G12).
   *
   * @returns why there is still none, in controlled words; `null` where there is one
   * @throws the reason of `signal` when that fires first; nothing else
   */
  async revive(signal: AbortSignal): Promise<string | null> {
    await abortable(this.#session.open(), signal);
    return this.#session.isOpen ? null : (this.#session.problem ?? "the connection was closed");
  }

  /**
   * Calls a tool, once.
   *
   * @param signal - ends the call: its request is cut off, and the server is told
   * @throws the reason of `signal` when that fires first; nothing else
   */
  async call(name: string, args: JsonObject, signal: AbortSignal): Promise<CallOutcome> {
    try {
      const result = await this.#session.call(name, args, signal);
      return frozenJson({ kind: "result", ...result }) as CallOutcome;
    } catch (error) {
      signal.throwIfAborted();
      const unusable = "what it brought cannot be used";
      const failure = error instanceof McpFailure ? error : McpFailure.unknownEnd(unusable);
      return { kind: "failed", fate: failure.fate, why: failure.message, remoteText: failure.remoteText };
    }
  }

  /** Says farewell to the server if that is quick, then closes everything. Never throws. */
  async close(): Promise<void> {
    await this.#session.close();
  }
}
