import { once } from "node:events";
import { createRequire } from "node:module";
import { spawn } from "node:child_process";

import { expect } from "chai";

import { checkDocument } from "../../../cli/output_schemas.ts";
import { HostRoot } from "../../../fixtures/host_root.ts";
import { startMcpServer } from "../../../fixtures/mcp_server.ts";
import type { McpServerFixture } from "../../../fixtures/mcp_server.ts";
import { startLiveGuild } from "../../../guild/live_guild.ts";
import type { LiveGuild } from "../../../guild/live_guild.ts";
import { endpointDown, preflightBody, unsignedCard } from "../../../guild/preflight_bodies.ts";
import { startScriptedGuild } from "../../../guild/scripted_guild.ts";
import type { ScriptedGuild } from "../../../guild/scripted_guild.ts";
import { packageRoot } from "../../../packaging/package_root.ts";
import { cli, collect, documentIn, expectFitForTerminal, startCli, untilWritten } from "./support.ts";

const URL_OF_NOBODY = "https://mcp.example.com/mcp";

/** What `check` must say that an observation is not (SPEC P11.4). */
const LIMITS = [
  /not identity/,
  /not signature verification/,
  /not protocol conformance/,
  /not permission/,
  /no promise about what the endpoint does with your data/,
  /no general protection against prompt injection/,
  /results of calls that were not denied/i,
];

