import type { Agent } from "./agent.ts";
import { AgentContext } from "./agent_context.ts";
import { dispatch } from "./dispatch.ts";
import type { ToolRequest } from "./dispatch.ts";
import { RepairableException, exceptionKind } from "./exceptions.ts";
import { readToolRequestObject } from "./tool_requests.ts";
import type { ToolArgs } from "./tools.ts";

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
 * @throws RepairableException when the requests are not usable, or a worker asks for `parallel` itself
 */
export async function runInParallel(agent: Agent, args: ToolArgs, signal: AbortSignal): Promise<string> {
  if (agent.context.parent !== null) {
    throw new RepairableException("A worker cannot use parallel itself. Make its calls one after the other.");
  }
  const requests = readRequests(args["tool_calls"]);
  const workers = new AbortController();
  const cancel = () => workers.abort(signal.reason);
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const results = await Promise.allSettled(requests.map((request) => runInWorker(agent, request, workers)));
    signal.throwIfAborted();
    return JSON.stringify(results.map(resultOf));
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

function readRequests(value: unknown): ToolRequest[] {
  const calls = Array.isArray(value) ? (value as unknown[]) : [];
  if (calls.length < 1 || calls.length > MAX_CALLS) {
    throw new RepairableException(`parallel takes a list tool_calls of 1 to ${MAX_CALLS} tool requests.`);
  }
  return calls.map((call, index) => {
    const reading = readToolRequestObject(call);
    if (reading.kind === "request") return reading;
    throw new RepairableException(`Entry ${index + 1} of tool_calls is not a tool request. No call was run.`);
  });
}

interface WorkerResult {
  readonly tool_name: string;
  readonly status: "done" | "error";
  readonly result: string;
}

async function runInWorker(
  parent: Agent,
  request: ToolRequest,
  workers: AbortController,
): Promise<WorkerResult> {
  const { project } = parent.context;
  const { profile } = parent.config;
  const options = { ...(project === null ? {} : { project }), profile };
  const context = new AgentContext(parent.host, options, parent);
  const cancel = () => context.cancel(workers.signal.reason as Error);
  workers.signal.addEventListener("abort", cancel, { once: true });
  try {
    const { message } = await dispatch(context.agent0, request);
    return { tool_name: request.name, status: "done", result: message };
  } catch (error) {
    if (exceptionKind(error) === "repairable") {
      return { tool_name: request.name, status: "error", result: (error as Error).message };
    }
    // What no agent can repair ends the whole call: nothing of it goes on in the background.
    workers.abort(error);
    throw error;
  } finally {
    workers.signal.removeEventListener("abort", cancel);
    for (const item of context.log.items) parent.context.log.log(item);
  }
}

function resultOf(result: PromiseSettledResult<WorkerResult>): WorkerResult {
  if (result.status === "fulfilled") return result.value;
  throw result.reason;
}
