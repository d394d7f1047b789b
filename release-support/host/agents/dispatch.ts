import type { Agent } from "./agent.ts";
import { RepairableException } from "./exceptions.ts";
import { unlessAborted } from "../../within.ts";
import type { ToolRequest } from "./model_turns.ts";
import type { Tool, ToolArgs, ToolResponse } from "./tool.ts";

/**
 * Runs one tool request through the framework's steps, whichever path it came by: find the tool, set it as the
 * current one, before-execution, let the extensions of `tool_execute_before` object, execute, let those of
 * `tool_execute_after` look, after-execution, add the result to the history (SPEC H6).
 *
 * @param agent - the agent that asks
 * @param request - the call; extensions may change the arguments that reach the tool; the object is a copy, what it holds is not
 * @returns what the tool answered, as the extensions left it
 * @throws whatever a step throws; what comes behind it does not run. RepairableException when the request is none, or an
 *   extension replaced the current tool. The reason of the agent's cancellation, as soon as that fires.
 */
export function dispatch(agent: Agent, request: ToolRequest): Promise<ToolResponse> {
  return agent.inOwnTask(() => runSteps(agent, request));
}

async function runSteps(agent: Agent, request: ToolRequest): Promise<ToolResponse> {
  const { loopData, signal, host, context } = agent;
  // Whoever cancels does not wait for the step under way, and no step begins after it.
  const step = <Result>(run: () => Result | Promise<Result>) => unlessAborted(signal, async () => run());
  try {
    const { name, args } = readRequest(request);
    const tool = await step(() => host.findTool(agent, name));
    loopData.currentTool = tool;
    await context.checkIntervention(agent, signal);
    await step(() => tool.beforeExecution?.(args, signal));
    await step(() => host.extensions.call("tool_execute_before", agent, { toolArgs: args, toolName: name }));
    requireUnchanged(loopData.currentTool, tool);
    const response = await step(() => tool.execute(args, signal));
    await step(() => host.extensions.call("tool_execute_after", agent, { response, toolName: name }));
    await step(() => tool.afterExecution?.(response, signal));
    report(agent, name, response);
    return response;
  } finally {
    loopData.currentTool = null;
  }
}

/** A model may send anything; the copy has no prototype, so that every member is the model's own. */
function readRequest(request: { readonly name: unknown; readonly args?: unknown }): ToolRequest {
  const { name, args = {} } = request;
  if (
    typeof name === "string" &&
    name !== "" &&
    typeof args === "object" &&
    args !== null &&
    !Array.isArray(args)
  ) {
    return { name, args: Object.assign(Object.create(null) as ToolArgs, args) };
  }
  throw new RepairableException("A tool call needs the name of a tool, and an object of arguments.");
}

/** What the extensions looked at is what runs, or nothing does. */
function requireUnchanged(current: Tool | null, tool: Tool): void {
  if (current === tool) return;
  throw new RepairableException(
    "The tool call was not run: an extension of tool_execute_before replaced the tool that the others had checked.",
  );
}

function report(agent: Agent, toolName: string, response: ToolResponse): void {
  agent.history.add({ role: "tool_result", toolName, content: response.message });
  agent.context.log.log({
    type: response.breakLoop ? "response" : "tool",
    heading: `Agent ${agent.number}: ${toolName}`,
    content: response.message,
  });
}
