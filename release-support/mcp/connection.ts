import { LATEST_PROTOCOL_VERSION, SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/sdk/types.js";

import { onAbort } from "../../helpers/on_abort.ts";
import { writeJson } from "../exact_json.ts";
import { within } from "../within.ts";
import type { Channel } from "./channel.ts";
import { McpFailure } from "./failure.ts";
import type { Incoming, RemoteObject, RpcRequest } from "./json_rpc.ts";
import { listAllTools } from "./listing.ts";
import type { ListingLimits, McpToolInfo, ToolListing } from "./listing.ts";
import { Repeats } from "./repeats.ts";
import { readResult } from "./results.ts";
import type { ToolResult } from "./results.ts";

/** What differs between those who use the core. */
export interface ConnectionSettings extends ListingLimits {
  /** What the client calls itself. */
  readonly clientName: string;
  /** How long connecting and listing may take, in seconds. */
  readonly initSeconds: number;
  /** How long one call may take, in seconds. */
  readonly toolSeconds: number;
}

/** How long the farewell to a server may take, in milliseconds. */
const FAREWELL_MS = 1000;
/** How long a message may take that wants no answer, in milliseconds. */
const TELLING_MS = 10_000;
/** So many times a list that the server says has changed is read again at once. */
const PROMPT_LISTINGS = 3;
/** So many requests of the server may wait for our answer; more get none. */
const MAX_OWED = 16;

/** Whether a request has left, so that the server may have run it. */
interface Trace {
  isSent: boolean;
}

/**
 * One connection to one MCP server. It begins once and ends once: when the server ends it, when it breaks, when it is
 * retired or closed. Who needs the server afterwards makes another connection.
 */
export class McpConnection {
  /** Resolves when nothing of the connection is left. */
  readonly closed: Promise<void>;
  readonly #channel: Channel;
  readonly #settings: ConnectionSettings;
  readonly #ending = new AbortController();
  readonly #relistings = new Repeats(PROMPT_LISTINGS);
  #lastId = 0;
  #listing: ToolListing = { tools: [], problem: null };
  #isInitialized = false;
  /** Whether session and list are there. */
  #hasStarted = false;
  #problem: string | null = null;
  #refreshing: Promise<void> | null = null;
  /** The server has said that its list changed, and it was not read since. */
  #isStale = false;
  #isRelisting = false;
  #owed = 0;
  #calls = 0;
  #isRetired = false;
  #closing: Promise<void> | null = null;
  #tellClosed: () => void = () => undefined;

  /** Makes a connection that is not open yet. */
  constructor(channel: Channel, settings: ConnectionSettings) {
    this.#channel = channel;
    this.#settings = settings;
    this.closed = new Promise((resolve) => {
      this.#tellClosed = resolve;
    });
  }

  /**
   * Connects, initialises the session and lists the tools, all together within `initSeconds`.
   *
   * @throws McpFailure when the server cannot be used, and the connection closes then; the reason of `signal` when
   *   that fires
   */
  async start(signal: AbortSignal): Promise<void> {
    const { initSeconds } = this.#settings;
    const late = () =>
      McpFailure.notSent(`the server was not ready within ${initSeconds} s`, { breaks: true });
    try {
      await within({ ms: initSeconds * 1000, late, signal }, async (stop) => {
        await this.#channel.open(this, stop);
        await this.#initialize(stop);
        this.#listing = await this.#list(stop);
      });
    } catch (error) {
      const failure = failureFrom(error);
      this.#break(failure.message);
      signal.throwIfAborted();
      throw failure;
    }
    this.#hasStarted = true;
    void this.#relist();
  }

  /** The tools that the server listed last. */
  get tools(): readonly McpToolInfo[] {
    return this.#listing.tools;
  }

  /** Whether the server has taken up a session. */
  get isInitialized(): boolean {
    return this.#isInitialized;
  }

  /** Why the connection serves no further request, or `null`. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Why the list of tools is not, or may not be, what the server offers; `null` when it is. */
  get listingProblem(): string | null {
    return this.#listing.problem;
  }

  /**
   * Lists the tools afresh, or waits for the listing that is under way. What was listed before stays until the new
   * list is complete, and for good when that fails: {@link listingProblem} tells. Does not throw.
   */
  refreshTools(): Promise<void> {
    this.#refreshing ??= this.#listAgain().finally(() => {
      this.#refreshing = null;
    });
    return this.#refreshing;
  }

  /**
   * Calls a tool, within `toolSeconds`. The call is sent once, and never again (SPEC H5, H11).
   *
   * @throws McpFailure when the server answers with an error, not in time, or not at all; the reason of `signal` when
   *   that fires
   */
  async callTool(name: string, args: RemoteObject, signal: AbortSignal): Promise<ToolResult> {
    if (this.#problem !== null) throw McpFailure.notSent(this.#problem, { breaks: true });
    const { toolSeconds } = this.#settings;
    const trace = { isSent: false };
    const late = () =>
      trace.isSent
        ? McpFailure.unknownEnd(`the tool did not answer within ${toolSeconds} s`)
        : McpFailure.notSent(`the call could not be sent within ${toolSeconds} s`);
    this.#calls += 1;
    this.#use();
    try {
      const params = { name, arguments: args };
      return await within({ ms: toolSeconds * 1000, late, signal }, async (stop) =>
        readResult(await this.#ask("tools/call", params, stop, trace)),
      );
    } catch (error) {
      signal.throwIfAborted();
      throw this.#noted(error);
    } finally {
      this.#calls -= 1;
      if (this.#isRetired) this.retire();
    }
  }

  /** Closes the connection once the last call on it is done. */
  retire(): void {
    this.#isRetired = true;
    if (this.#calls === 0) void this.close();
  }

  /** Ends the session and closes every socket or the process; calls under way fail. Safe to call twice. */
  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  /** What the channel hears from the server unasked. */
  heard(message: Incoming): void {
    if (message.kind === "request") void this.#reply(message.id, message.method);
    if (message.kind !== "notification" || message.method !== "notifications/tools/list_changed") return;
    this.#isStale = true;
    if (this.#hasStarted) void this.#relist();
  }

  /** The channel has ended by itself. */
  lost(): void {
    this.#break(this.#channel.whenLost);
  }

  async #shutDown(): Promise<void> {
    this.#problem ??= "the connection was closed";
    this.#ending.abort();
    // A server that does not take the farewell finds out by itself.
    const limits = { ms: FAREWELL_MS, late: () => new Error("the farewell took too long"), signal: null };
    await within(limits, (stop) => this.#channel.endSession(stop)).catch(() => undefined);
    await this.#channel.destroy().catch(() => undefined);
    this.#tellClosed();
  }

  async #initialize(stop: AbortSignal): Promise<void> {
    const { protocolVersion } = await this.#ask(
      "initialize",
      {
        protocolVersion: LATEST_PROTOCOL_VERSION,
        capabilities: {},
        clientInfo: { name: this.#settings.clientName, version: "0.1.0" },
      },
      stop,
    );
    if (typeof protocolVersion === "string") {
      if (!SUPPORTED_PROTOCOL_VERSIONS.includes(protocolVersion)) {
        throw McpFailure.notSent("the server speaks a version of MCP that is not supported", {
          breaks: true,
        });
      }
      this.#channel.agree(protocolVersion);
    }
    this.#isInitialized = true;
    // Whether it is taken, the next request shows.
    await this.#channel.tell(notification("notifications/initialized"), stop).catch(() => undefined);
    stop.throwIfAborted();
    this.#channel.listen();
  }

  async #list(stop: AbortSignal): Promise<ToolListing> {
    const fetchPage = (cursor: string | undefined) =>
      this.#ask("tools/list", cursor === undefined ? undefined : { cursor }, stop);
    const { tools, problem } = await listAllTools(fetchPage, this.#settings);
    return { tools, problem: problem === null ? null : `its list of tools is incomplete: ${problem}` };
  }

  async #listAgain(): Promise<void> {
    if (this.#problem !== null) return;
    const { initSeconds } = this.#settings;
    const late = () => McpFailure.unknownEnd(`the server did not list its tools within ${initSeconds} s`);
    let reason: string;
    this.#isStale = false;
    try {
      const listing = await within({ ms: initSeconds * 1000, late, signal: null }, (stop) =>
        this.#list(stop),
      );
      if (listing.problem === null) {
        this.#listing = listing;
        return;
      }
      reason = listing.problem;
    } catch (error) {
      reason = this.#noted(error).message;
    }
    const problem = `its list of tools may be incomplete, since it could not be listed again: ${reason}`;
    this.#listing = { tools: this.tools, problem };
  }

  /** Reads a list that has changed, as often as that is bounded: the server need not do anything to say so. */
  async #relist(): Promise<void> {
    if (this.#isRelisting) return;
    this.#isRelisting = true;
    while (this.#isStale && (await this.#relistings.next(this.#ending.signal))) await this.refreshTools();
    this.#isRelisting = false;
  }

  /** Somebody uses the connection: what repeats by itself may go on a little. */
  #use(): void {
    this.#relistings.use();
    this.#channel.listen();
    void this.#relist();
  }

  /** Sends a request and waits for its result. When nobody waits any more, the server is told. */
  async #ask(
    method: string,
    params: RpcRequest["params"],
    stop: AbortSignal,
    trace: Trace = { isSent: false },
  ): Promise<RemoteObject> {
    this.#lastId += 1;
    const id = this.#lastId;
    const text = requestText({ id, method, ...(params === undefined ? {} : { params }) });
    const forget = onAbort(stop, () => {
      // The protocol forbids to call an initialisation off.
      if (!trace.isSent || method === "initialize") return;
      void this.#tell(notification("notifications/cancelled", { requestId: id, reason: "cancelled" }));
    });
    const sending = () => {
      trace.isSent = true;
    };
    try {
      const answer = await this.#channel.ask(id, text, { stop, sending });
      if (answer.kind === "result") return answer.result;
      const { code, message } = answer;
      const fate = { kind: "refused", by: "json_rpc", code } as const;
      const words = `the server answered with the JSON-RPC error ${code}`;
      throw new McpFailure(fate, words, { remoteText: message });
    } finally {
      forget();
    }
  }

  /** Answers a request of the server, which has nothing to ask for but a sign of life. */
  async #reply(id: unknown, method: string): Promise<void> {
    if (this.#owed >= MAX_OWED) return;
    this.#owed += 1;
    const body =
      method === "ping" ? { result: {} } : { error: { code: -32601, message: "Method not found" } };
    await this.#tell(writeJson({ jsonrpc: "2.0", id, ...body }) ?? "");
    this.#owed -= 1;
  }

  /** Sends what wants no answer; whether it is taken matters to nobody. */
  async #tell(text: string): Promise<void> {
    const limits = { ms: TELLING_MS, late: () => new Error("it took too long"), signal: null };
    await within(limits, (stop) => this.#channel.tell(text, stop)).catch(() => undefined);
  }

  /** The failure behind an error; one that the connection cannot go on after breaks it. */
  #noted(error: unknown): McpFailure {
    const failure = failureFrom(error);
    if (failure.breaks) this.#break(failure.message);
    return failure;
  }

  #break(problem: string): void {
    this.#problem ??= problem;
    this.retire();
  }
}

function failureFrom(error: unknown): McpFailure {
  if (error instanceof McpFailure) return error;
  return McpFailure.unknownEnd("the server does not speak MCP as expected");
}

function notification(method: string, params?: RemoteObject): string {
  return writeJson({ jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) }) ?? "";
}

/** @throws McpFailure when the arguments of a call have no form in JSON */
function requestText(request: RpcRequest): string {
  try {
    return writeJson({ jsonrpc: "2.0", ...request }) ?? "";
  } catch {
    const message =
      "the arguments cannot be written as JSON: look for a number that is infinite, and for a cycle";
    throw McpFailure.notSent(message);
  }
}