describe("the command check", () => {
  let guild: ScriptedGuild;

  beforeEach(async () => {
    guild = await startScriptedGuild();
  });

  afterEach(() => guild.close());

  const check = (url: string, ...more: string[]) => cli(["check", url, "--guild", guild.origin, ...more]);

  it("asks once and ends with exit code 0 when nothing denies [C3]", async () => {
    const result = await check(URL_OF_NOBODY, "--json");
    const document = documentIn(result, checkDocument);
    expect([result.code, document.decision, document.reason]).to.deep.equal([0, "allow", "not_denied"]);
    expect(document.disclosed).to.deep.equal({ to: guild.origin, url: URL_OF_NOBODY });
    expect(guild.requests.map(({ url }) => url)).to.deep.equal([URL_OF_NOBODY]);
  });

  it("says what it discloses and to whom before the Guild has answered [C3]", async () => {
    const held = guild.hold("*");
    const child = startCli(["check", URL_OF_NOBODY, "--guild", guild.origin]);
    const stdout = collect(child.stdout);
    await held.arrived;
    await untilWritten(child.stdout, stdout, "records the request");
    expect(stdout().replaceAll(/\s+/g, " ")).to.include(
      `${URL_OF_NOBODY} to ${guild.origin}, which records the request and probes the endpoint`,
    );
    expect(stdout()).to.not.include("Verdict");
    held.release();
    await once(child, "close");
    expect(stdout()).to.include("Verdict: no_failed_checks");
  });

  it("says so on standard error when a program reads the result [C3]", async () => {
    const { stderr } = await check(URL_OF_NOBODY, "--json");
    expect(stderr).to.include(URL_OF_NOBODY).and.to.include(guild.origin);
  });

  it("shows the six checks, the verdict, the decision and why, within 80 columns [C3]", async () => {
    guild.answer("*", { kind: "json", body: unsignedCard });
    const { code, stdout } = await check(URL_OF_NOBODY, "--on-caution", "deny");
    expect(code).to.equal(1);
    expect(stdout).to.match(/agent_card_signed +failed/);
    expect(stdout).to.include("Verdict: delegate_with_caution");
    expect(stdout).to.include("would be denied (caution)");
    expectFitForTerminal(stdout);
  });

  it("says what an observation is not, and what lies outside [C3, P11.4]", async () => {
    const { stdout } = await check(URL_OF_NOBODY);
    const flowing = stdout.replaceAll(/\s+/g, " ");
    for (const limit of LIMITS) expect(flowing).to.match(limit);
  });

  it("calls no endpoint safe, trusted or approved by the Guild [C3, P11.4]", async () => {
    const { stdout } = await check(URL_OF_NOBODY);
    expect(stdout).to.not.match(/\bsafe\b|\btrusted\b|approved by/i);
  });

  it("names the required checks that are not proven [C3]", async () => {
    const { code, stdout } = await check(URL_OF_NOBODY, "--required-proven", "agent_card_signed");
    expect(code).to.equal(1);
    expect(stdout.replaceAll(/\s+/g, " ")).to.include("Not proven: agent_card_signed (unknown).");
  });

  it("applies the flags as the plugin applies its settings [C3]", async () => {
    const { code } = await check(
      URL_OF_NOBODY,
      "--required-proven",
      "agent_card_signed",
      "--tolerate-unknown-required",
    );
    expect(code).to.equal(0);
    guild.answer("*", { kind: "html" });
    expect((await check(URL_OF_NOBODY)).code).to.equal(1);
    expect((await check(URL_OF_NOBODY, "--on-unavailable", "allow")).code).to.equal(0);
    guild.answer("*", { kind: "json", body: endpointDown });
    expect((await check(URL_OF_NOBODY, "--on-unavailable", "allow")).code).to.equal(1);
  });

  it("says why there is no evidence, by its code [C3]", async () => {
    guild.answer("*", { kind: "silent" });
    const result = await check(URL_OF_NOBODY, "--timeout", "0.6", "--json");
    const { reason, evidence } = documentIn(result, checkDocument);
    expect([result.code, reason, evidence?.error]).to.deep.equal([1, "evidence_unavailable", "deadline"]);
    expect(result.stderr).to.include("Asking the Guild ...");
  });

  it("discloses nothing of an ineligible URL and does not repeat it [C3, P4.4]", async () => {
    const url = "https://mcp.example.com/mcp?token=secret";
    for (const more of [[], ["--json"]]) {
      const result = await check(url, ...more);
      expect(result.code).to.equal(1);
      expect(result.stdout + result.stderr).to.include("ineligible_endpoint");
      expect(result.stdout + result.stderr).to.not.match(/secret|mcp\.example\.com/);
    }
    expect(guild.requests).to.have.length(0);
  });

  it("prints no remote prose [C3]", async () => {
    guild.answer("*", {
      kind: "json",
      body: (target: string) => ({ ...preflightBody(target), headline: "REMOTE PROSE \u001b[2J" }),
    });
    for (const more of [[], ["--json"]]) {
      const { stdout } = await check(URL_OF_NOBODY, ...more);
      expect(stdout).to.not.match(/REMOTE PROSE|Synthetic fixture|\u001b/);
    }
  });

  it("says beforehand what the Guild's own rules make certain [C3]", async () => {
    const result = await check("https://mcp.example.com/api", "--json");
    const { certainties } = documentIn(result, checkDocument);
    expect(certainties.map(({ code, denies }) => [code, denies])).to.deep.equal([
      ["no_protocol_probe", "required_not_proven"],
    ]);
    expect(result.stderr.replaceAll(/\s+/g, " ")).to.include("no protocol probe applies");
  });

  describe("with a host root", () => {
    let root: HostRoot;

    beforeEach(() => {
      root = new HostRoot();
      root.installPlugin();
      root.writeConfig({ protected_servers: { pub: URL_OF_NOBODY }, fixture_guild_origin: guild.origin });
      root.writeConfig(
        { policy: { required_proven: ["agent_card_signed"] }, fixture_guild_origin: guild.origin },
        { project: "shop" },
      );
    });

    afterEach(() => root.remove());

    const inRoot = (...more: string[]) => cli(["check", URL_OF_NOBODY, "--root", root.path, ...more]);

    it("takes the policy of the root, and says for which servers it approves the URL [C3]", async () => {
      const wide = documentIn(await inRoot("--json"), checkDocument);
      const narrow = documentIn(await inRoot("--project", "shop", "--json"), checkDocument);
      expect([wide.reason, wide.approved_for]).to.deep.equal(["not_denied", ["pub"]]);
      expect([narrow.reason, narrow.approved_for]).to.deep.equal(["required_not_proven", []]);
    });

    it("denies and asks nobody when the root's configuration is not valid [C3]", async () => {
      root.writeConfig({ timeout_seconds: 0 });
      const result = await inRoot("--json");
      const { reason, setting_errors: errors } = documentIn(result, checkDocument);
      expect([result.code, reason]).to.deep.equal([1, "configuration_invalid"]);
      expect(errors.map(({ path }) => path)).to.deep.equal(["timeout_seconds"]);
      expect(guild.requests).to.have.length(0);
    });

    it("refuses a policy of flags beside that of a root [C3]", async () => {
      const { code, stderr } = await inRoot("--on-caution", "deny");
      expect(code).to.equal(2);
      expect(stderr).to.include("--on-caution");
    });
  });

  describe("against the live local Guild", () => {
    let live: LiveGuild;
    let server: McpServerFixture;

    beforeEach(async () => {
      live = await startLiveGuild({ allowLoopback: true });
      server = await startMcpServer({ transport: "streamable_http" });
    });

    afterEach(async () => {
      await Promise.all([live.close(), server.close()]);
    });

    it("reports what the probe of a real server found [C3]", async () => {
      const args = ["--guild", live.origin, "--allow-private-hosts", "--json"];
      const healthy = documentIn(await cli(["check", server.url, ...args]), checkDocument);
      await server.close();
      const down = documentIn(await cli(["check", server.url, ...args]), checkDocument);
      expect(healthy.evidence?.verdict).to.equal("no_failed_checks");
      expect([down.reason, down.evidence?.verdict]).to.deep.equal(["do_not_delegate", "do_not_delegate"]);
    });

    it("finds no failed check at an unmodified server-everything, with exit code 0 [C3]", async () => {
      const port = new URL(server.url).port;
      await server.close();
      const everything = spawn(process.execPath, [everythingServer(), "streamableHttp"], {
        env: { ...process.env, PORT: port },
        stdio: ["ignore", "ignore", "pipe"],
      });
      try {
        const stderr = collect(everything.stderr);
        await untilWritten(everything.stderr, stderr, "listening");
        const url = `http://127.0.0.1:${port}/mcp`;
        const result = await cli(["check", url, "--guild", live.origin, "--allow-private-hosts", "--json"]);
        const { evidence } = documentIn(result, checkDocument);
        expect([result.code, evidence?.verdict]).to.deep.equal([0, "no_failed_checks"]);
      } finally {
        everything.kill();
        await once(everything, "close");
      }
    });
  });
});

/** The program of the package `@modelcontextprotocol/server-everything`. */
function everythingServer(): string {
  const require = createRequire(`${packageRoot}/package.json`);
  return require.resolve("@modelcontextprotocol/server-everything/dist/index.js");
}
