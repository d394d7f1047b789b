/// <reference lib="esnext.disposable" preserve="true" />
import { setMaxListeners } from "node:events";

import { runLoop } from "./agent_loop.ts";
import type { LoopParts } from "./agent_loop.ts";
import { readRecord } from "./arguments.ts";
import { abortable, Scope } from "./cancellation.ts";
import { Conversation } from "./conversation.ts";
import { GuardedAgentError, withTrace } from "./errors.ts";
import type { GuardedAgentErrorCode } from "./errors.ts";
import { Guard } from "./guard.ts";
import { readHistory } from "./history.ts";
import { publicNetwork } from "./network.ts";
import type { Network } from "./network.ts";
import { openEndpoints } from "./open_endpoints.ts";
import type { OpenedEndpoint } from "./open_endpoints.ts";
import { readOptions, readSignal } from "./options.ts";
import type { GuardedMcpAgentOptions } from "./options.ts";
import type { Message } from "./prompt_executor.ts";
import type { RunTrace } from "./run_trace.ts";
import { ToolRegistry } from "./tool_registry.ts";
import type { OfferedTool } from "./tool_registry.ts";

interface AgentParts extends LoopParts {
  readonly endpoints: readonly OpenedEndpoint[];
}

/** What may be said about one run. */
export interface RunOptions {
  /**
   * Cancels this run: its requests are cut off and nothing is called afterwards. What a tool had already begun on its
   * server may go on there. An executor that ignores the signal is not waited for.
   */
  readonly signal?: AbortSignal | undefined;
  /** Earlier messages, which come before the task: the `trace.messages` of an earlier run, for example. */
  readonly history?: readonly Message[] | undefined;
}

/** What a run gave. */
export interface RunResult {
  /** The model's answer. */
  readonly answer: string;
  readonly trace: RunTrace;
}

/** What became of an endpoint when the agent was created. */
export interface EndpointState {
  readonly url: string;
  /** Why an optional endpoint could not be opened; `null` for one that was. */
  readonly error: GuardedAgentErrorCode | null;
}

/** Only this module makes handles. */
const inside = Symbol("inside");

/** Set by the class below, the only place where its constructor can be called. */
let handleOf: (parts: AgentParts) => GuardedMcpAgent;

/**
 * An agent that owns its MCP connections and asks the Agent Guild about an endpoint immediately before each call of
 * one of its tools. Everything inside stays private: there is no way to bring a strategy, a registry, a client or a
 * local tool (SPEC G7, G8).
 */
export class GuardedMcpAgent {
  readonly #parts: AgentParts;
  readonly #lifetime = new AbortController();
  /** Fulfilled when the last run so far has ended. */
  #tail: Promise<void> = Promise.resolve();
  #closing: Promise<void> | null = null;

  static {
    handleOf = (parts) => new GuardedMcpAgent(inside, parts);
  }

  private constructor(key: symbol, parts: AgentParts) {
    if (key !== inside) throw new TypeError("use GuardedMcpAgent.create");
    this.#parts = parts;
    // One listener for each run that waits is no leak.
    setMaxListeners(Infinity, this.#lifetime.signal);
    Object.freeze(this);
  }

  /**
   * Resolves and screens every address of every endpoint, opens the connections and discovers the tools. This traffic
   * precedes the guard. If it fails, everything that it opened is closed; the executor is then still the caller's.
   *
   * @throws TypeError for wrong options; GuardedAgentError; the reason of `options.signal` when that fires
   */
  static async create(this: void, options: GuardedMcpAgentOptions): Promise<GuardedMcpAgent> {
    return await createOn(publicNetwork, options);
  }

  /**
   * Works on a task until the model answers. Runs of one agent come one after another, in the order of the calls.
   *
   * @param task - the next message to the model
   * @returns the model's answer, and what happened on the way
   * @throws GuardedAgentError `iteration_limit` or `closed`; the reason of `signal`; TypeError for a wrong argument or
   * model turn; whatever the executor throws. `traceOf` tells what happened until then (SPEC G13).
   */
  async run(task: string, options: RunOptions = {}): Promise<RunResult> {
    if (typeof task !== "string") throw new TypeError("task: expected a string");
    const given = readRecord("options", options, ["signal", "history"]);
    const signal = readSignal("signal", given.signal);
    const conversation = new Conversation(readHistory(given.history), task);
    const scope = new Scope([this.#lifetime.signal, ...(signal === null ? [] : [signal])]);
    const [before, end] = [this.#tail, new Latch()];
    // Who gives up waiting does not let the next one pass those who are still before it.
    this.#tail = before.then(() => end.opened);
    try {
      await abortable(before, scope.signal);
      const answer = await runLoop(this.#parts, conversation, scope.signal);
      return Object.freeze({ answer, trace: conversation.trace() });
    } catch (error) {
      const isReason = signal?.aborted === true && error === signal.reason;
      throw withTrace(error, conversation.trace(), !isReason);
    } finally {
      scope.end();
      end.open();
    }
  }

  /** The tools that the model is offered, with the endpoint that each belongs to. Names and texts are their servers'. */
  tools(): readonly OfferedTool[] {
    return this.#parts.registry.offered;
  }

  /** The endpoints in their order, each with the code of why the agent goes on without it, or `null`. */
  endpoints(): readonly EndpointState[] {
    return this.#parts.endpoints.map((one) =>
      Object.freeze({ url: one.endpoint.url, error: one.kind === "open" ? null : one.error }),
    );
  }

  /**
   * Ends every run, closes every connection, then the executor. Does so once, however often and whenever it is called;
   * every call waits for the same end.
   *
   * @throws whatever the executor's `close` throws
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** The same as {@link close}: for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#lifetime.abort(new GuardedAgentError("closed"));
    await this.#tail;
    const { endpoints } = this.#parts;
    await Promise.all(endpoints.flatMap((one) => (one.kind === "open" ? [one.session.close()] : [])));
    await this.#parts.settings.closeExecutor();
  }
}

/**
 * Creates an agent on a network of the caller's choice. Not public API: it is what the public factory and the door for
 * tests have in common.
 */
export async function createOn(network: Network, options: GuardedMcpAgentOptions): Promise<GuardedMcpAgent> {
  const settings = readOptions(options);
  const endpoints = await openEndpoints(settings, network);
  return handleOf({
    settings,
    registry: new ToolRegistry(endpoints, settings),
    guard: new Guard(settings, network),
    endpoints,
  });
}

/** A promise that is fulfilled from outside. */
class Latch {
  open!: () => void;
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}
