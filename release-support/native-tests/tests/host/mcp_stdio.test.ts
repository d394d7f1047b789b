import { fileURLToPath } from "node:url";

import { expect } from "chai";

import { Cleanups, McpHost, until } from "./mcp_connections_support.ts";

const CHILD = fileURLToPath(new URL("mcp_stdio_child.js", import.meta.url));

/** The entry of the handmade server. */
function child(...args: readonly string[]): { readonly command: string; readonly args: readonly string[] } {
  return { command: `'${process.execPath}'`, args: [CHILD, ...args] };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("a local MCP server", () => {
  const cleanups = new Cleanups();
  afterEach(() => cleanups.run());

  async function open(entry: Readonly<Record<string, unknown>> = child()): Promise<McpHost> {
    return cleanups.add(await McpHost.open({ local: entry }));
  }

  /** What people are shown of the server's standard error. */
  function logOf({ host }: McpHost): string {
    return host.mcp.logs(null).find(({ name }) => name === "local")?.text ?? "";
  }

  /** The process that was started last, as the server's log tells. */
  function lastPid(host: McpHost): number {
    return Number([...logOf(host).matchAll(/^pid (\d+)$/gm)].at(-1)?.[1]);
  }

  it("is started with the very arguments of its entry, without a shell [H5]", async () => {
    const host = await open(child("with two words", "$HOME", "*", "--flag", "größer; true"));
    const argv = JSON.parse(await host.call("local.argv")) as unknown;
    expect(argv).to.deep.equal(["with two words", "$HOME", "*", "--flag", "größer; true"]);
  });

  it("has the default environment and what its entry adds, and no more [H5]", async () => {
    process.env["HOST_SECRET"] = "secret";
    try {
      const host = await open({ ...child(), env: { ADDED: "by the entry", TERM: "replaced" } });
      const env = JSON.parse(await host.call("local.env")) as Record<string, string>;

      expect(env).to.include({ ADDED: "by the entry", TERM: "replaced", PATH: process.env["PATH"] ?? "" });
      expect(env).to.not.have.property("HOST_SECRET");
    } finally {
      delete process.env["HOST_SECRET"];
    }
  });

  it("may write on its standard error, which people can read and no model sees [H5]", async () => {
    const host = await open();
    await host.call("local.log", { text: "a line for people\u001b[31m\r\n" });
    await until(() => logOf(host).endsWith("people[31m\n"));

    expect(logOf(host)).to.match(/^pid \d+\na line for people\[31m\n$/);
    expect(JSON.stringify(host.agent.history.messages)).to.not.include("a line for people");
    expect(JSON.stringify(host.agent.context.log.items)).to.not.include("a line for people");
    expect(host.problem("local")).to.equal(undefined);
  });

  it("has the end of a long log kept, and its whole output taken [H5]", async () => {
    const host = await open();
    const text = `${"x".repeat(1023)}\n`.repeat(1024);
    for (let times = 0; times < 3; times += 1) await host.call("local.log", { text });
    await host.call("local.log", { text: "the end" });
    await until(() => logOf(host).endsWith("the end"));

    expect(logOf(host)).to.have.lengthOf(64 * 1024);
  });

  it("is reported when there is no such command [H5]", async () => {
    const host = await open({ command: "/nowhere/no-such-command" });
    expect(host.problem("local")).to.equal("the server's process cannot be started (ENOENT)");
    expect(await host.call("local.echo")).to.equal("There is no tool of this name.");
  });

  it("is reported when its process ends at once, with what it wrote [H5]", async () => {
    const host = await open({ command: `'${process.execPath}'`, args: [`${CHILD}.missing`] });
    expect(host.problem("local")).to.equal("the server's process has ended");
    expect(logOf(host)).to.include("Cannot find module");
  });

  it("fails the calls under way when its process ends, is reported, and is started again [H5]", async () => {
    const host = await open();
    const pid = await host.call("local.pid");
    const never = host.call("local.never");

    expect(await host.call("local.exit")).to.equal(
      "ERROR: the server's process has ended; the tool may have run all the same",
    );
    expect(await never).to.equal("ERROR: the server's process has ended; the tool may have run all the same");
    expect(host.problem("local")).to.equal("the server's process has ended");
    expect(await host.call("local.pid")).to.not.equal(pid);
    expect(host.problem("local")).to.equal(undefined);
  });

  it("is reported when its process ends between calls, and is started again by the next one [H5]", async () => {
    const host = await open();
    const pid = Number(await host.call("local.pid"));
    process.kill(pid, "SIGKILL");
    await until(() => host.problem("local") !== undefined);

    expect(host.problem("local")).to.equal("the server's process has ended");
    expect(Number(await host.call("local.pid"))).to.not.equal(pid);
  });

  it("leaves no process behind when the host closes [H5]", async () => {
    const host = await open();
    const pid = Number(await host.call("local.pid"));
    expect(isRunning(pid)).to.equal(true);

    await host.host.close();
    expect(isRunning(pid)).to.equal(false);
  });

  it("leaves no process behind that does not want to end [H5]", async () => {
    const host = await open(child("--stubborn"));
    const pid = Number(await host.call("local.pid"));

    await host.host.close();
    expect(isRunning(pid)).to.equal(false);
  });

  it("leaves no process behind when its entry goes, once its last call is done [H5]", async () => {
    const host = await open({ ...child(), tool_timeout: 1 });
    const pid = Number(await host.call("local.pid"));
    const call = host.call("local.never");
    await until(() => logOf(host).endsWith("asked\n"));
    host.root.writeMcpServers({ mcpServers: {} });
    expect(await host.call("local.echo")).to.equal("There is no tool of this name.");

    expect(isRunning(pid)).to.equal(true);
    expect(await call).to.equal(
      "ERROR: the tool did not answer within 1 s; the tool may have run all the same",
    );
    await until(() => !isRunning(pid));
  });

  it("is given up after its init_timeout, and its process ends [H5]", async () => {
    const host = await open({ ...child("--mute"), init_timeout: 2 });
    expect(host.problem("local")).to.equal("the server was not ready within 2 s");
    const pid = lastPid(host);
    expect(pid).to.be.greaterThan(0);
    await until(() => !isRunning(pid));
  });

  it("keeps its process when a call takes longer than the tool_timeout [H5]", async () => {
    const host = await open({ ...child(), tool_timeout: 1 });
    const pid = await host.call("local.pid");

    expect(await host.call("local.never")).to.equal(
      "ERROR: the tool did not answer within 1 s; the tool may have run all the same",
    );
    expect(await host.call("local.pid")).to.equal(pid);
  });

  it("may write what is no message on its standard output [H5]", async () => {
    const host = await open();
    const pid = await host.call("local.pid");

    expect(await host.call("local.noise")).to.equal("after the noise");
    expect(await host.call("local.pid")).to.equal(pid);
  });

  it("may give an answer of 11 MiB, which arrives [H11]", async () => {
    const host = await open();
    const pid = await host.call("local.pid");

    expect((await host.call("local.big")).length).to.equal(11 * 1024 * 1024);
    expect(await host.call("local.pid")).to.equal(pid);
  });

  it("is ended when a message of it is too large, which is said, and is started again [H5, H11]", async () => {
    const host = await open();
    const pid = await host.call("local.pid");

    expect(await host.call("local.endless")).to.equal(
      "ERROR: the server's answer is too large: more than 32 MiB; the tool may have run all the same",
    );
    expect(host.problem("local")).to.equal("the server's answer is too large: more than 32 MiB");
    expect(await host.call("local.pid")).to.not.equal(pid);
  });

  it("hides disabled tools [H5]", async () => {
    const host = await open({ ...child(), disabled_tools: ["echo", "env"] });
    expect(host.tools).to.not.include.members(["local.echo"]);
    expect(host.tools).to.include("local.pid");
    expect(await host.call("local.echo", { text: "x" })).to.equal("There is no tool of this name.");
  });
});
