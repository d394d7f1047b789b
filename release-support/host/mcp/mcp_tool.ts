import type { QualifiedToolName } from "../../../helpers/binding/names.ts";
import type { Agent } from "../agents/agent.ts";
import type { Tool, ToolArgs, ToolResponse } from "../agents/tool.ts";
import type { McpCallResult } from "./connection.ts";
import { McpFailure } from "./failure.ts";

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
    const { host, context } = this.#agent;
    host.enforceToolPolicy(this.#agent, this);
    try {
      const result = await this.#call(args, signal);
      return { message: result.isError ? `ERROR: ${result.text}` : result.text, breakLoop: false };
    } catch (error) {
      signal.throwIfAborted();
      const failure =
        error instanceof McpFailure ? error : new McpFailure("failed", "the call could not be made");
      context.log.log({
        type: "warning",
        heading: `MCP call of ${this.name} failed`,
        content: failure.message,
      });
      return { message: `ERROR: ${failure.remoteText ?? failure.message}`, breakLoop: false };
    }
  }
}
