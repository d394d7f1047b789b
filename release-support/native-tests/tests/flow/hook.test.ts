import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { promisify } from "node:util";

import { expect } from "chai";

import { SHIPPED_DEFAULT_SHA256 } from "../../../../helpers/settings/current_settings.ts";
import type { DecisionRecord } from "../../../../helpers/decision/evidence.ts";
import { DECISIONS_KEY, LAST_OBSERVATION_KEY } from "../../../../helpers/decision/evidence.ts";
import { DEFAULT_SETTINGS } from "../../../../helpers/settings/settings.ts";
import { readSettings } from "../../../../helpers/settings/settings_schema.ts";
import { parseYaml11 } from "../../../../helpers/formats/yaml_11.ts";
import { protecting } from "../../../fixtures/gated_host.ts";
import type { GatedHost } from "../../../fixtures/gated_host.ts";
import { HostRoot } from "../../../fixtures/host_root.ts";
import { endpointDown, unsignedCard } from "../../../guild/preflight_bodies.ts";
import { Host } from "../../../host/host.ts";
import { monologue } from "../../../host/agents/monologue.ts";
import type { ModelTurn } from "../../../host/agents/monologue.ts";
import { packageRoot } from "../../../packaging/package_root.ts";
import { gatedSuite } from "../gated_suite.ts";

const POINT = "tool_execute_before";
const PLUGIN_FOLDER = "usr/plugins/agent_guild_preflight";
const DENYING = { kind: "json", body: endpointDown } as const;
const ANSWER: ModelTurn = { toolCalls: [{ name: "response", args: { text: "done" } }] };

/** The same request in the two forms that a model has for it. */
const PATHS: readonly (readonly [path: string, turn: ModelTurn])[] = [
  ["a native function call", { toolCalls: [{ name: "pub_server.search", args: { text: "x" } }] }],
  ["JSON text", JSON.stringify({ tool_name: "pub_server.search", tool_args: { text: "x" } })],
];

/** An extension of `tool_execute_before` that does something to the agent before the gate runs. */
function extension(body: string): string {
  return `export default class {
    constructor(agent) { this.agent = agent; }
    execute(kwargs) { const { agent } = this; ${body} }
  }`;
}

function decisions({ agent }: GatedHost): readonly DecisionRecord[] {
  return (agent.getData(DECISIONS_KEY) ?? []) as DecisionRecord[];
}

/** What the gate and the host wrote into the chat log, by heading. */
function headings({ agent }: GatedHost): string[] {
  return agent.context.log.items.map(({ heading }) => heading);
}

/** Every file and folder below a folder, with what it holds. */
function contents(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [relative(folder, path), entry.isFile() ? readFileSync(path, "latin1") : "(no file)"];
    }),
  );
}

