import type { Agent } from "./agent.ts";
import type { ToolId } from "./tool_policy.ts";

/** The arguments of a tool call: whatever the model sent. */
export type ToolArgs = Record<string, unknown>;

/** What a tool call brought. */
export interface ToolResponse {
  /** What the model is told. */
  readonly message: string;
  /** Whether the loop ends with this message. */
  readonly breakLoop: boolean;
}

/** A tool that an agent is about to run: made for one call, as in the framework. */
export interface Tool {
  /** The name it was found under. */
  readonly name: string;
  /** What the tool policy knows it by. */
  readonly id: ToolId;
  /** Comes before the extensions of `tool_execute_before`, hence before anybody could object. */
  beforeExecution?(args: ToolArgs, signal: AbortSignal): void | Promise<void>;
  execute(args: ToolArgs, signal: AbortSignal): Promise<ToolResponse>;
  /** Comes behind the extensions of `tool_execute_after`. */
  afterExecution?(response: ToolResponse, signal: AbortSignal): void | Promise<void>;
}

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

/** The tool `unknown`. */
const UNKNOWN: LocalTool = () => "There is no tool of this name.";

/**
 * Finds a local tool by its exact name, or gives the `unknown` tool, which tells the model that there is none
 * (SPEC H6).
 */
export function localTool(agent: Agent, name: string): Tool {
  const tools = agent.host.localTools;
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
