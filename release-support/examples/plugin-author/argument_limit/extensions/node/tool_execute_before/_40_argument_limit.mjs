/// <reference types="node" />

/** As many bytes of arguments as one call of an MCP tool may carry. */
const MAX_BYTES = 1000;

/** Stops a call of an MCP tool that carries more than that. Local tools may get as much as they like. */
export default class ArgumentLimit {
  #agent;

  /** @param {import("agent-guild-preflight/host").Agent} agent */
  constructor(agent) {
    this.#agent = agent;
  }

  /** @param {{ toolArgs: import("agent-guild-preflight/host").ToolArgs }} kwargs */
  execute({ toolArgs }) {
    const { host, loopData } = this.#agent;
    // The host knows its own MCP tools; a name proves nothing.
    if (loopData.currentTool === null || host.vouchedMcpToolName(loopData.currentTool) === null) return;
    const bytes = Buffer.byteLength(JSON.stringify(toolArgs, withoutBigints));
    if (bytes <= MAX_BYTES) return;
    throw new host.RepairableException(
      `argument_limit: ${bytes} bytes of arguments are too many. Send at most ${MAX_BYTES}.`,
    );
  }
}

/**
 * A model may send integers that JSON.stringify refuses.
 *
 * @param {string} _name
 * @param {unknown} value
 */
function withoutBigints(_name, value) {
  return typeof value === "bigint" ? String(value) : value;
}
