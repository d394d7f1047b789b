import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { FrontDoor } from "../demo/front_door.ts";
import { startMcpServer } from "../fixtures/mcp_server.ts";
import type { McpServerFixture } from "../fixtures/mcp_server.ts";
import { startLiveGuild } from "../guild/live_guild.ts";
import type { LiveGuild } from "../guild/live_guild.ts";

/** What a host runs in: a folder of its own, a real MCP server behind a door, and a Guild that really probes it. */
export class HostWorld {
  /** The host's home and project: `home/`, `project/`. */
  readonly folder: string;
  readonly server: McpServerFixture;
  readonly door: FrontDoor;
  readonly guild: LiveGuild;
  /** An origin at which nobody listens. */
  readonly deadOrigin: string;

  private constructor(parts: Pick<HostWorld, "server" | "door" | "guild" | "deadOrigin">) {
    this.folder = realpathSync(mkdtempSync(join(tmpdir(), "agent-guild-hosts-")));
    this.server = parts.server;
    this.door = parts.door;
    this.guild = parts.guild;
    this.deadOrigin = parts.deadOrigin;
    for (const folder of ["home", "project"]) mkdirSync(join(this.folder, folder));
  }

  static async open(): Promise<HostWorld> {
    const [server, guild, deadOrigin] = await Promise.all([
      startMcpServer({ transport: "streamable_http" }),
      startLiveGuild({ allowLoopback: true }),
      unusedOrigin(),
    ]);
    return new HostWorld({ server, guild, deadOrigin, door: await FrontDoor.open(server.url) });
  }

  /** The URL of the server `pub_server`. */
  get url(): string {
    return this.door.url;
  }

  /** Settings that protect it, for loopback. */
  settings(more: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
    return {
      protected_servers: { pub_server: this.url },
      allow_private_hosts: true,
      fixture_guild_origin: this.guild.origin,
      ...more,
    };
  }

  /** Writes a file below the folder, what is no text as JSON, and gives its absolute path. */
  write(path: string, content: unknown): string {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content, null, 2));
    return file;
  }

  async close(): Promise<void> {
    await Promise.all([this.door, this.guild, this.server].map((part) => part.close()));
    rmSync(this.folder, { recursive: true });
  }
}

async function unusedOrigin(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return `http://127.0.0.1:${port}`;
}
