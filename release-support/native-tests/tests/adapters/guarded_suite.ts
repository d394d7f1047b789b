import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { fetchWithoutRedirects, guardTransport } from "../../../adapters/mcp-sdk/index.ts";
import type { DecisionRecord, GuardOptions } from "../../../adapters/mcp-sdk/index.ts";
import { startMcpServer } from "../../../fixtures/mcp_server.ts";
import type { McpServerFixture, McpServerOptions } from "../../../fixtures/mcp_server.ts";
import { startScriptedGuild } from "../../../guild/scripted_guild.ts";
import type { ScriptedGuild } from "../../../guild/scripted_guild.ts";

/** What a test of guarded transports works with. */
export interface GuardedSuite {
  /** Starts a server that is closed after the test. */
  readonly serve: (options?: Partial<McpServerOptions>) => Promise<McpServerFixture>;
  /** Connects the official client through a guard; closed after the test. */
  readonly connect: (url: string, options?: Partial<GuardOptions>) => Promise<Client>;
  /** Settings that protect `pub_server` at a URL, for loopback, with the suite's Guild. */
  readonly protecting: (url: string, more?: Readonly<Record<string, unknown>>) => Record<string, unknown>;
  /** Starts the Guild anew for each test. */
  readonly guild: () => ScriptedGuild;
  /** What `onDecision` got. */
  readonly decisions: DecisionRecord[];
  /** What else to do after the test, the last first. */
  readonly closings: (() => unknown)[];
}

/** Prepares the suite that this is called in. */
export function guardedSuite(): GuardedSuite {
  const closings: GuardedSuite["closings"] = [];
  const decisions: DecisionRecord[] = [];
  let running: ScriptedGuild | null = null;
  beforeEach(async () => {
    decisions.length = 0;
    const guild = await startScriptedGuild();
    running = guild;
    closings.push(() => guild.close());
  });
  afterEach(async () => {
    for (const close of closings.splice(0).toReversed()) await close();
  });

  const guild = (): ScriptedGuild => {
    if (running === null) throw new TypeError("the Guild runs in tests only");
    return running;
  };
  const protecting: GuardedSuite["protecting"] = (url, more = {}) => ({
    protected_servers: { pub_server: url },
    allow_private_hosts: true,
    fixture_guild_origin: guild().origin,
    ...more,
  });
  const serve: GuardedSuite["serve"] = async (options = {}) => {
    const server = await startMcpServer({ transport: "streamable_http", ...options });
    closings.push(() => server.close());
    return server;
  };
  const connect: GuardedSuite["connect"] = async (url, options = {}) => {
    const transport = new StreamableHTTPClientTransport(new URL(url), { fetch: fetchWithoutRedirects });
    const client = newClient();
    const guarded = guardTransport(transport, {
      server: "pub_server",
      url,
      settings: protecting(url),
      onDecision: (record) => decisions.push(record),
      ...options,
    });
    await client.connect(guarded);
    closings.push(() => client.close());
    return client;
  };
  return { serve, connect, protecting, guild, decisions, closings };
}

/** The official client. */
export function newClient(): Client {
  return new Client({ name: "native-tests", version: "1.0.0" });
}

/** The text of a tool's result, whether it is an error or not. */
export function textOf(result: unknown): string {
  const { content = [] } = result as { content?: { type: string; text?: string }[] };
  return content.map(({ text }) => text ?? "").join("\n");
}
