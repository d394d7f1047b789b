import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Where the servers of a case listen, on loopback. */
export interface Servers {
  /** A streamable HTTP server with the tools `search` and `echo`. */
  readonly mcpUrl: string;
  /** A Guild that finds every endpoint healthy. */
  readonly guildOrigin: string;
}

/** Runs a case with servers in another process; they end with it. */
export async function withServers<Result>(use: (servers: Servers) => Promise<Result>): Promise<Result> {
  const child = fork(fileURLToPath(new URL("servers_process.js", import.meta.url)), { execArgv: [] });
  const ended = once(child, "exit");
  try {
    const [servers] = (await once(child, "message")) as [Servers];
    return await use(servers);
  } finally {
    child.disconnect();
    await ended;
  }
}
