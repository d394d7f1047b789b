import type { McpConfigurationView, McpServerView } from "../../../helpers/host.ts";
import { splitToolName } from "../../../helpers/binding/names.ts";
import type { QualifiedToolName } from "../../../helpers/binding/names.ts";
import type { Agent } from "../agents/agent.ts";
import { McpFailure } from "../../mcp/failure.ts";
import { textOf } from "../../mcp/results.ts";
import { readMcpConfiguration } from "./current_configuration.ts";
import type { McpConfiguration } from "./current_configuration.ts";
import type { McpServer } from "./configuration.ts";
import { typeWarning } from "./entry_type.ts";
import { McpTool } from "./mcp_tool.ts";
import type { McpCallResult } from "./mcp_tool.ts";
import { ServerConnections } from "./server_connections.ts";
import { allToolNames, hasTool } from "./tool_lookup.ts";
import type { ListedServer } from "./tool_lookup.ts";
import { unlessAborted } from "../../within.ts";

/** The MCP side of one host: which servers an agent can reach, their tools, and the calls to them (SPEC H5). */
export class McpServers {
  readonly #root: string;
  readonly #connections = new ServerConnections();
  /** The configuration of each project that was asked for, for as long as its text stays the same. */
  readonly #configurations = new Map<string | null, McpConfiguration>();
  /** Whether a configuration has changed since connections were last retired. */
  #hasChanged = false;
  /** Every tool object that this host made: the registry behind {@link vouchedName}. */
  readonly #tools = new WeakMap<object, string>();

  /** @param root - the host root */
  constructor(root: string) {
    this.#root = root;
  }

  /**
   * The servers that a project's agents can reach, from the configuration files as they are now. Opens, closes and
   * sends nothing.
   *
   * @param project - the project, or `null` for the global configuration
   */
  configuration(project: string | null): McpConfiguration {
    const known = this.#configurations.get(project);
    const current = readMcpConfiguration(this.#root, project, known);
    this.#configurations.set(project, current);
    if (current !== known) this.#hasChanged = true;
    return current;
  }

  /** What the gate is told about the same configuration: cached state, nothing is opened or sent (SPEC P5). */
  view(project: string | null): McpConfigurationView {
    const { servers, collidingNames } = this.configuration(project);
    return { servers: servers.map((server) => this.#viewOf(server)), collidingNames };
  }

  /** Connects to every server that a project's agents can reach; those that fail say so in {@link problems}. */
  async connect(project: string | null): Promise<void> {
    const servers = this.#serversNow(project);
    await Promise.all(servers.map((server) => this.#connections.open(server)));
  }

  /** Why servers of a configuration cannot be used, by name: for people, not for a model. */
  problems(project: string | null): { readonly name: string; readonly problem: string }[] {
    const { servers, disconnected, problem: whole } = this.configuration(project);
    return [
      ...(whole === null ? [] : [{ name: "(all)", problem: whole }]),
      ...disconnected.map(({ name, reason }) => ({ name, problem: reason })),
      ...servers.flatMap((server) => {
        const problem = this.#connections.problem(server);
        return problem === null ? [] : [{ name: server.name, problem }];
      }),
    ];
  }

  /** What is doubtful about servers of a configuration that can be used all the same, by name (SPEC H12). */
  warnings(project: string | null): { readonly name: string; readonly warning: string }[] {
    return this.configuration(project).servers.flatMap((server) => {
      const warning = typeWarning(server);
      return warning === null ? [] : [{ name: server.name, warning }];
    });
  }

  /**
   * What the local servers of a configuration wrote on their standard error, by name: for people, not for a model. The
   * end of it, without control characters.
   */
  logs(project: string | null): { readonly name: string; readonly text: string }[] {
    const { servers } = this.configuration(project);
    return servers.flatMap((server) => {
      const text = this.#connections.log(server);
      return text === "" ? [] : [{ name: server.name, text }];
    });
  }

  /** The qualified names of all tools that were listed and are not disabled, server by server. */
  toolNames(project: string | null): string[] {
    return allToolNames(this.#listed(this.configuration(project).servers));
  }

  /**
   * Looks a name up among the MCP tools of the agent's configuration, as the framework does: the first server of that
   * name counts, and only tools that it lists and that are not disabled (vectors `mcp_has_tool`). Where the list has no
   * such tool, the server is asked for its list once more.
   *
   * @returns a tool object made for this one call, or `null`
   * @throws the reason of the agent's cancellation when that fires
   */
  async findTool(agent: Agent, name: string): Promise<McpTool | null> {
    const parts = splitToolName(name);
    const server = this.#serversNow(agent.context.project).find((one) => one.name === parts?.server);
    if (parts === null || server === undefined || server.disabledTools.includes(parts.tool)) return null;
    if (!this.#exposes(server, parts.tool)) {
      await unlessAborted(agent.signal, () => this.#connections.discover(server));
      if (!this.#exposes(server, parts.tool)) return null;
    }
    const tool = new McpTool(name, parts, agent, (args, signal) =>
      this.callTool(agent.context.project, parts, args, signal),
    );
    this.#tools.set(tool, name);
    return tool;
  }

  /** The qualified name of a tool object that this host made itself, else `null` (SPEC P1.3). */
  vouchedName(tool: object): string | null {
    return this.#tools.get(tool) ?? null;
  }

  /**
   * Calls a tool: the call goes to the first server of that name that has it, over the connection that was opened
   * for its very entry.
   *
   * @throws McpFailure when there is none, or the call fails; the reason of `signal` when that fires
   */
  async callTool(
    project: string | null,
    { server, tool }: QualifiedToolName,
    args: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<McpCallResult> {
    const target = this.#serversNow(project).find((one) => one.name === server && this.#exposes(one, tool));
    if (target === undefined) throw McpFailure.notSent("no configured server offers the tool any more");
    const result = await this.#connections.call(target, tool, args, signal);
    return { text: textOf(result), isError: result.isError };
  }

  /** Closes every connection. */
  async close(): Promise<void> {
    await this.#connections.close();
  }

  /** The servers as they are configured now; connections of entries that are not any more are retired. */
  #serversNow(project: string | null): readonly McpServer[] {
    const { servers } = this.configuration(project);
    if (this.#hasChanged) {
      this.#hasChanged = false;
      this.#connections.keepOnly([...this.#configurations.values()].flatMap((one) => one.servers));
    }
    return servers;
  }

  #exposes(server: McpServer, tool: string): boolean {
    return hasTool(this.#listed([server]), `${server.name}.${tool}`);
  }

  #listed(servers: readonly McpServer[]): ListedServer[] {
    return servers.map((server) => ({
      name: server.name,
      disabledTools: server.disabledTools,
      tools: this.#connections.tools(server).map(({ name }) => name),
    }));
  }

  #viewOf(server: McpServer): McpServerView {
    if (server.kind !== "remote") return { kind: "local", name: server.name };
    return {
      kind: "remote",
      name: server.name,
      url: server.url,
      exposes: (tool) => this.#exposes(server, tool),
    };
  }
}
