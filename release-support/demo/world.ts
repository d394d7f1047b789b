import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { once } from "node:events";

import { HostRoot } from "../fixtures/host_root.ts";
import { startMcpServer } from "../fixtures/mcp_server.ts";
import type { McpServerFixture } from "../fixtures/mcp_server.ts";
import { startScriptedGuild } from "../guild/scripted_guild.ts";
import type { ScriptedGuild } from "../guild/scripted_guild.ts";
import { Host } from "../host/host.ts";
import { packageRoot } from "../package_root.ts";

/** The names of the demo's remote MCP servers. */
const REMOTE_SERVERS = ["pub_server", "open_server", "twin_server"] as const;

/** What the demo plays in: a host root with the plugin installed, real MCP servers, the scripted Guild. */
export class DemoWorld {
  readonly root: HostRoot;
  readonly guild: ScriptedGuild;
  readonly host: Host;
  readonly urls: Readonly<Record<(typeof REMOTE_SERVERS)[number], string>>;
  /** An origin at which nobody listens. */
  readonly deadOrigin: string;
  readonly #servers: readonly McpServerFixture[];

  private constructor(
    parts: Pick<DemoWorld, "root" | "guild" | "host" | "urls" | "deadOrigin">,
    servers: readonly McpServerFixture[],
  ) {
    this.root = parts.root;
    this.guild = parts.guild;
    this.host = parts.host;
    this.urls = parts.urls;
    this.deadOrigin = parts.deadOrigin;
    this.#servers = servers;
  }

  /** Starts everything on free loopback ports, the plugin installed in a fresh root as an operator would. */
  static async open(): Promise<DemoWorld> {
    const guild = await startScriptedGuild();
    const [pub, open, twin] = await Promise.all([
      startMcpServer({ transport: "streamable_http" }),
      startMcpServer({ transport: "sse" }),
      startMcpServer({ transport: "streamable_http" }),
    ]);
    const urls = { pub_server: pub.url, open_server: open.url, twin_server: twin.url };
    const root = new HostRoot();
    root.installPlugin("copied");
    root.writeMcpServers(mcpServers(urls));
    const host = await Host.open({ root: root.path });
    return new DemoWorld({ root, guild, host, urls, deadOrigin: await unusedOrigin() }, [pub, open, twin]);
  }

  /** How many requests reached the Guild so far, and how many tool calls the MCP servers. */
  counts(): { readonly guildRequests: number; readonly toolCalls: number } {
    const toolCalls = this.#servers.reduce((sum, { toolCalls: calls }) => sum + calls.length, 0);
    return { guildRequests: this.guild.requests.length, toolCalls };
  }

  /** Writes the plugin's configuration: `pub_server` is protected, and what a scenario adds. */
  configure(more: Readonly<Record<string, unknown>> = {}): void {
    this.root.writeConfig({
      protected_servers: { pub_server: this.urls.pub_server },
      allow_private_hosts: true,
      fixture_guild_origin: this.guild.origin,
      cache_ttl_seconds: 0,
      ...more,
    });
  }

  /** Writes the host's MCP servers; what a scenario adds comes last. */
  configureServers(more: Readonly<Record<string, unknown>> = {}): void {
    this.root.writeMcpServers(mcpServers(this.urls, more));
  }

  async close(): Promise<void> {
    await this.host.close();
    await Promise.all([this.guild, ...this.#servers].map((one) => one.close()));
    this.root.remove();
  }
}

function mcpServers(urls: Readonly<Record<string, string>>, more: Readonly<Record<string, unknown>> = {}) {
  const script = `${packageRoot}/dist/release-support/fixtures/stdio_server.js`;
  return {
    mcpServers: {
      pub_server: { url: urls["pub_server"], type: "streamable-http" },
      open_server: { url: urls["open_server"], type: "sse" },
      "Twin-Server": { url: urls["twin_server"], type: "streamable-http" },
      "twin server": { url: urls["twin_server"], type: "streamable-http" },
      desk_server: { command: process.execPath, args: [script] },
      ...more,
    },
  };
}

async function unusedOrigin(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return `http://127.0.0.1:${port}`;
}
