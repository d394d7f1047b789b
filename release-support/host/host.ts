import { resolve } from "node:path";

import type { McpConfigurationView } from "../../helpers/host.ts";
import { AgentContext } from "./agents/agent.ts";
import type { Agent, AgentHost, ContextOptions, SubordinateModel } from "./agents/agent.ts";
import { makeBootReport } from "./extensions/boot_report.ts";
import type { BootReport } from "./extensions/boot_report.ts";
import { BUILT_IN_TOOLS } from "./agents/built_in_tools.ts";
import { RepairableException } from "./agents/exceptions.ts";
import { Extensions } from "./extensions/extensions.ts";
import { McpServers } from "./mcp/mcp_servers.ts";
import { layOutRoot } from "./root.ts";
import { RootWatcher } from "./extensions/root_watcher.ts";
import { findToolPolicy, isBlocked } from "./agents/tool_policy.ts";
import { localTool } from "./agents/local_tools.ts";
import type { LocalTools } from "./agents/local_tools.ts";
import type { Tool } from "./agents/tool.ts";

/** What a host is opened with. */
export interface HostOptions {
  /** The folder that holds `usr/` and `plugins/`; laid out if need be. */
  readonly root: string;
  /** Local tools beside the built-in ones, by name; a built-in one cannot be replaced. */
  readonly tools?: LocalTools;
  /** What the model of a subordinate agent says, turn by turn, to a message; without it there are none (SPEC H9). */
  readonly subordinateModel?: SubordinateModel;
  /** Whether changes of plugins, toggles and extensions take effect without a restart; they do unless this is `false`. */
  readonly watch?: boolean;
}

/**
 * An Agent Zero-style plugin host: one root with its plugins, extensions, projects, profiles and MCP servers. Several
 * can live in one process without touching each other (SPEC H1).
 */
export class Host implements AgentHost {
  readonly root: string;
  readonly localTools: LocalTools;
  readonly extensions: Extensions;
  readonly mcp: McpServers;
  readonly subordinateModel: SubordinateModel | null;
  readonly RepairableException = RepairableException;
  readonly #contexts = new Set<AgentContext>();
  #watcher: RootWatcher | null = null;
  #watchProblem: string | null = null;
  #openedInMs = 0;

  private constructor(root: string, extensions: Extensions, options: HostOptions) {
    this.root = root;
    this.localTools = { ...options.tools, ...BUILT_IN_TOOLS };
    this.subordinateModel = options.subordinateModel ?? null;
    this.extensions = extensions;
    this.mcp = new McpServers(root);
  }

  /**
   * Opens a host: lays out its root, loads its extensions, watches them, and connects to the globally configured MCP
   * servers. A server that cannot be reached does not keep the host from opening; the boot report names it.
   *
   * @throws Error when the root cannot be laid out; RestlessRootError when it does not stay the same for as long as
   *   loading takes; PluginRootError when its plugins cannot be listed
   */
  static async open(options: HostOptions): Promise<Host> {
    const begin = performance.now();
    const root = resolve(options.root);
    layOutRoot(root);
    const host = new Host(root, await Extensions.load(root), options);
    if (options.watch !== false) await host.#watch();
    await host.mcp.connect(null);
    host.#openedInMs = performance.now() - begin;
    return host;
  }

  /** What was loaded, from where, in which order, what it shadowed, and what was refused. */
  bootReport(selection: ContextOptions = {}): BootReport {
    return makeBootReport(this, selection, { ms: this.#openedInMs, watchProblem: this.#watchProblem });
  }

  /** Begins a conversation. */
  createContext(options: ContextOptions = {}): AgentContext {
    const context = new AgentContext(this, options);
    this.#contexts.add(context);
    return context;
  }

  /** See {@link AgentHost.vouchedMcpToolName}. */
  vouchedMcpToolName(tool: object): string | null {
    return this.mcp.vouchedName(tool);
  }

  /** See {@link AgentHost.mcpConfiguration}. */
  mcpConfiguration(agent: Agent): McpConfigurationView {
    return this.mcp.view(agent.context.project);
  }

  /** See {@link AgentHost.cancellation}. */
  cancellation(agent: Agent): AbortSignal {
    return agent.signal;
  }

  /** See {@link AgentHost.findTool}. */
  async findTool(agent: Agent, name: string): Promise<Tool> {
    return (await this.mcp.findTool(agent, name)) ?? localTool(this.localTools, agent, name);
  }

  /** See {@link AgentHost.enforceToolPolicy}. */
  enforceToolPolicy(agent: Agent, tool: Tool): void {
    const { profile } = agent.config;
    const policy = findToolPolicy({ root: this.root, project: agent.context.project, profile });
    if (!isBlocked(policy, tool.id)) return;
    throw new RepairableException(`Tool "${tool.name}" is blocked for agent profile "${profile}".`);
  }

  /** Cancels what is under way, stops watching, closes every connection. Safe to call twice. */
  async close(): Promise<void> {
    for (const context of this.#contexts) context.cancel();
    this.#contexts.clear();
    await Promise.all([this.#watcher?.close(), this.mcp.close()]);
  }

  async #watch(): Promise<void> {
    this.#watcher = await RootWatcher.start(this.root, {
      settled: () => void this.extensions.reload(),
      failed: (error) => this.#notWatching(error),
    });
    // What changed while the watcher was getting ready.
    await this.extensions.reload();
  }

  #notWatching(error: unknown): void {
    this.#watchProblem = `changes may not be seen until a restart (${error instanceof Error ? error.message : "unknown error"})`;
  }
}
