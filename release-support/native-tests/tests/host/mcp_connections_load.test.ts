import { getEventListeners } from "node:events";
import { fileURLToPath } from "node:url";

import { expect } from "chai";

import { HostRoot } from "../../../fixtures/host_root.ts";
import { startMcpServer } from "../../../fixtures/mcp_server.ts";
import { Host } from "../../../host/host.ts";
import { Cleanups, McpHost, until } from "./mcp_connections_support.ts";

const STDIO_SERVER = fileURLToPath(new URL("../../../fixtures/stdio_server.js", import.meta.url));
const CALLS = 2000;

describe("many calls over one connection", () => {
  const cleanups = new Cleanups();
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);

  beforeEach(() => {
    warnings.length = 0;
    process.on("warning", onWarning);
  });
  afterEach(async () => {
    process.off("warning", onWarning);
    await cleanups.run();
  });

  type Entry = Readonly<Record<string, unknown>>;
  const remote =
    (transport: "streamable_http" | "sse", type: string, jsonResponses = false) =>
    async () => {
      const server = cleanups.add(await startMcpServer({ transport, jsonResponses }));
      return { url: server.url, type };
    };
  const transports: Readonly<Record<string, () => Promise<Entry>>> = {
    "streamable HTTP": remote("streamable_http", "http"),
    "streamable HTTP with plain JSON": remote("streamable_http", "http", true),
    SSE: remote("sse", "sse"),
    stdio: () => Promise.resolve({ command: `'${process.execPath}'`, args: [STDIO_SERVER] }),
  };

  for (const [name, start] of Object.entries(transports)) {
    it(`lose no answer, warn of nothing and leave no listener over ${name} [H5]`, async () => {
      const host = cleanups.add(await McpHost.open({ pub: await start() }));
      const { signal } = host.agent;
      const texts = Array.from({ length: CALLS }, (_, index) => `call ${index}`);

      const calls = Promise.all(texts.map((text) => host.call("pub.echo", { text })));
      const answers = await calls;

      const others = answers.filter((answer, index) => answer !== texts[index]);
      expect(others.slice(0, 3), `of ${others.length} other answers`).to.deep.equal([]);
      expect(getEventListeners(signal, "abort")).to.have.lengthOf(0);
      // A warning is emitted in a turn of its own.
      await new Promise(setImmediate);
      expect(warnings).to.deep.equal([]);
    }).timeout(60_000);

    it(`are all left at once when their task is cancelled, over ${name} [H5, P11.1]`, async () => {
      const host = cleanups.add(await McpHost.open({ pub: await start() }));
      const { signal } = host.agent;
      const reason = new Error("enough");
      const calls = Array.from({ length: 200 }, () => host.call("pub.echo", { text: "x" }));
      const outcomes = Promise.allSettled(calls);
      await until(() => getEventListeners(signal, "abort").length > 0);

      host.agent.context.cancel(reason);

      const rejected = (await outcomes).filter(
        (outcome) => outcome.status === "rejected" && outcome.reason === reason,
      );
      expect(rejected).to.have.lengthOf(200);
      expect(await host.call("pub.echo", { text: "after" })).to.equal("after");
      await new Promise(setImmediate);
      expect(warnings).to.deep.equal([]);
    });
  }

  it("share one listener on the signal of their task [H5]", async () => {
    const server = cleanups.add(await startMcpServer({ transport: "streamable_http" }));
    const host = cleanups.add(await McpHost.open({ pub: { url: server.url, type: "http" } }));
    const hold = server.holdTool("echo");
    const calls = Array.from({ length: 50 }, (_, index) => host.call("pub.echo", { text: String(index) }));
    await hold.arrived;

    expect(getEventListeners(host.agent.signal, "abort")).to.have.lengthOf(1);
    hold.release();
    await Promise.all(calls);
    expect(getEventListeners(host.agent.signal, "abort")).to.have.lengthOf(0);
  });
});

describe("opening and closing hosts again and again", () => {
  const cleanups = new Cleanups();
  afterEach(() => cleanups.run());

  /** How many of each kind of handle there are. */
  function handles(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
    return counts;
  }

  function processListeners(): number {
    return process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
  }

  async function cycle(root: HostRoot, calls: readonly string[]): Promise<void> {
    const host = await Host.open({ root: root.path });
    const { signal } = new AbortController();
    for (const server of calls) {
      const answer = await host.mcp.callTool(null, { server, tool: "echo" }, { text: "x" }, signal);
      expect(answer.text).to.equal("x");
    }
    await host.close();
  }

  it("leaves no handle and no listener of two HTTP servers behind [H5]", async () => {
    const one = cleanups.add(await startMcpServer({ transport: "streamable_http" }));
    const other = cleanups.add(await startMcpServer({ transport: "sse" }));
    const root = new HostRoot();
    cleanups.add({ close: () => root.remove() });
    root.writeMcpServers({
      mcpServers: { one: { url: one.url, type: "http" }, other: { url: other.url, type: "sse" } },
    });
    const settle = () => Promise.all([one.waitForSocketClose(), other.waitForSocketClose()]);
    await cycle(root, ["one", "other"]);
    await settle();
    const before = { handles: handles(), listeners: processListeners() };

    for (let times = 0; times < 60; times += 1) await cycle(root, ["one", "other"]);
    await settle();

    expect({ handles: handles(), listeners: processListeners() }).to.deep.equal(before);
    expect([one.openSessions, other.openSessions]).to.deep.equal([0, 0]);
  }).timeout(60_000);

  it("leaves no process of a stdio server behind [H5]", async () => {
    const root = new HostRoot();
    cleanups.add({ close: () => root.remove() });
    root.writeMcpServers({
      mcpServers: { local: { command: `'${process.execPath}'`, args: [STDIO_SERVER] } },
    });
    // The handle of a process goes a turn or two after its end was told of.
    const noProcess = () => until(() => !("ProcessWrap" in handles()));
    await cycle(root, ["local"]);
    await noProcess();
    const before = { handles: handles(), listeners: processListeners() };

    for (let times = 0; times < 5; times += 1) await cycle(root, ["local"]);
    await noProcess();

    expect({ handles: handles(), listeners: processListeners() }).to.deep.equal(before);
  }).timeout(60_000);
});
