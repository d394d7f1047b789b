import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import { expect } from "chai";

import { doctorDocument } from "../../../cli/output_schemas.ts";
import type { DoctorDocument } from "../../../cli/output_schemas.ts";
import { HostRoot } from "../../../fixtures/host_root.ts";
import { endpointDown } from "../../../guild/preflight_bodies.ts";
import { startMcpServer } from "../../../fixtures/mcp_server.ts";
import type { McpServerFixture } from "../../../fixtures/mcp_server.ts";
import { startScriptedGuild } from "../../../guild/scripted_guild.ts";
import type { ScriptedGuild } from "../../../guild/scripted_guild.ts";
import { cli, documentIn, expectFitForTerminal } from "./support.ts";

const PUB = "https://pub.example.com/mcp";
const OTHER = "https://other.example.com/mcp";
const GATE_FILE = "extensions/node/tool_execute_before/_45_agent_guild_preflight.js";
const GATE = `usr/plugins/agent_guild_preflight/${GATE_FILE}`;

const remote = (url: string, more: object = {}) => ({ url, type: "streamable-http", ...more });

/** Every file below a root with its size and time of change. */
function filesBelow(root: string): string[] {
  return readdirSync(root, { recursive: true, encoding: "utf8" }).map((file) => {
    const { size, mtimeMs } = statSync(join(root, file));
    return `${file} ${size} ${mtimeMs}`;
  });
}

