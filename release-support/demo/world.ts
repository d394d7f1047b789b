import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { once } from "node:events";

import { CallRecorder } from "../host/call_recorder.ts";
import { HostRoot } from "../fixtures/host_root.ts";
import { startMcpServer } from "../fixtures/mcp_server.ts";
import type { McpServerFixture } from "../fixtures/mcp_server.ts";
import { startLiveGuild } from "../guild/live_guild.ts";
import type { LiveGuild } from "../guild/live_guild.ts";
import { startScriptedGuild } from "../guild/scripted_guild.ts";
import type { ScriptedGuild } from "../guild/scripted_guild.ts";
import { Host } from "../host/host.ts";
import { packageRoot } from "../packaging/package_root.ts";
import { paidCard, signedCard, unsignedCard } from "./agent_cards.ts";
import { FrontDoor } from "./front_door.ts";

/** Where the demo's remote MCP servers listen, by name. */
export type ServerUrls = Readonly<Record<ServerName, string>>;

/** The names of the demo's remote MCP servers. */
type ServerName = keyof Awaited<ReturnType<typeof startServers>>;

/** What the demo plays in: a host root with the plugin installed, real MCP servers, a Guild that really probes them. */
export class DemoWorld {
  readonly root: HostRoot;
  readonly host: Host;
  readonly recorder: CallRecorder;
  /** The Guild that probes, for loopback. */
  readonly guild: LiveGuild;
  /** A Guild that misbehaves as it is told: synthetic. */
  readonly scriptedGuild: ScriptedGuild;
  /** What stands in front of `pub_server`. */
  readonly frontDoor: FrontDoor;
  readonly urls: ServerUrls;
  /** An origin at which nobody listens. */
  readonly deadOrigin: string;
  readonly #servers: Readonly<Record<ServerName, McpServerFixture>>;

  private constructor(
    parts: Pick<DemoWorld, "root" | "host" | "guild" | "scriptedGuild" | "frontDoor" | "urls" | "deadOrigin">,
    servers: Readonly<Record<ServerName, McpServerFixture>>,
  ) {
    this.root = parts.root;
    this.host = parts.host;
    this.recorder = new CallRecorder(parts.host);
    this.guild = parts.guild;
    this.scriptedGuild = parts.scriptedGuild;
    this.frontDoor = parts.frontDoor;
    this.urls = parts.urls;
    this.deadOrigin = parts.deadOrigin;
    this.#servers = servers;
  }

  /** Starts everything on free loopback ports, the plugin installed in a fresh root as an operator would. */
  static async open(): Promise<DemoWorld> {
    const [guild, scriptedGuild, servers, deadOrigin] = await Promise.all([
      startLiveGuild({ allowLoopback: true }),
      startScriptedGuild(),
      startServers(),
      unusedOrigin(),
    ]);
    const frontDoor = await FrontDoor.open(servers.pub_server.url);
    const urls = { ...urlsOf(servers), pub_server: frontDoor.url };
    const root = new HostRoot();
    root.installPlugin("copied");
    root.writeMcpServers(mcpServers(urls));
    const host = await Host.open({ root: root.path });
    return new DemoWorld({ root, host, guild, scriptedGuild, frontDoor, urls, deadOrigin }, servers);
  }

  /** One of the servers. */
  server(name: ServerName): McpServerFixture {
    return this.#servers[name];
  }

  /** How many requests reached the Guild so far, and how many tool calls the MCP servers. */
  counts(): { readonly guildRequests: number; readonly toolCalls: number } {
    return {
      guildRequests: this.guild.requests + this.scriptedGuild.requests.length,
      toolCalls: Object.values(this.#servers).reduce((sum, { toolCalls }) => sum + toolCalls.length, 0),
    };
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

  /** Writes the plugin's configuration: one server is protected, and what a scenario adds. */
  protect(server: ServerName, more: Readonly<Record<string, unknown>> = {}): void {
    this.configure({ protected_servers: { [server]: this.urls[server] }, ...more });
  }

  /** Writes the host's MCP servers; what a scenario adds comes last. */
  configureServers(more: Readonly<Record<string, unknown>> = {}): void {
    this.root.writeMcpServers(mcpServers(this.urls, more));
  }

  async close(): Promise<void> {
    await this.host.close();
    const others = [this.guild, this.scriptedGuild, this.frontDoor, ...Object.values(this.#servers)];
    await Promise.all(others.map((one) => one.close()));
    this.root.remove();
  }
}

async function startServers() {
  const start = (documents = {}) => startMcpServer({ transport: "streamable_http", documents });
  const card = (json: object) => ({ "/.well-known/agent-card.json": { status: 200, json } });
  const bill = { "/": { status: 402, json: { error: "payment required" } } };
  const [pub, open, twin, unsigned, signed, paid, news] = await Promise.all([
    start(),
    start(),
    start(),
    start(card(unsignedCard)),
    start(card(signedCard)),
    start({ ...card(paidCard), ...bill }),
    startMcpServer({ transport: "sse" }),
  ]);
  return {
    pub_server: pub,
    open_server: open,
    twin_server: twin,
    card_server: unsigned,
    seal_server: signed,
    paid_server: paid,
    news_server: news,
  };
}

function urlsOf(servers: Readonly<Record<ServerName, McpServerFixture>>): ServerUrls {
  const entries = Object.entries(servers).map(([name, { url }]) => [name, url] as const);
  return Object.fromEntries(entries) as Record<ServerName, string>;
}

function mcpServers(urls: ServerUrls, more: Readonly<Record<string, unknown>> = {}) {
  const { twin_server: twin, news_server: news, ...others } = urls;
  const streaming = (url: string) => ({ url, type: "streamable-http" });
  const script = `${packageRoot}/dist/release-support/fixtures/stdio_server.js`;
  return {
    mcpServers: {
      ...Object.fromEntries(Object.entries(others).map(([name, url]) => [name, streaming(url)])),
      news_server: { url: news, type: "sse" },
      "Twin-Server": streaming(twin),
      "twin server": streaming(twin),
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
