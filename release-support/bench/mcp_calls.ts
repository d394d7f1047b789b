/**
 * Many calls of a fast tool over one MCP connection (SPEC H5): what a call takes with all of them at once, against 64 at
 * a time. `node dist/release-support/bench/mcp_calls.js [CALLS]`
 */
import { fileURLToPath } from "node:url";

import { HostRoot } from "../fixtures/host_root.ts";
import { startMcpServer } from "../fixtures/mcp_server.ts";
import type { McpServerFixture, McpServerOptions } from "../fixtures/mcp_server.ts";
import { Host } from "../host/host.ts";

const CALLS = Number(process.argv[2] ?? 2000);
const ROUNDS = 5;
const STDIO_SERVER = fileURLToPath(new URL("../fixtures/stdio_server.js", import.meta.url));

/** A server's entry in the host, and what has to be closed. */
interface Started {
  readonly entry: Readonly<Record<string, unknown>>;
  readonly server: McpServerFixture | null;
}

function remote(type: string, options: McpServerOptions): () => Promise<Started> {
  return async () => {
    const server = await startMcpServer(options);
    return { entry: { url: server.url, type }, server };
  };
}

const TRANSPORTS: Readonly<Record<string, () => Promise<Started>>> = {
  "streamable HTTP": remote("http", { transport: "streamable_http" }),
  "streamable HTTP, plain JSON": remote("http", { transport: "streamable_http", jsonResponses: true }),
  SSE: remote("sse", { transport: "sse" }),
  stdio: () =>
    Promise.resolve({ entry: { command: `'${process.execPath}'`, args: [STDIO_SERVER] }, server: null }),
};

/** Makes all calls, never more than `atOnce` under way; gives milliseconds per call. */
async function measure(host: Host, atOnce: number, signal: AbortSignal): Promise<number> {
  let next = 0;
  const worker = async () => {
    while (next < CALLS) {
      const text = String(next++);
      const answer = await host.mcp.callTool(null, { server: "pub", tool: "echo" }, { text }, signal);
      if (answer.text !== text) throw new Error("a call got another call's answer");
    }
  };
  const begin = performance.now();
  await Promise.all(Array.from({ length: Math.min(atOnce, CALLS) }, worker));
  return (performance.now() - begin) / CALLS;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

let warnings = 0;
process.on("warning", () => {
  warnings += 1;
});

for (const [name, start] of Object.entries(TRANSPORTS)) {
  const { entry, server } = await start();
  const root = new HostRoot();
  root.writeMcpServers({ mcpServers: { pub: entry } });
  const host = await Host.open({ root: root.path, watch: false });
  const { signal } = new AbortController();
  const [few, all]: [number[], number[]] = [[], []];
  await measure(host, 64, signal);
  for (let round = 0; round < ROUNDS; round += 1) {
    few.push(await measure(host, 64, signal));
    all.push(await measure(host, CALLS, signal));
  }
  const [fewMs, allMs] = [median(few), median(all)];
  console.log(
    `${name.padEnd(28)} 64 at a time ${fewMs.toFixed(3)} ms/call   ${CALLS} at once ${allMs.toFixed(3)} ms/call   ` +
      `factor ${(allMs / fewMs).toFixed(2)}`,
  );
  await host.close();
  await server?.close();
  root.remove();
}
console.log(`warnings: ${warnings}`);
