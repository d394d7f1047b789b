import { setMaxListeners } from "node:events";

import { runLoop } from "./agent_loop.ts";
import type { LoopParts } from "./agent_loop.ts";
import { readRecord } from "./arguments.ts";
import { abortable, Scope } from "./cancellation.ts";
import { GuardedAgentError } from "./errors.ts";
import { Guard } from "./guard.ts";
import type { McpConnection } from "./mcp_connection.ts";
import { publicNetwork } from "./network.ts";
import type { Network } from "./network.ts";
import { openEndpoints } from "./open_endpoints.ts";
import { readOptions, readSignal } from "./options.ts";
import type { GuardedMcpAgentOptions } from "./options.ts";
import { ToolRegistry } from "./tool_registry.ts";

interface AgentParts extends LoopParts {
  readonly connections: readonly McpConnection[];
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
  static async create(options: GuardedMcpAgentOptions): Promise<GuardedMcpAgent> {
    return await createOn(publicNetwork, options);
  }

  /**
   * Works on a task until the model answers. Runs of one agent come one after another, in the order of the calls.
   *
   * @param task - the first message to the model
   * @param options - `signal` cancels this run: its requests are cut off and nothing is called afterwards. What a tool
   * had already begun on its server may go on there. An executor that ignores the signal is not waited for.
   * @returns the model's answer
   * @throws GuardedAgentError `iteration_limit` or `closed`; the reason of `signal`; TypeError for a wrong argument or
   * model turn; whatever the executor throws
   */
  async run(task: string, options: { readonly signal?: AbortSignal | undefined } = {}): Promise<string> {
    if (typeof task !== "string") throw new TypeError("task: expected a string");
    const signal = readSignal("signal", readRecord("options", options, ["signal"]).signal);
    const scope = new Scope([this.#lifetime.signal, ...(signal === null ? [] : [signal])]);
    const [before, end] = [this.#tail, new Latch()];
    // Who gives up waiting does not let the next one pass those who are still before it.
    this.#tail = before.then(() => end.opened);
    try {
      await abortable(before, scope.signal);
      return await runLoop(this.#parts, task, scope.signal);
    } finally {
      scope.end();
      end.open();
    }
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

  async #close(): Promise<void> {
    this.#lifetime.abort(new GuardedAgentError("closed"));
    await this.#tail;
    await Promise.all(this.#parts.connections.map((connection) => connection.close()));
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
    registry: new ToolRegistry(endpoints),
    guard: new Guard(settings.policy, network, settings.onObservation),
    connections: endpoints.map(({ connection }) => connection),
  });
}

/** A promise that is fulfilled from outside. */
class Latch {
  open!: () => void;
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}