describe("the command doctor", () => {
  let root: HostRoot;

  beforeEach(() => {
    root = new HostRoot();
    root.installPlugin();
    root.writeMcpServers({ mcpServers: { pub: remote(PUB) } });
    root.writeConfig({ protected_servers: { pub: PUB } });
  });

  afterEach(() => root.remove());

  const doctor = async (...more: string[]) => {
    const run = await cli(["doctor", "--root", root.path, "--json", ...more]);
    return { ...run, document: documentIn(run, doctorDocument) };
  };
  const codes = ({ findings }: DoctorDocument) => findings.map(({ level, code }) => `${level} ${code}`);
  const failing = ({ servers }: DoctorDocument) =>
    servers.map(({ rules }) => rules.find(({ outcome }) => outcome === "fails")?.reason);

  it("finds nothing wrong where nothing is, with exit code 0 [C4]", async () => {
    const { code, document } = await doctor();
    expect([code, document.ok, document.findings]).to.deep.equal([0, true, []]);
  });

  it("finds nothing wrong while nothing is configured [C4]", async () => {
    root.delete("usr/plugins/agent_guild_preflight/config.json");
    const { code, document } = await doctor();
    expect([code, document.servers]).to.deep.equal([0, []]);
    expect(document.configuration.places.find(({ outcome }) => outcome === "chosen")?.scope).to.equal(
      "default",
    );
  });

  it("writes nothing into the root [C4]", async () => {
    const before = filesBelow(root.path);
    await doctor();
    expect(filesBelow(root.path)).to.deep.equal(before);
  });

  it("fits a terminal and keeps control characters out of it [C4]", async () => {
    const name = `\u001b[2J${"long".repeat(40)}\u202e`;
    root.writeMcpServers({ mcpServers: { pub: remote(PUB), [name]: remote("") } });
    root.writeConfig({ protected_servers: { pub: PUB, [name]: `${PUB}/${"x".repeat(600)}` } });
    const { stdout } = await cli(["doctor", "--root", root.path]);
    expectFitForTerminal(stdout);
  });

  describe("on the configuration", () => {
    it("lists every place in order with why it won or lost [C4]", async () => {
      root.writeConfig({}, { project: "shop", profile: "clerk" });
      const { document } = await doctor("--project", "shop", "--profile", "clerk");
      const { places } = document.configuration;
      expect(places.map(({ scope, outcome }) => [scope, outcome])).to.deep.equal([
        ["project profile", "chosen"],
        ["project", "absent"],
        ["user profile", "absent"],
        ["plugin profile", "absent"],
        ["built-in profile", "absent"],
        ["global", "not reached"],
        ["built-in", "absent"],
        ["default", "not reached"],
        ["default", "not considered"],
      ]);
      expect(places.every(({ why }) => why !== "")).to.equal(true);
    });

    it("names every setting error with its path and what was expected, with exit code 1 [C4]", async () => {
      root.writeConfig({ timeout_seconds: "5", policy: { on_cautoin: "deny" }, protected_servers: { a: 1 } });
      const { code, document } = await doctor();
      expect(code).to.equal(1);
      expect(document.configuration.errors.map(({ path }) => path)).to.have.members([
        "timeout_seconds",
        "policy.on_cautoin",
        "protected_servers.a",
      ]);
      expect(document.configuration.errors.every(({ expected }) => expected !== "")).to.equal(true);
      expect(codes(document)).to.deep.equal(["problem configuration_invalid"]);
    });

    it("says that a file which cannot be read decides all the same [C4]", async () => {
      root.writeConfig("{", { project: "shop" });
      const { code, document } = await doctor("--project", "shop");
      expect([code, document.configuration.valid]).to.deep.equal([1, false]);
      expect(document.configuration.errors[0]?.expected).to.include("not valid JSON");
    });
  });

  describe("on the binding", () => {
    it("says which rules hold and that the tools are not known offline [C4]", async () => {
      const { document } = await doctor();
      expect(document.servers[0]?.rules.map(({ rule, outcome }) => [rule, outcome])).to.deep.equal([
        ["P5.5", "holds"],
        ["P5.1", "holds"],
        ["P5.1", "holds"],
        ["P5.2", "holds"],
        ["P5.3", "holds"],
        ["P5.4", "not_known_offline"],
      ]);
    });

    for (const [reason, servers, approved] of [
      ["server_not_configured", {}, PUB],
      ["server_not_configured", { pub: remote(PUB, { disabled: true }) }, PUB],
      ["ambiguous_server", { pub: remote(PUB), "PUB ": remote(PUB) }, PUB],
      ["local_server", { pub: { command: process.execPath } }, PUB],
      ["url_mismatch", { pub: remote(`${PUB}/`) }, PUB],
      ["ineligible_endpoint", { pub: remote(PUB) }, `${PUB}?token=secret`],
    ] as const) {
      it(`says that a call is denied for ${reason}, with exit code 1 [C4]`, async () => {
        root.writeMcpServers({ mcpServers: servers });
        root.writeConfig({ protected_servers: { pub: approved } });
        const { code, stdout, document } = await doctor();
        expect(code).to.equal(1);
        expect(failing(document)).to.deep.equal([reason]);
        expect(codes(document)).to.include("problem binding_fails");
        expect(stdout).to.not.include("secret");
      });
    }

    it("reads the servers of the project that is named [C4]", async () => {
      root.writeProjectMcpServers("shop", { mcpServers: { pub: remote(OTHER) } });
      expect(failing((await doctor()).document)).to.deep.equal([undefined]);
      expect(failing((await doctor("--project", "shop")).document)).to.deep.equal(["url_mismatch"]);
    });
  });

  describe("on what the Guild's own rules make certain", () => {
    for (const [code, url] of [
      ["no_protocol_probe", "https://pub.example.com/api"],
      ["port_refused", "https://pub.example.com:9443/mcp"],
      ["url_too_long", `https://pub.example.com/mcp/${"x".repeat(500)}`],
    ] as const) {
      it(`says that every call is denied: ${code} [C4]`, async () => {
        root.writeMcpServers({ mcpServers: { pub: remote(url) } });
        root.writeConfig({ protected_servers: { pub: url } });
        const { code: exit, document } = await doctor();
        const [server] = document.servers;
        expect([exit, server?.certainties.map((one) => one.code)]).to.deep.equal([1, [code]]);
        expect(codes(document)).to.deep.equal(["problem denied_for_certain"]);
      });
    }

    it("says that it does not probe private hosts [C4]", async () => {
      const url = "http://10.0.0.1/mcp";
      root.writeMcpServers({ mcpServers: { pub: remote(url) } });
      root.writeConfig({ protected_servers: { pub: url }, allow_private_hosts: true });
      const { document } = await doctor();
      expect(document.servers[0]?.certainties.map((one) => one.code)).to.deep.equal(["host_refused"]);
    });

    it("calls nothing a problem that the policy does not deny for [C4]", async () => {
      const url = "https://pub.example.com/api";
      root.writeMcpServers({ mcpServers: { pub: remote(url) } });
      root.writeConfig({
        protected_servers: { pub: url },
        policy: { required_proven: ["endpoint_reachable"] },
      });
      const { code, document } = await doctor();
      expect([code, document.servers[0]?.certainties[0]?.denies]).to.deep.equal([0, null]);
    });
  });

  describe("on the extensions", () => {
    it("lists them in execution order with their origin [C4]", async () => {
      root.write(
        "usr/extensions/node/tool_execute_before/_99_last.js",
        "export default class { execute() {} }\n",
      );
      const { document } = await doctor();
      expect(
        document.extensions.in_order.map(({ path, scope, is_gate: isGate }) => [path, scope, isGate]),
      ).to.deep.equal([
        [GATE, "plugin", true],
        ["usr/extensions/node/tool_execute_before/_99_last.js", "user", false],
      ]);
    });

    it("warns of a gate that a file of the same name shadows, and fails its self-test [C4]", async () => {
      root.write(`usr/${GATE_FILE}`, "export default class { execute() {} }\n");
      const { code, document } = await doctor();
      expect(code).to.equal(1);
      expect(codes(document)).to.deep.equal(["problem self_test_failed", "warning gate_shadowed"]);
      expect(document.extensions.in_order[0]?.shadows).to.deep.equal([GATE]);
      expect(document.self_test.words).to.include("let a call pass");
    });

    it("lets a shadowing gate pass that gates [C4]", async () => {
      root.write(`usr/${GATE_FILE}`, `export { default } from ${JSON.stringify(`${root.path}/${GATE}`)};\n`);
      const { code, document } = await doctor();
      expect([code, codes(document)]).to.deep.equal([0, ["warning gate_shadowed"]]);
      expect(document.self_test.passed).to.equal(true);
    });

    for (const [name, body, words] of [
      ["throws something else", 'throw new Error("no")', /something else than a denial/],
      ["throws another module's exception", 'throw new this.x.host.constructor("no")', /something else/],
      ["never returns", "return new Promise(() => undefined)", /neither denied nor returned/],
      ["denies everything", 'throw new this.x.host.RepairableException("no")', /for another reason/],
    ] as const) {
      it(`fails the self-test of a gate that ${name} [C4]`, async () => {
        const source = `export default class { constructor(x) { this.x = x } execute() { ${body} } }\n`;
        root.write(`usr/${GATE_FILE}`, source);
        const { code, document } = await doctor();
        expect([code, document.self_test.passed]).to.deep.equal([1, false]);
        expect(document.self_test.words).to.match(words);
      });
    }

    it("fails the self-test of a gate whose modules are damaged [C4]", async () => {
      root.write("usr/plugins/agent_guild_preflight/helpers/gate.js", "export async function gate() {}\n");
      const { code, document } = await doctor();
      expect([code, document.self_test.passed]).to.deep.equal([1, false]);
    });

    it("says that nothing is gated when the plugin is switched off [C4]", async () => {
      root.write("usr/plugins/agent_guild_preflight/.toggle-0", "");
      const { code, document } = await doctor();
      expect([code, document.plugin.enabled, document.self_test.passed]).to.deep.equal([1, false, false]);
      expect(codes(document)).to.include("problem plugin_off");
    });

    it("says that nothing is gated when the plugin is not installed [C4]", async () => {
      root.delete("usr/plugins/agent_guild_preflight");
      const { code, document } = await doctor();
      expect([code, document.plugin.path]).to.deep.equal([1, null]);
      expect(codes(document)).to.include("problem plugin_missing");
    });

    it("says which extension file stops every call because it cannot be loaded [C4]", async () => {
      const file = "usr/extensions/node/tool_execute_before/_50_broken.js";
      root.write(file, "export default class {");
      const { code, document } = await doctor();
      expect(code).to.equal(1);
      expect(document.extensions.problem).to.include(file);
      expect(codes(document)).to.include("problem extensions_broken");
    });
  });

  describe("on what weakens the gate", () => {
    it("warns of a narrower scope that drops a server which a wider one protects [C4]", async () => {
      root.writeConfig({ protected_servers: {} }, { project: "shop" });
      for (const more of [["--project", "shop"], []]) {
        const { code, document } = await doctor(...more);
        expect(code).to.equal(0);
        expect(codes(document)).to.deep.equal(["warning server_dropped"]);
        expect(document.findings[0]?.words).to.include("shop").and.to.include("pub");
      }
    });

    it("warns of a project in which the plugin is switched off [C4]", async () => {
      root.write("usr/projects/shop/.a0proj/plugins/agent_guild_preflight/.toggle-0", "");
      expect(codes((await doctor()).document)).to.deep.equal(["warning gate_off_elsewhere"]);
      expect((await doctor("--project", "shop")).code).to.equal(1);
    });

    it("warns of on_unavailable: allow, and says how it lets an endpoint pass [C4]", async () => {
      root.writeConfig({ protected_servers: { pub: PUB }, policy: { on_unavailable: "allow" } });
      const { code, document } = await doctor();
      expect([code, codes(document)]).to.deep.equal([0, ["warning on_unavailable_allow"]]);
      expect(document.findings[0]?.words).to.include("slow to probe");
    });

    it("warns of fixture_guild_origin and of verify: false [C4]", async () => {
      root.writeMcpServers({ mcpServers: { pub: remote(PUB, { verify: false }) } });
      root.writeConfig({ protected_servers: { pub: PUB }, fixture_guild_origin: "http://127.0.0.1:8700" });
      const { code, document } = await doctor();
      expect(code).to.equal(0);
      expect(codes(document)).to.deep.equal(["warning fixture_guild_origin", "warning verify_false"]);
    });
  });

  describe("on the MCP servers", () => {
    it("says which entries will not work and why [C4]", async () => {
      root.writeMcpServers({
        mcpServers: {
          pub: remote(PUB),
          none: {},
          gone: { command: "no-such-program-anywhere" },
          ftp: remote("ftp://pub.example.com"),
          off: remote(OTHER, { disabled: true }),
          fine: { command: process.execPath },
        },
      });
      const { code, document } = await doctor();
      const problems = document.mcp.entries.map(({ name, problem }) => [name, problem]);
      expect(code).to.equal(1);
      expect(Object.fromEntries(problems)).to.deep.equal({
        pub: null,
        none: "it has neither a URL nor a command",
        gone: "its command is on no folder of PATH",
        ftp: "its URL is neither http nor https",
        off: "Disabled in config",
        fine: null,
      });
      // What is switched off is nobody's mistake.
      expect(document.findings.filter(({ words }) => words.includes("off"))).to.deep.equal([]);
    });

    it("says that no server is configured when the settings are no JSON [C4]", async () => {
      root.write("usr/settings.json", "{");
      const { code, document } = await doctor();
      expect(code).to.equal(1);
      expect(document.mcp.problem).to.include("usr/settings.json");
    });
  });

  describe("with --live", () => {
    let guild: ScriptedGuild;
    let server: McpServerFixture;

    beforeEach(async () => {
      [guild, server] = await Promise.all([
        startScriptedGuild(),
        startMcpServer({ transport: "streamable_http" }),
      ]);
      root.writeMcpServers({ mcpServers: { pub: remote(server.url) } });
      root.writeConfig({
        protected_servers: { pub: server.url },
        allow_private_hosts: true,
        fixture_guild_origin: guild.origin,
      });
    });

    afterEach(() => Promise.all([guild.close(), server.close()]));

    it("asks the Guild about each protected server, and says what would be denied and why [C4]", async () => {
      guild.answer(server.url, { kind: "json", body: endpointDown });
      const { code, stderr, document } = await doctor("--live");
      const live = document.servers[0]?.live;
      expect([code, live?.decision, live?.reason]).to.deep.equal([1, "deny", "do_not_delegate"]);
      expect(codes(document)).to.include("problem denied_now");
      expect(guild.requests.map(({ url }) => url)).to.deep.equal([server.url]);
      expect(stderr).to.include(server.url).and.to.include(guild.origin);
    });

    it("says what it discloses before it shows what came back, within 80 columns [C4]", async () => {
      const { code, stdout } = await cli(["doctor", "--root", root.path, "--live"]);
      expect(code).to.equal(0);
      expect(stdout.indexOf("This is disclosed")).to.equal(0);
      expect(stdout).to.include("A call would not be denied (not_denied).");
      expectFitForTerminal(stdout);
    });

    it("asks the server for its tools, and settles the rule that nobody knows offline [C10]", async () => {
      const { document } = await doctor("--live");
      const [pub] = document.servers;
      expect(pub?.live?.tools.problem).to.equal(null);
      expect(pub?.live?.tools.count).to.be.above(0);
      expect(pub?.rules.at(-1)?.outcome).to.equal("holds");
      expect(document.verdict.kind).to.equal("protected");
    });

    it("does not call a server protected whose tools nobody can call [C10]", async () => {
      await server.close();
      const { code, document } = await doctor("--live");
      expect([code, document.verdict.kind]).to.deep.equal([1, "problems"]);
      expect(codes(document)).to.include("problem no_tools");
      expect(document.servers[0]?.live?.tools.problem).to.be.a("string");
      server = await startMcpServer({ transport: "streamable_http" });
    });

    it("asks nobody about a server whose binding fails [C4]", async () => {
      root.writeMcpServers({ mcpServers: {} });
      const { document } = await doctor("--live");
      expect(document.servers[0]?.live).to.equal(null);
      expect(guild.requests).to.have.length(0);
    });
  });

  it("says nothing about the content of a file that it does not show [C4]", async () => {
    root.writeConfig({ fixture_guild_origin: "http://secret.example.com" });
    const runs = await Promise.all([doctor(), cli(["doctor", "--root", root.path])]);
    for (const { stdout } of runs) expect(stdout).to.not.include("secret");
    expect(readFileSync(join(root.path, "usr/plugins/agent_guild_preflight/config.json"), "utf8")).to.include(
      "secret",
    );
  });
});
