import type { Agent } from "./agent.ts";
import type { Tool, ToolArgs, ToolResponse } from "./tool.ts";

/** Whose call a local tool runs for, and how it hears of a cancellation. */
export interface LocalToolCall {
  readonly agent: Agent;
  readonly signal: AbortSignal;
}

/** What a local tool does; a text is short for a response that does not end the loop. */
export type LocalToolRun = (
  args: ToolArgs,
  call: LocalToolCall,
) => string | ToolResponse | Promise<string | ToolResponse>;

/** A local tool that has the framework's steps around its execution, see {@link Tool}. */
export interface SteppedLocalTool {
  beforeExecution?(args: ToolArgs, call: LocalToolCall): void | Promise<void>;
  readonly execute: LocalToolRun;
  afterExecution?(response: ToolResponse, call: LocalToolCall): void | Promise<void>;
}

/** A tool that runs in the host's own process. */
export type LocalTool = LocalToolRun | SteppedLocalTool;

/** Local tools by their exact names. */
export type LocalTools = Readonly<Record<string, LocalTool>>;

/** The tool `unknown`. */
const UNKNOWN: LocalTool = () => "There is no tool of this name.";

/**
 * Finds a local tool by its exact name, or gives the `unknown` tool, which tells the model that there is none
 * (SPEC H6).
 *
 * @param tools - the local tools of the agent's host
 */
export function localTool(tools: LocalTools, agent: Agent, name: string): Tool {
  const found = (Object.hasOwn(tools, name) ? tools[name] : undefined) ?? UNKNOWN;
  const local: SteppedLocalTool = typeof found === "function" ? { execute: found } : found;
  return {
    name,
    id: `local:${name}`,
    beforeExecution: (args, signal) => local.beforeExecution?.(args, { agent, signal }),
    execute: async (args, signal) => toResponse(await local.execute(args, { agent, signal })),
    afterExecution: (response, signal) => local.afterExecution?.(response, { agent, signal }),
  };
}

/** A tool's author may not have had the types. */
function toResponse(result: unknown): ToolResponse {
  if (typeof result === "string") return { message: result, breakLoop: false };
  const { message, breakLoop = false } = (result ?? {}) as Partial<ToolResponse>;
  if (typeof message === "string" && typeof breakLoop === "boolean") return { message, breakLoop };
  throw new TypeError("a local tool must return a text, or an object with a text `message`");
}
