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
  execute(args: ToolArgs, signal: AbortSignal): Promise<ToolResponse>;
}

/** A tool that runs in the host's own process. */
export type LocalTool = (
  args: ToolArgs,
  call: { readonly agent: Agent; readonly signal: AbortSignal },
) => string | ToolResponse | Promise<string | ToolResponse>;

/**
 * Finds a local tool by its exact name, or gives the `unknown` tool, which tells the model that there is none
 * (SPEC H6).
 */
export function localTool(agent: Agent, name: string): Tool {
  const tools = agent.host.localTools;
  const run = Object.hasOwn(tools, name) ? tools[name] : undefined;
  return {
    name,
    id: `local:${name}`,
    async execute(args, signal) {
      if (run === undefined) return { message: "There is no tool of this name.", breakLoop: false };
      const result = await run(args, { agent, signal });
      return typeof result === "string" ? { message: result, breakLoop: false } : result;
    },
  };
}
