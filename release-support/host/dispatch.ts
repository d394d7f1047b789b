import type { Agent } from "./agent.ts";
import { RepairableException } from "./exceptions.ts";
import { localTool } from "./tools.ts";
import type { Tool, ToolArgs, ToolResponse } from "./tools.ts";

/** A tool call as the model asked for it. */
export interface ToolRequest {
  readonly name: string;
  readonly args: ToolArgs;
}

/**
 * Runs one tool request through the framework's steps, whichever path it came by: find the tool, set it as the
 * current one, let the extensions of `tool_execute_before` object, execute, let those of `tool_execute_after` look,
 * add the result to the history (SPEC H6).
 *
 * @param agent - the agent that asks
 * @param request - the call
 * @returns what the tool answered
 * @throws whatever an extension throws; the tool has not run then. The reason of the context's signal when the task
 *   is cancelled.
 */
export function dispatch(agent: Agent, request: ToolRequest): Promise<ToolResponse> {
  return agent.inOwnCall(() => runSteps(agent, request));
}

async function runSteps(agent: Agent, { name, args }: ToolRequest): Promise<ToolResponse> {
  const { loopData, signal } = agent;
  try {
    const tool = (await agent.host.mcp.findTool(agent, name)) ?? localTool(agent, name);
    loopData.currentTool = tool;
    await agent.context.checkIntervention(agent, signal);
    await agent.host.extensions.call("tool_execute_before", agent, { toolArgs: args, toolName: name });
    signal.throwIfAborted();
    requireUnchanged(loopData.currentTool, tool);
    const response = await tool.execute(args, signal);
    await agent.host.extensions.call("tool_execute_after", agent, { response, toolName: name });
    report(agent, name, response);
    return response;
  } finally {
    loopData.currentTool = null;
  }
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
