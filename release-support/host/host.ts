import { resolve } from "node:path";

import type { GateHost, McpConfigurationView } from "../../helpers/host.ts";
import type { Agent } from "./agent.ts";
import { AgentContext } from "./agent_context.ts";
import type { ContextOptions } from "./agent_context.ts";
import { RepairableException } from "./exceptions.ts";
import { Extensions } from "./extensions.ts";
import { McpServers } from "./mcp/mcp_servers.ts";
import { layOutRoot } from "./root.ts";
import { findToolPolicy, isBlocked } from "./tool_policy.ts";
import { BUILT_IN_TOOLS } from "./tools.ts";
import type { LocalTool, Tool } from "./tools.ts";

/** What a host is opened with. */
export interface HostOptions {
  /** The folder that holds `usr/` and `plugins/`; laid out if need be. */
  readonly root: string;
  /** Local tools beside the built-in ones, by name; a built-in one cannot be replaced. */
  readonly tools?: Readonly<Record<string, LocalTool>>;
}

/**
 * An Agent Zero-style plugin host: one root with its plugins, extensions, projects, profiles and MCP servers. Several
 * can live in one process without touching each other (SPEC H1).
 */
export class Host implements GateHost {
  readonly root: string;
  readonly localTools: Readonly<Record<string, LocalTool>>;
  readonly extensions: Extensions;
  readonly mcp: McpServers;
  readonly RepairableException = RepairableException;
  readonly #contexts = new Set<AgentContext>();

  private constructor({ root, tools }: HostOptions) {
    this.root = root;
    this.localTools = { ...tools, ...BUILT_IN_TOOLS };
    this.extensions = new Extensions(root);
    this.mcp = new McpServers(root);
  }

  /**
   * Opens a host: lays out its root and connects to the globally configured MCP servers. A server that cannot be
   * reached does not keep the host from opening; `mcp.problems()` names it.
   *
   * @throws Error when the root cannot be laid out
   */
  static async open(options: HostOptions): Promise<Host> {
    const root = resolve(options.root);
    layOutRoot(root);
    const host = new Host({ ...options, root });
    await host.mcp.connect(null);
    return host;
  }

  /** Begins a conversation. */
  createContext(options: ContextOptions = {}): AgentContext {
    const context = new AgentContext(this, options);
    this.#contexts.add(context);
    return context;
  }

  /** See {@link GateHost.vouchedMcpToolName}. */
  vouchedMcpToolName(tool: object): string | null {
    return this.mcp.vouchedName(tool);
  }

  /** See {@link GateHost.mcpConfiguration}. */
  mcpConfiguration(agent: Agent): McpConfigurationView {
    return this.mcp.view(agent.context.project);
  }

  /** See {@link GateHost.cancellation}. */
  cancellation(agent: Agent): AbortSignal {
    return agent.signal;
  }

  /**
   * Stops a call that the tool policy of the agent's project and profile blocks (SPEC H8).
   *
   * @throws RepairableException when it does
   */
  enforceToolPolicy(agent: Agent, tool: Tool): void {
    const { profile } = agent.config;
    const policy = findToolPolicy({ root: this.root, project: agent.context.project, profile });
    if (!isBlocked(policy, tool.id)) return;
    throw new RepairableException(`Tool "${tool.name}" is blocked for agent profile "${profile}".`);
  }

  /** Cancels what is under way and closes every connection. Safe to call twice. */
  async close(): Promise<void> {
    for (const context of this.#contexts) context.cancel();
    this.#contexts.clear();
    await this.mcp.close();
  }
}
