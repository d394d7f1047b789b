import { onAbort } from "../../../helpers/on_abort.ts";
import type { Agent } from "./agent.ts";
import { AgentContext } from "./agent.ts";
import { dispatch } from "./dispatch.ts";
import type { ToolRequest } from "./model_turns.ts";
import { RepairableException, exceptionKind, repairableMessage } from "./exceptions.ts";
import { readToolRequestObject } from "./tool_requests.ts";
import type { ToolArgs } from "./tool.ts";

/** How many calls one `parallel` call may hold. */
const MAX_CALLS = 8;

/**
 * The tool `parallel`: runs 1 to 8 ordinary tool requests at once, each by a worker agent in a context of its own that
 * remembers its parent. Workers go through the same dispatch, hence through the same extensions; each has its parent's
 * project and profile (SPEC H9).
 *
 * @param agent - the agent that asks
 * @param args - `tool_calls`: the requests
 * @param signal - cancels the workers too
 * @returns the results in order, as JSON; a denied call is one of them
 * @throws RepairableException when the requests are not usable, or a worker asks for `parallel` itself; what a worker
 *   threw that no agent can repair, once no worker goes on
 */
export async function runInParallel(agent: Agent, args: ToolArgs, signal: AbortSignal): Promise<string> {
  if (agent.context.parent !== null) {
    throw new RepairableException("A worker cannot use parallel itself. Make its calls one after the other.");
  }
  const team = new Team(agent, readRequests(args["tool_calls"]));
  const forget = onAbort(signal, () => team.stop(signal.reason));
  try {
    return JSON.stringify(await team.run());
  } finally {
    forget();
  }
}

function readRequests(value: unknown): ToolRequest[] {
  const calls = Array.isArray(value) ? (value as unknown[]) : [];
  if (calls.length < 1 || calls.length > MAX_CALLS) {
    throw new RepairableException(`parallel takes a list tool_calls of 1 to ${MAX_CALLS} tool requests.`);
  }
  // Not `map`, which would pass over a hole.
  return Array.from(calls, (call, index) => {
    const reading = readToolRequestObject(call);
    if (reading.kind === "request") return reading;
    throw new RepairableException(`Entry ${index + 1} of tool_calls is not a tool request. No call was run.`);
  });
}

/** One request, and the context of the agent that runs it. */
interface Worker {
  readonly request: ToolRequest;
  readonly context: AgentContext;
}

interface WorkerResult {
  readonly tool_name: string;
  readonly status: "done" | "error";
  readonly result: string;
}

/** The workers of one call: they end together when one of them meets what no agent can repair. */
class Team {
  readonly #parent: Agent;
  readonly #workers: readonly Worker[];
  #stopped: { readonly reason: unknown } | null = null;

  constructor(parent: Agent, requests: readonly ToolRequest[]) {
    this.#parent = parent;
    this.#workers = requests.map((request) => ({ request, context: workerContext(parent) }));
  }

  /** Cancels every worker. */
  stop(reason: unknown): void {
    this.#stopped ??= { reason };
    for (const { context } of this.#workers) context.cancel(reason as Error);
  }

  /** Runs every request; settles when no worker goes on. */
  async run(): Promise<WorkerResult[]> {
    const results = await Promise.all(this.#workers.map((worker) => this.#work(worker)));
    if (this.#stopped !== null) throw this.#stopped.reason;
    return results.filter((result) => result !== null);
  }

  /** The result of one request; `null` when the worker was stopped, or stopped the others. */
  async #work({ context, request }: Worker): Promise<WorkerResult | null> {
    try {
      const { message } = await dispatch(context.agent0, request);
      return { tool_name: request.name, status: "done", result: message };
    } catch (error) {
      if (exceptionKind(error) === "repairable") {
        return { tool_name: request.name, status: "error", result: repairableMessage(error) };
      }
      this.stop(error);
      return null;
    } finally {
      for (const item of context.log.items) this.#parent.context.log.log(item);
    }
  }
}

/** A context of the very project and profile of its parent, whatever they are: the gate must see the same. */
function workerContext(parent: Agent): AgentContext {
  const context = new AgentContext(parent.host, { profile: parent.config.profile }, parent);
  context.setData("project", parent.context.getData("project"));
  return context;
}
