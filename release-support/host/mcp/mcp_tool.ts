import type { QualifiedToolName } from "../../../helpers/binding/names.ts";
import type { Agent } from "../agents/agent.ts";
import type { Tool, ToolArgs, ToolResponse } from "../agents/tool.ts";
import { McpFailure } from "../../mcp/failure.ts";

/** What a tool call brought, as text. */
export interface McpCallResult {
  readonly text: string;
  /** Whether the tool itself says that it failed. */
  readonly isError: boolean;
}

/** Makes the call, to whichever server has the tool when it is made. */
export type McpCall = (args: ToolArgs, signal: AbortSignal) => Promise<McpCallResult>;

/** A tool of an MCP server, made for one call. */
export class McpTool implements Tool {
  readonly name: string;
  readonly id: `mcp:${string}:${string}`;
  readonly #agent: Agent;
  readonly #call: McpCall;

  constructor(name: string, parts: QualifiedToolName, agent: Agent, call: McpCall) {
    this.name = name;
    this.id = `mcp:${parts.server}:${parts.tool}`;
    this.#agent = agent;
    this.#call = call;
    Object.freeze(this);
  }

  /**
   * Asks the tool policy once more and calls the server. A call that fails is a result that says so, as in the
   * framework; it does not throw (SPEC H8).
   *
   * @throws RepairableException when the tool policy blocks the tool; the reason of `signal` when that fires
   */
  async execute(args: ToolArgs, signal: AbortSignal): Promise<ToolResponse> {
    this.#agent.host.enforceToolPolicy(this.#agent, this);
    try {
      const result = await this.#call(args, signal);
      if (!result.isError) return { message: result.text, breakLoop: false };
      this.#warn("the tool says that it failed");
      return { message: `ERROR: ${result.text}`, breakLoop: false };
    } catch (error) {
      signal.throwIfAborted();
      const isKnown = error instanceof McpFailure;
      const failure = isKnown ? error : McpFailure.unknownEnd("the call could not be made");
      this.#warn(failure.told);
      return { message: `ERROR: ${failure.remoteText ?? failure.told}`, breakLoop: false };
    }
  }

  /** What the log shows beside the result; nothing in it was written by the server (SPEC H5). */
  #warn(content: string): void {
    const heading = `MCP call of ${this.name} failed`;
    this.#agent.context.log.log({ type: "warning", heading, content });
  }
}
