import type { McpConnection } from "./mcp_connection.ts";
import type { ToolDescription } from "./prompt_executor.ts";

/** A tool together with the one connection that it is called on and the endpoint that the guard asks about. */
export interface RegisteredTool {
  readonly description: ToolDescription;
  readonly endpoint: string;
  readonly connection: McpConnection;
}

/** The tools of one endpoint, in the order of its list. */
export interface EndpointTools {
  readonly endpoint: string;
  readonly connection: McpConnection;
  readonly tools: readonly ToolDescription[];
}

/** The agent's tools by name, fixed when it is created; of tools with one name the first wins (SPEC G3, G8). */
export class ToolRegistry {
  /** What the model is offered, in the order of registration. */
  readonly descriptions: readonly ToolDescription[];
  readonly #tools: ReadonlyMap<string, RegisteredTool>;

  /** @param endpoints - in the order in which they are registered */
  constructor(endpoints: readonly EndpointTools[]) {
    const byName = new Map<string, RegisteredTool>();
    for (const { endpoint, connection, tools } of endpoints) {
      for (const description of tools) {
        if (byName.has(description.name)) continue;
        byName.set(description.name, Object.freeze({ description, endpoint, connection }));
      }
    }
    this.#tools = byName;
    this.descriptions = Object.freeze([...byName.values()].map((tool) => tool.description));
  }

  /** The tool of exactly that name. */
  select(name: string): RegisteredTool | undefined {
    return this.#tools.get(name);
  }
}
