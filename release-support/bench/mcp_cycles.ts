/**
 * Opens and closes hosts again and again (SPEC H5): 1,000 times one with two HTTP servers, 50 times one with a stdio
 * server. Shows what the process holds before and after; exits with 1 when anything has grown.
 * The heap also holds what the test servers record of every request.
 * `node --expose-gc dist/release-support/bench/mcp_cycles.js [HTTP_CYCLES] [STDIO_CYCLES]`
 */
import { isDeepStrictEqual } from "node:util";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { HostRoot } from "../fixtures/host_root.ts";
import { startMcpServer } from "../fixtures/mcp_server.ts";
import { Host } from "../host/host.ts";

const HTTP_CYCLES = Number(process.argv[2] ?? 1000);
const STDIO_CYCLES = Number(process.argv[3] ?? 50);
const STDIO_SERVER = fileURLToPath(new URL("../fixtures/stdio_server.js", import.meta.url));

/** What the process holds. */
interface Holding {
  readonly handles: Readonly<Record<string, number>>;
  readonly processListeners: number;
  readonly heapMb: number;
}

async function holding(): Promise<Holding> {
  // Handles go in the turns after they were closed.
  await delay(50);
  globalThis.gc?.();
  const handles: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) handles[kind] = (handles[kind] ?? 0) + 1;
  return {
    handles,
    processListeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
    heapMb: Math.round(process.memoryUsage().heapUsed / 1024 / 1024),
  };
}

async function cycle(root: HostRoot, servers: readonly string[]): Promise<void> {
  const host = await Host.open({ root: root.path });
  const { signal } = new AbortController();
  for (const server of servers) {
    await host.mcp.callTool(null, { server, tool: "echo" }, { text: "x" }, signal);
  }
  await host.close();
}

async function repeat(
  what: string,
  root: HostRoot,
  servers: readonly string[],
  times: number,
): Promise<void> {
  for (let warmUp = 0; warmUp < 3; warmUp += 1) await cycle(root, servers);
  const before = await holding();
  const begin = performance.now();
  for (let done = 0; done < times; done += 1) await cycle(root, servers);
  const ms = (performance.now() - begin) / times;
  const after = await holding();
  console.log(`${what}: ${times} cycles, ${ms.toFixed(1)} ms each`);
  console.log(`  before ${JSON.stringify(before)}`);
  console.log(`  after  ${JSON.stringify(after)}`);
  const isEqual =
    isDeepStrictEqual(before.handles, after.handles) && before.processListeners === after.processListeners;
  if (!isEqual) process.exitCode = 1;
  root.remove();
}

let warnings = 0;
process.on("warning", () => {
  warnings += 1;
});

const streamable = await startMcpServer({ transport: "streamable_http" });
const sse = await startMcpServer({ transport: "sse" });
const remote = new HostRoot();
remote.writeMcpServers({
  mcpServers: {
    streamable: { url: streamable.url, type: "http" },
    sse: { url: sse.url, type: "sse" },
  },
});
await repeat("two HTTP servers", remote, ["streamable", "sse"], HTTP_CYCLES);
await Promise.all([streamable.close(), sse.close()]);

const local = new HostRoot();
local.writeMcpServers({
  mcpServers: { local: { command: `'${process.execPath}'`, args: [STDIO_SERVER] } },
});
await repeat("a stdio server", local, ["local"], STDIO_CYCLES);
console.log(`warnings: ${warnings}`);
if (warnings > 0) process.exitCode = 1;
