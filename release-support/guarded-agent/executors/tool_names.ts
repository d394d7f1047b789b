import { createHash } from "node:crypto";

import type { ToolDescription } from "../prompt_executor.ts";

/** The names that every provider takes for a tool. MCP allows more. */
const TAKEN_BY_ALL = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Gives a tool's name as a provider takes it: as it is where that is possible, else its letters and digits with a mark
 * that depends on the whole name.
 */
export function providerName(name: string): string {
  if (TAKEN_BY_ALL.test(name)) return name;
  const mark = createHash("sha256").update(name).digest("hex").slice(0, 12);
  return `${name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 51)}_${mark}`;
}

/** The tools of one prompt under the names that its provider knows them by. */
export class ProviderTools {
  readonly #byName = new Map<string, ToolDescription>();

  /** @param tools - of two that a provider could not tell apart, the first is offered */
  constructor(tools: readonly ToolDescription[]) {
    for (const tool of tools) {
      const name = providerName(tool.name);
      if (!this.#byName.has(name)) this.#byName.set(name, tool);
    }
  }

  /** Name and tool, in order. */
  get entries(): readonly (readonly [name: string, tool: ToolDescription])[] {
    return [...this.#byName];
  }

  /** The tool's own name behind a name that a model wrote; one that nothing stands behind stays as it is. */
  ownName(name: string): string {
    return this.#byName.get(name)?.name ?? name;
  }
}
