import type { EndpointSession } from "./endpoint_session.ts";
import { boundDescription } from "./prompt_bounds.ts";
import type { PromptBounds } from "./prompt_bounds.ts";
import type { ToolDescription } from "./prompt_executor.ts";
import type { OpenedEndpoint } from "./open_endpoints.ts";

/** A tool together with the one connection that it is called on and the endpoint that the guard asks about. */
export interface RegisteredTool {
  readonly description: ToolDescription;
  readonly endpoint: string;
  readonly connection: EndpointSession;
}

/** A tool as the model is offered it, and the URL of the endpoint that it belongs to. */
export interface OfferedTool extends ToolDescription {
  readonly endpoint: string;
}

/** The agent's tools by name, fixed when it is created; of tools with one name the first wins (SPEC G3, G8). */
export class ToolRegistry {
  /** What the model is offered, in the order of registration. */
  readonly descriptions: readonly ToolDescription[];
  readonly offered: readonly OfferedTool[];
  readonly #tools: ReadonlyMap<string, RegisteredTool>;

  /** @param endpoints - in the order in which they are registered */
  constructor(endpoints: readonly OpenedEndpoint[], bounds: PromptBounds) {
    const byName = new Map<string, RegisteredTool>();
    for (const opened of endpoints) {
      if (opened.kind !== "open") continue;
      const { endpoint, session: connection } = opened;
      for (const tool of connection.tools) {
        const description = boundDescription(tool, bounds);
        if (description === null || byName.has(tool.name)) continue;
        if (endpoint.tools !== null && !endpoint.tools.has(tool.name)) continue;
        byName.set(tool.name, Object.freeze({ description, endpoint: endpoint.url, connection }));
      }
    }
    this.#tools = byName;
    this.descriptions = Object.freeze([...byName.values()].map((tool) => tool.description));
    this.offered = Object.freeze(
      [...byName.values()].map(({ description, endpoint }) => Object.freeze({ ...description, endpoint })),
    );
  }

  /** The tool of exactly that name. */
  select(name: string): RegisteredTool | undefined {
    return this.#tools.get(name);
  }
}
