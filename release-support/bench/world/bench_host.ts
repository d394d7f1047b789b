import { HostRoot } from "../../fixtures/host_root.ts";
import type { Agent } from "../../host/agents/agent.ts";
import { dispatch } from "../../host/agents/dispatch.ts";
import { Host } from "../../host/host.ts";
import type { Servers } from "./servers.ts";

/** What a measured host is made of. */
export interface BenchHostOptions {
  /** The plugin's global configuration; `null` installs it and configures nothing, without it there is no plugin. */
  readonly config?: Readonly<Record<string, unknown>> | null;
  /** The names under which the one MCP server is configured; `pub_server` by default. */
  readonly serverNames?: readonly string[];
  /** What else to prepare in the root before the host opens. */
  readonly prepare?: (root: HostRoot) => void;
}

/** A host that is measured. */
export interface BenchHost {
  readonly host: Host;
  readonly agent: Agent;
  /** Dispatches one call, which must answer. */
  call(name?: string): Promise<void>;
  close(): Promise<void>;
}

/** Opens a host in a temporary root, connected to the MCP server of a case. */
export async function openBenchHost(
  { mcpUrl }: Servers,
  { config, serverNames = ["pub_server"], prepare }: BenchHostOptions,
): Promise<BenchHost> {
  const root = new HostRoot();
  const entries = serverNames.map((name) => [name, { url: mcpUrl, type: "http" }]);
  root.writeMcpServers({ mcpServers: Object.fromEntries(entries) as unknown });
  if (config !== undefined) root.installPlugin();
  if (config !== undefined && config !== null) root.writeConfig(config);
  prepare?.(root);
  const host = await Host.open({ root: root.path });
  const { agent0: agent } = host.createContext();
  return {
    host,
    agent,
    async call(name = `${serverNames[0]}.echo`) {
      const { message } = await dispatch(agent, { name, args: { text: "x" } });
      if (message !== "x") throw new Error(`a measured call failed: ${message}`);
    },
    async close() {
      await host.close();
      root.remove();
    },
  };
}

/** A configuration that protects servers of a case by their names. */
export function protecting(
  { mcpUrl, guildOrigin }: Servers,
  names: readonly string[] = ["pub_server"],
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return {
    protected_servers: Object.fromEntries(names.map((name) => [name, mcpUrl])),
    allow_private_hosts: true,
    fixture_guild_origin: guildOrigin,
    cache_ttl_seconds: 86_400,
    ...more,
  };
}
