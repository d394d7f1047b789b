import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";

import { expect } from "chai";

import { readPreflightAnswer } from "../../../../helpers/preflight/preflight_contract.ts";
import { guildLine } from "../../../cli/output_schemas.ts";
import type { GuildLine } from "../../../cli/output_schemas.ts";
import { HostRoot } from "../../../fixtures/host_root.ts";
import { startMcpServer } from "../../../fixtures/mcp_server.ts";
import { cli, collect, expectFitForTerminal, expectRefusal, startCli, untilWritten } from "./support.ts";

const started: ChildProcess[] = [];

/** A running command `guild`. */
async function startGuild(...more: string[]) {
  const child = startCli(["guild", "--port", "0", ...more]);
  started.push(child);
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  await untilWritten(child.stdout, stdout, "\n");
  const origin = /http:\/\/127\.0\.0\.1:\d+/.exec(stdout())?.[0] ?? "";
  return {
    origin,
    stdout,
    stderr,
    lines: (): GuildLine[] =>
      stdout()
        .trim()
        .split("\n")
        .map((line) => guildLine.parse(JSON.parse(line))),
    async stop(signal: "SIGINT" | "SIGTERM" = "SIGINT"): Promise<number | null> {
      child.kill(signal);
      const [code] = (await once(child, "close")) as [number | null];
      return code;
    },
  };
}

async function ask(origin: string, url: string) {
  const response = await fetch(`${origin}/preflight?url=${encodeURIComponent(url)}`);
  return readPreflightAnswer(new Uint8Array(await response.arrayBuffer()), url);
}

describe("the command guild", () => {
  afterEach(() => {
    for (const child of started.splice(0)) child.kill("SIGKILL");
  });

  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    it(`runs a live Guild until ${signal}, and then ends with exit code 0 [C5]`, async () => {
      const guild = await startGuild();
      expect((await fetch(`${guild.origin}/preflight`)).status).to.equal(422);
      expect(await guild.stop(signal)).to.equal(0);
      expect(guild.stderr()).to.equal("");
    });
  }

  it("probes this machine only when it is started for that [C5]", async () => {
    const server = await startMcpServer({ transport: "streamable_http" });
    const [strict, lenient] = [await startGuild("--json"), await startGuild("--json", "--allow-loopback")];
    try {
      for (const { origin } of [strict, lenient]) {
        expect((await ask(origin, server.url)).kind).to.equal("consistent");
      }
      await Promise.all([strict.stop(), lenient.stop()]);
      const verdicts = [strict, lenient].map((guild) =>
        guild.lines().flatMap((line) => (line.event === "preflight" ? [line.verdict] : [])),
      );
      expect(verdicts).to.deep.equal([["do_not_delegate"], ["no_failed_checks"]]);
      expect(strict.lines()[0]).to.deep.equal({
        event: "listening",
        origin: strict.origin,
        allows_loopback: false,
      });
    } finally {
      await server.close();
    }
  });

  it("takes independent evidence from a registry file [C5]", async () => {
    const did = "did:web:agent.example.com";
    const card = { status: 200, json: { did, skills: [], name: "x" } };
    const documents = { "/.well-known/agent-card.json": card };
    const server = await startMcpServer({ transport: "streamable_http", documents });
    const root = new HostRoot();
    const registry = root.write("agents.json", { [did]: { agent_id: "a", attestations_received: 1 } });
    const guild = await startGuild("--json", "--allow-loopback", "--registry", registry);
    try {
      await ask(guild.origin, server.url);
      await guild.stop();
      const line = guild.lines()[1];
      expect(line?.event === "preflight" && line.statuses.independent_evidence).to.equal("proven");
    } finally {
      await server.close();
      root.remove();
    }
  });

  it("shows each preflight in a line that fits a terminal, whatever was asked about [C5]", async () => {
    const guild = await startGuild();
    await ask(guild.origin, `https://x.example.com/\u001b[2J\u202e${"x".repeat(200)}`);
    await guild.stop();
    expect(guild.stdout()).to.include("do_not_delegate");
    expectFitForTerminal(guild.stdout());
  });

  it("says when another program has the port [C5]", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    try {
      const { port } = other.address() as AddressInfo;
      expectRefusal(await cli(["guild", "--port", String(port)]), /another program listens there/);
    } finally {
      other.close();
    }
  });
});