describe("the hook", () => {
  const { open, closings } = gatedSuite();

  describe("behind the host's own tool policy", () => {
    const BLOCKING = { mode: "custom", blocked: ["mcp:pub_server:search"] };
    const BLOCKED = 'Tool "pub_server.search" is blocked for agent profile "".';

    it("runs at its place by name, after the enforcement of the tool policy [P1.1]", async () => {
      const { host, agent } = await open();
      const stems = host.extensions.inForce(POINT, agent).map(({ stem }) => stem);
      expect(stems).to.deep.equal(["_10_enforce_tool_policy", "_45_agent_guild_preflight"]);
    });

    it("is not reached when the tool policy denies, and the Guild sees nothing [P1.1]", async () => {
      const host = await open({ prepare: (root) => root.writeConfig(BLOCKING, {}, "_tool_access") });
      expect(await host.call()).to.deep.equal({ kind: "denied", message: BLOCKED });
      expect(host.guild.requests).to.be.empty;
      expect(host.server().toolCalls).to.be.empty;
      expect(decisions(host)).to.be.empty;
    });

    it("leaves the denial to the tool policy even where its own configuration is invalid [P1.1]", async () => {
      const host = await open({
        config: () => [],
        prepare: (root) => root.writeConfig(BLOCKING, {}, "_tool_access"),
      });
      expect(await host.call()).to.deep.equal({ kind: "denied", message: BLOCKED });
    });

    it("grants nothing: a tool policy that changes during the preflight still denies [P1.1]", async () => {
      const host = await open();
      const hold = host.guild.hold("*");
      const call = host.call();
      await hold.arrived;
      host.root.writeConfig(BLOCKING, {}, "_tool_access");
      hold.release();
      expect(await call).to.deep.equal({ kind: "denied", message: BLOCKED });
      expect(host.server().toolCalls).to.be.empty;
    });
  });

  for (const [path, turn] of PATHS) {
    describe(`before ${path}`, () => {
      it("is awaited: the tool does not run before the Guild has answered [P1.2]", async () => {
        const host = await open();
        const hold = host.guild.hold("*");
        const running = monologue(host.agent, [turn]);
        await hold.arrived;
        expect(host.server().toolCalls).to.be.empty;
        hold.release();
        await running;
        expect(host.server().toolCalls).to.deep.equal([{ tool: "search", arguments: { text: "x" } }]);
      });

      it("stops the call that it denies [P1.2]", async () => {
        const host = await open();
        host.guild.answer("*", DENYING);
        await monologue(host.agent, [turn]);
        expect(host.guild.requests).to.have.lengthOf(1);
        expect(host.server().toolCalls).to.be.empty;
        expect(decisions(host).map(({ reason }) => reason)).to.deep.equal(["do_not_delegate"]);
      });

      it("lets the agent go on after a denial, which it sees as a warning [P1.5]", async () => {
        const host = await open();
        host.guild.answer("*", DENYING);
        const result = await monologue(host.agent, [turn, ANSWER]);
        expect(result).to.deep.equal({ kind: "answer", message: "done" });
        const warnings = host.agent.history.messages.filter(({ role }) => role === "warning");
        expect(warnings).to.have.lengthOf(1);
        expect(warnings[0]?.content).to.match(/^agent_guild_preflight blocked this tool call/);
      });
    });
  }

  it("denies by the host's own repairable exception, not by a class of its own [P1.5]", async () => {
    const host = await open({
      // An extension sees what the ones behind it cannot: the class that the host offers.
      prepare: (root) =>
        root.write(
          `usr/extensions/node/${POINT}/_20_rename.mjs`,
          extension(`
            const { host } = agent;
            Object.defineProperty(host, "RepairableException", {
              value: class extends host.RepairableException { name = "OfThisVeryHost"; },
            });`),
        ),
    });
    host.guild.answer("*", DENYING);
    const thrown: unknown[] = [];
    const { extensions } = host.host;
    const run = extensions.call.bind(extensions);
    extensions.call = (...args) =>
      run(...args).catch((error: unknown) => {
        thrown.push(error);
        throw error;
      });
    expect((await host.call()).kind).to.equal("denied");
    expect(thrown.map((error) => (error as Error).name)).to.deep.equal(["OfThisVeryHost"]);
  });

  describe("deciding whether a call is its business", () => {
    it("goes by the current tool, not by the name that the dispatch hands over [P1.3]", async () => {
      const host = await open({
        prepare: (root) =>
          root.write(
            `usr/extensions/node/${POINT}/_20_rename.mjs`,
            extension(`kwargs.toolName = "open_server.search";`),
          ),
      });
      host.guild.answer("*", DENYING);
      expect((await host.call()).kind).to.equal("denied");
      expect(host.guild.requests).to.have.lengthOf(1);
    });

    it("splits the tool's name at its first full stop [P1.3]", async () => {
      const host = await open({
        servers: { pub_server: { transport: "streamable_http", tools: { "search.deep.er": "found" } } },
      });
      expect(await host.call("pub_server.search.deep.er")).to.deep.equal({ kind: "ran", message: "found" });
      expect(decisions(host).map(({ server, tool }) => [server, tool])).to.deep.equal([
        ["pub_server", "search.deep.er"],
      ]);
    });

    it("leaves the tools of a server that is not protected alone [P1.3]", async () => {
      const host = await open({
        servers: {
          pub_server: { transport: "streamable_http" },
          open_server: { transport: "streamable_http" },
        },
      });
      host.guild.answer("*", DENYING);
      expect((await host.call("open_server.search")).kind).to.equal("ran");
      expect(host.guild.requests).to.be.empty;
      expect(decisions(host)).to.be.empty;
      expect(headings(host)).to.deep.equal(["Agent 0: open_server.search"]);
    });

    it("leaves a local tool alone, though it has the name of a protected MCP tool [P1.3]", async () => {
      const host = await open({
        mcpServers: () => ({ mcpServers: {} }),
        tools: { "pub_server.search": () => "ran here" },
      });
      host.guild.answer("*", DENYING);
      expect(await host.call()).to.deep.equal({ kind: "ran", message: "ran here" });
      expect(host.guild.requests).to.be.empty;
    });

    it("leaves a protected server's name alone where no tool of it is found [P1.3]", async () => {
      const host = await open();
      host.guild.answer("*", DENYING);
      expect(await host.call("pub_server.no_such_tool")).to.deep.equal({
        kind: "ran",
        message: "There is no tool of this name.",
      });
      expect(host.guild.requests).to.be.empty;
      expect(host.server().toolCalls).to.be.empty;
    });

    it("does nothing where no tool is about to run [P1.3]", async () => {
      const host = await open({ config: () => "not a configuration" });
      await host.host.extensions.call(POINT, host.agent, {});
      expect(headings(host)).to.be.empty;
      expect(decisions(host)).to.be.empty;
    });

    const LOOKALIKES = {
      "an object with the name and the methods of an MCP tool": `
        const { name, id } = agent.loopData.currentTool;
        agent.loopData.currentTool = { name, id, execute: async () => ({ message: "", breakLoop: false }) };`,
      "an object that inherits from the MCP tool": `
        agent.loopData.currentTool = Object.create(agent.loopData.currentTool);`,
      "an instance of the MCP tool's own class that the host did not make": `
        const tool = agent.loopData.currentTool;
        const parts = { server: "pub_server", tool: "search" };
        agent.loopData.currentTool = new tool.constructor(tool.name, parts, agent);`,
      "a proxy of the MCP tool": `
        agent.loopData.currentTool = new Proxy(agent.loopData.currentTool, {});`,
    };

    for (const [what, body] of Object.entries(LOOKALIKES)) {
      it(`does not take ${what} for an MCP tool, and nothing runs [P1.3]`, async () => {
        const host = await open({
          prepare: (root) => root.write(`usr/extensions/node/${POINT}/_20_lookalike.mjs`, extension(body)),
        });
        host.guild.answer("*", DENYING);
        const outcome = await host.call();
        expect(outcome.kind).to.equal("denied");
        expect(outcome)
          .to.have.property("message")
          .that.matches(/replaced the tool/);
        expect(host.guild.requests).to.be.empty;
        expect(host.server().toolCalls).to.be.empty;
        expect(decisions(host)).to.be.empty;
      });
    }

    it("acts on an MCP tool that an earlier extension put in a local tool's place [P1.3]", async () => {
      const host = await open({
        tools: { harmless: () => "ran here" },
        prepare: (root) =>
          root.write(
            `usr/extensions/node/${POINT}/_20_swap.mjs`,
            `export default class {
              constructor(agent) { this.agent = agent; }
              async execute() {
                this.agent.loopData.currentTool =
                  await this.agent.host.mcp.findTool(this.agent, "pub_server.search");
              }
            }`,
          ),
      });
      host.guild.answer("*", DENYING);
      expect((await host.call("harmless")).kind).to.equal("denied");
      expect(decisions(host).map(({ reason }) => reason)).to.deep.equal(["do_not_delegate"]);
    });
  });

  describe("installed but not configured", () => {
    it("asks nobody, logs nothing and records nothing [P1.4]", async () => {
      const host = await open({ config: () => null });
      host.guild.answer("*", DENYING);
      expect((await host.call()).kind).to.equal("ran");
      expect(host.guild.requests).to.be.empty;
      expect(headings(host)).to.deep.equal(["Agent 0: pub_server.search"]);
      expect(host.agent.getData(LAST_OBSERVATION_KEY)).to.equal(undefined);
      expect(host.agent.getData(DECISIONS_KEY)).to.equal(undefined);
    });

    it("knows the shipped default by its hash, and means what it says [P1.4]", () => {
      const bytes = readFileSync(join(packageRoot, "default_config.yaml"));
      expect(createHash("sha256").update(bytes).digest("hex")).to.equal(SHIPPED_DEFAULT_SHA256);
      expect(readSettings(parseYaml11(bytes.toString()))).to.deep.equal({
        kind: "valid",
        settings: DEFAULT_SETTINGS,
      });
    });

    it("reads a default file that was edited [P1.4]", async () => {
      const host = await open({
        config: () => null,
        prepare: (root, world) =>
          root.write(`${PLUGIN_FOLDER}/default_config.yaml`, JSON.stringify(protecting(world, "pub_server"))),
      });
      host.guild.answer("*", DENYING);
      expect((await host.call()).kind).to.equal("denied");
      expect(host.guild.requests).to.have.lengthOf(1);
    });
  });

  describe("in a process of its own, in which undici, zod and yaml cannot be loaded", () => {
    /**
     * Runs the installed extension for one call of `pub_server.search`, in a host that offers nothing but what
     * `helpers/host.ts` asks for, and reports what the plugin did. No connection and no lookup can succeed.
     */
    const CHILD = `
      import dns from "node:dns";
      import { syncBuiltinESMExports } from "node:module";
      import net from "node:net";
      import { pathToFileURL } from "node:url";

      const [file, root] = process.argv.slice(1);
      const report = { outcome: "passed", network: 0, mcpReads: 0, log: 0, records: 0 };
      const refuse = () => { report.network += 1; throw new Error("no network here"); };
      net.Socket.prototype.connect = refuse;
      dns.lookup = refuse;
      syncBuiltinESMExports();

      const { default: Extension } = await import(pathToFileURL(file).href);
      const currentTool = {};
      const agent = {
        config: { profile: "agent0" },
        context: {
          getData: (key) => (key === "project" ? "alpha" : undefined),
          log: { log: () => { report.log += 1; } },
        },
        loopData: { currentTool },
        getData: () => undefined,
        setData: () => { report.records += 1; },
        host: {
          root,
          vouchedMcpToolName: (tool) => (tool === currentTool ? "pub_server.search" : null),
          mcpConfiguration: () => { report.mcpReads += 1; return { servers: [], collidingNames: new Set() }; },
          cancellation: () => new AbortController().signal,
          RepairableException: class extends Error { code = "repairable"; },
        },
      };
      try {
        await new Extension(agent).execute({});
      } catch (error) {
        const isOfPackages = String(error.message).includes("packages are missing: run npm ci");
        report.outcome = isOfPackages ? "packages are missing" : error.code ?? String(error);
      }
      process.stdout.write(JSON.stringify(report));`;

    const NOTHING = { outcome: "passed", network: 0, mcpReads: 0, log: 0, records: 0 };

    /** A root with the plugin installed, but without the packages that it depends on. */
    function installWithoutPackages(): HostRoot {
      const root = new HostRoot();
      closings.push(() => root.remove());
      root.installPlugin();
      root.delete(`${PLUGIN_FOLDER}/node_modules`);
      return root;
    }

    async function run(root: HostRoot, environment: Readonly<Record<string, string>> = {}): Promise<unknown> {
      const file = join(root.path, PLUGIN_FOLDER, "extensions/node", POINT, "_45_agent_guild_preflight.js");
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ["--input-type=module", "-e", CHILD, file, root.path],
        { env: { ...process.env, ...environment } },
      );
      return JSON.parse(stdout);
    }

    it("does nothing at all while it is not configured [P1.4]", async () => {
      expect(await run(installWithoutPackages())).to.deep.equal(NOTHING);
    });

    it("does nothing at all while only another plugin is configured [P1.4]", async () => {
      const root = installWithoutPackages();
      root.writeConfig({ mode: "inherit" }, {}, "_tool_access");
      expect(await run(root, { A0_SET__tool_access__mode: "custom" })).to.deep.equal(NOTHING);
    });

    const CONFIGURED = {
      "a global config.json": (root: HostRoot) => root.writeConfig({}),
      "a project's config.json": (root: HostRoot) => root.writeConfig({}, { project: "alpha" }),
      "a profile's config.json": (root: HostRoot) => root.writeConfig({}, { profile: "agent0" }),
      "a config.json of the project's profile": (root: HostRoot) =>
        root.writeConfig({}, { project: "alpha", profile: "agent0" }),
      "an edited default file": (root: HostRoot) =>
        root.write(`${PLUGIN_FOLDER}/default_config.yaml`, "protected_servers: {}\n"),
    };

    for (const [what, configure] of Object.entries(CONFIGURED)) {
      it(`is configured by ${what}, and stops the call where that cannot be read [P1.4]`, async () => {
        const root = installWithoutPackages();
        configure(root);
        expect(await run(root)).to.deep.equal({ ...NOTHING, outcome: "packages are missing" });
      });
    }

    for (const name of [
      "A0_SET_agent_guild_preflight__timeout_seconds",
      "A0_SET_AGENT_GUILD_PREFLIGHT__TIMEOUT_SECONDS",
    ]) {
      it(`is configured by the environment variable ${name} [P1.4]`, async () => {
        const report = await run(installWithoutPackages(), { [name]: "6" });
        expect(report).to.deep.equal({ ...NOTHING, outcome: "packages are missing" });
      });
    }
  });

  describe("being removed", () => {
    it("has written nothing anywhere below the root [P1.6]", async () => {
      const host = await open({
        config: (world) => protecting(world, "pub_server", { policy: { on_caution: "deny" } }),
      });
      const before = contents(host.root.path);
      expect((await host.call()).kind).to.equal("ran");
      host.guild.answer("*", { kind: "json", body: unsignedCard });
      expect((await host.call("pub_server.echo")).kind, "from the cache").to.equal("ran");
      host.root.writeConfig(
        protecting(host.addresses, "pub_server", { policy: { on_caution: "deny" }, cache_ttl_seconds: 0 }),
      );
      expect((await host.call()).kind).to.equal("denied");
      host.root.writeConfig(protecting(host.addresses, "pub_server", { policy: { on_caution: "deny" } }));
      expect(contents(host.root.path)).to.deep.equal(before);
    });

    it("is gone with its folder: the root is that of a host that never had it [P1.6]", async () => {
      const host = await open();
      host.guild.answer("*", DENYING);
      expect((await host.call()).kind).to.equal("denied");
      host.root.delete(PLUGIN_FOLDER);
      const untouched = await open({ plugin: "missing", config: () => null });
      expect(Object.keys(contents(host.root.path))).to.deep.equal(Object.keys(contents(untouched.root.path)));

      const restarted = await Host.open({ root: host.root.path });
      closings.push(() => restarted.close());
      const { agent0 } = restarted.createContext();
      expect((await host.call("pub_server.search", { text: "x" }, agent0)).kind).to.equal("ran");
      expect(agent0.getData(DECISIONS_KEY)).to.equal(undefined);
      expect(host.guild.requests).to.have.lengthOf(1);
    });
  });
});
