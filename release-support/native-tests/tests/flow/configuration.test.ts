import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";

import { expect } from "chai";

import type { DecisionRecord } from "../../../../helpers/decision/evidence.ts";
import { LAST_OBSERVATION_KEY } from "../../../../helpers/decision/evidence.ts";
import { gate } from "../../../../helpers/gate.ts";
import type { GateAgent } from "../../../../helpers/host.ts";
import { CHECKS } from "../../../../helpers/preflight/preflight_contract.ts";
import { parseYaml11 } from "../../../../helpers/formats/yaml_11.ts";
import { protecting } from "../../../fixtures/gated_host.ts";
import type { GatedHost, Addresses, GatedHostOptions } from "../../../fixtures/gated_host.ts";
import { HostRoot } from "../../../fixtures/host_root.ts";
import { healthy, unsignedCard } from "../../../guild/preflight_bodies.ts";
import { packageRoot } from "../../../packaging/package_root.ts";
import { gatedSuite } from "../gated_suite.ts";

const PLUGIN = "agent_guild_preflight";
const DEFAULT_FILE = `usr/plugins/${PLUGIN}/default_config.yaml`;
const PROJECT_AND_PROFILE = { project: "alpha", profile: "agent0" };
const OPEN = { protected_servers: {} };

/** Where a `config.json` may lie for project `alpha` and profile `agent0`, in the order of the search. */
const LADDER = [
  `usr/projects/alpha/.a0proj/agents/agent0/plugins/${PLUGIN}/config.json`,
  `usr/projects/alpha/.a0proj/plugins/${PLUGIN}/config.json`,
  `usr/agents/agent0/plugins/${PLUGIN}/config.json`,
  `usr/plugins/helper/agents/agent0/plugins/${PLUGIN}/config.json`,
  `agents/agent0/plugins/${PLUGIN}/config.json`,
  `usr/plugins/${PLUGIN}/config.json`,
  `plugins/${PLUGIN}/config.json`,
  DEFAULT_FILE,
] as const;

interface ConfigCase {
  readonly "G-06": { readonly project_file_bytes: Readonly<Record<string, string>> };
  readonly "G-07": {
    readonly files: { readonly project: Readonly<Record<string, unknown>> };
    readonly guild_response: Readonly<Record<string, unknown>>;
  };
  readonly "G-09": { readonly yaml_variants: Readonly<Record<string, string>> };
}

/** The input of a recorded case. */
function caseInput<Id extends keyof ConfigCase>(wanted: Id): ConfigCase[Id] {
  const file = join(packageRoot, "release-support", "native-tests", "cases", "cases.json");
  const cases = JSON.parse(readFileSync(file, "utf8")) as { id: string; input: ConfigCase[Id] }[];
  const found = cases.find(({ id }) => id === wanted);
  if (found === undefined) throw new Error(`the case ${wanted} is missing`);
  return found.input;
}

function lastRecord({ agent }: GatedHost): DecisionRecord | undefined {
  return agent.getData(LAST_OBSERVATION_KEY) as DecisionRecord | undefined;
}

/** How a call ended, in a word: `ran`, or the reason in the denial. */
async function outcomeOf(host: GatedHost): Promise<string> {
  const outcome = await host.call();
  if (outcome.kind === "failed") return `failed: ${String(outcome.error)}`;
  return outcome.kind === "ran" ? "ran" : (/\((\w+)\)/.exec(outcome.message)?.[1] ?? outcome.message);
}

describe("the configuration as the gate sees it", () => {
  const { open, closings } = gatedSuite();

  /** Sets an environment variable until the test is over. */
  function setEnvironment(name: string, value: string): void {
    process.env[name] = value;
    closings.push(() => {
      delete process.env[name];
    });
  }

  /** A policy that every healthy endpoint meets, recognisable by how many checks it requires. */
  function numbered(world: Addresses, count: number): Record<string, unknown> {
    return protecting(world, "pub_server", {
      policy: { required_proven: CHECKS.slice(0, count), tolerate_unknown_required: true },
    });
  }

  describe("searched for", () => {
    it("is the first file of the ladder that exists; the next one counts once it is gone [P2.1]", async () => {
      const [last, ...scoped] = LADDER.toReversed();
      const host = await open({
        config: () => null,
        context: PROJECT_AND_PROFILE,
        prepare: (root, world) => {
          root.write("usr/plugins/helper/plugin.yaml", "name: helper\n");
          for (const [index, path] of LADDER.entries()) root.write(path, numbered(world, index % 7));
          root.write(last ?? "", protecting(world, "pub_server", { policy: { required_proven: [] } }));
        },
      });
      const decidedBy: number[] = [];
      for (const path of scoped.toReversed()) {
        expect(await outcomeOf(host), path).to.equal("ran");
        decidedBy.push(lastRecord(host)?.policy.required_proven.length ?? -1);
        host.root.delete(path);
      }
      expect(decidedBy).to.deep.equal([0, 1, 2, 3, 4, 5, 6]);
      expect(await outcomeOf(host)).to.equal("ran");
      expect(lastRecord(host)?.policy.tolerate_unknown_required, "the default file").to.equal(false);
    });

    it("goes by project and profile of the very agent that calls [P2.1]", async () => {
      const host = await open({
        prepare: (root) => {
          root.writeConfig(OPEN, { project: "beta" });
          root.writeConfig(OPEN, { profile: "coder" });
        },
      });
      host.guild.answer("*", { kind: "json", body: (target) => ({ ...healthy(target), target: "" }) });
      const agents = [
        {},
        { project: "alpha" },
        { project: "beta" },
        { profile: "coder" },
        { project: "alpha", profile: "coder" },
      ].map((options) => host.host.createContext(options).agent0);
      const kinds: string[] = [];
      for (const agent of agents) kinds.push((await host.call(undefined, undefined, agent)).kind);
      expect(kinds).to.deep.equal(["denied", "denied", "ran", "ran", "ran"]);
    });

    describe("with a file of the project (case G-07)", () => {
      const { files, guild_response: answer } = caseInput("G-07");

      function openProject(prepare: NonNullable<GatedHostOptions["prepare"]> = () => undefined) {
        return open({
          config: () => OPEN,
          context: PROJECT_AND_PROFILE,
          prepare: (root, world) => {
            const config = protecting(world, "pub_server", { policy: files.project["policy"] });
            root.writeConfig(config, { project: "alpha" });
            root.writeConfig(OPEN, { profile: "agent0" });
            root.write(DEFAULT_FILE, OPEN);
            prepare(root, world);
          },
        });
      }

      it("is the project's file also under a named profile [P2.1]", async () => {
        const host = await openProject();
        host.guild.answer("*", { kind: "json", body: (target) => ({ ...answer, target }) });
        expect(await outcomeOf(host)).to.equal("do_not_delegate");
        expect(host.guild.requests).to.have.lengthOf(1);
        expect(host.server().toolCalls).to.be.empty;
      });

      it("is the whole narrower file, an empty list in it included: nothing is merged [P2.1, P2.2]", async () => {
        const host = await openProject((root) => root.writeConfig(OPEN, PROJECT_AND_PROFILE));
        host.guild.answer("*", { kind: "json", body: (target) => ({ ...answer, target }) });
        expect(await outcomeOf(host)).to.equal("ran");
        expect(host.guild.requests).to.be.empty;
        expect(host.server().toolCalls).to.have.lengthOf(1);
      });
    });

    it("never takes a policy from a wider file than the one that decides [P2.2]", async () => {
      const host = await open({
        config: (world) => protecting(world, "pub_server", { policy: { on_caution: "deny" } }),
        context: { project: "alpha" },
        prepare: (root, world) => root.writeConfig(protecting(world, "pub_server"), { project: "alpha" }),
      });
      host.guild.answer("*", { kind: "json", body: unsignedCard });
      expect(await outcomeOf(host)).to.equal("ran");
      expect(lastRecord(host)?.policy.on_caution).to.equal("allow");
    });
  });

  describe("that cannot be used", () => {
    /** A host whose project file holds these bytes, while the global file is valid and protects nothing. */
    async function openWithProjectFile(content: string | Uint8Array): Promise<GatedHost> {
      return await open({
        config: () => OPEN,
        context: { project: "alpha" },
        prepare: (root) => root.writeConfig(content, { project: "alpha" }),
      });
    }

    async function expectInvalid(host: GatedHost): Promise<void> {
      expect(await outcomeOf(host)).to.equal("configuration_invalid");
      expect(host.guild.requests).to.be.empty;
      expect(host.server().toolCalls).to.be.empty;
    }

    const { project_file_bytes: recorded } = caseInput("G-06");
    const BYTES: Readonly<Record<string, string | Uint8Array>> = {
      "holds nothing (case G-06 a)": "",
      "is half written (case G-06 b)": recorded["b"] ?? "",
      "holds null (case G-06 c)": recorded["c"] ?? "",
      "holds a list (case G-06 d)": recorded["d"] ?? "",
      "begins with a byte order mark (case G-06 e)": '\uFEFF{"protected_servers":{}}',
      "holds white space alone": " \n",
      "is not UTF-8": Buffer.from([
        ...Buffer.from('{"protected_servers":{"'),
        0xff,
        ...Buffer.from('":""}}'),
      ]),
      "has a comment": '{"protected_servers":{}} // nothing',
      "has a trailing comma": '{"protected_servers":{},}',
      "is in single quotes": "{'protected_servers':{}}",
      "holds two documents": '{"protected_servers":{}}{"protected_servers":{}}',
      "is YAML": "protected_servers: {}\n",
      "repeats a setting": '{"protected_servers":{},"protected_servers":{}}',
      "repeats a nested setting": '{"policy":{"on_caution":"deny","on_caution":"allow"}}',
      "repeats a setting in another spelling": '{"policy":{},"pol\\u0069cy":{}}',
      "holds NaN": '{"timeout_seconds":NaN}',
      "holds an infinity": '{"timeout_seconds":Infinity}',
      "holds a number too large": '{"timeout_seconds":1e999}',
    };

    for (const [what, content] of Object.entries(BYTES)) {
      it(`denies when the file ${what}; no wider file replaces it [P2.2]`, async () => {
        await expectInvalid(await openWithProjectFile(content));
      });
    }

    it("denies when the file is a folder; no wider file replaces it (case G-06 f) [P2.2]", async () => {
      await expectInvalid(
        await open({
          config: () => OPEN,
          context: { project: "alpha" },
          prepare: (root) => {
            mkdirSync(join(root.path, LADDER[1]), { recursive: true });
          },
        }),
      );
    });

    it("says which file it is by its scope, and nothing of its content [P2.2]", async () => {
      const host = await openWithProjectFile('{"s3cret":');
      const outcome = await host.call();
      expect(outcome)
        .to.have.property("message")
        .that.includes('Configuration: config.json of scope "project"')
        .and.does.not.include("s3cret")
        .and.does.not.include(host.root.path);
    });
  });

  describe("in the default file", () => {
    /** A host whose only configuration is this text of `default_config.yaml`, addresses filled in. */
    async function openWithDefault(text: (world: Addresses) => string): Promise<GatedHost> {
      return await open({
        config: () => null,
        prepare: (root, world) => root.write(DEFAULT_FILE, text(world)),
      });
    }

    /** As text, the URL of the example replaced, and the scripted Guild named. */
    function onLoopback(text: string, { urls, guildOrigin }: Addresses): string {
      const url = urls["pub_server"] ?? "";
      return `${text.replaceAll("https://pub.example.com/mcp", url)}fixture_guild_origin: ${guildOrigin}\n`;
    }

    const { yaml_variants: variants } = caseInput("G-09");
    const REFUSED = {
      "a quoted yes is a text": "a",
      "a merge key does not hide the unknown setting that it comes from": "b",
      "an alias bomb is no map of URLs": "c",
      "a flow list is not closed": "d",
      "a key is repeated": "e",
      "there are two documents": "f",
    };

    for (const [why, variant] of Object.entries(REFUSED)) {
      it(`is invalid where ${why} (case G-09 ${variant}) [P2.2]`, async () => {
        // The second document of variant f takes in the line that is added.
        const host = await openWithDefault((world) => onLoopback(variants[variant] ?? "", world));
        expect(await outcomeOf(host)).to.equal("configuration_invalid");
        expect(host.guild.requests).to.be.empty;
        expect(host.server().toolCalls).to.be.empty;
      });
    }

    it("is found invalid at once where it is an alias bomb (case G-09 c) [P2.2]", async () => {
      const host = await openWithDefault(() => "[]\n");
      // What reads the file is loaded by now.
      expect(await outcomeOf(host)).to.equal("configuration_invalid");
      host.root.write(DEFAULT_FILE, variants["c"] ?? "");
      const begin = performance.now();
      expect(await outcomeOf(host)).to.equal("configuration_invalid");
      expect(performance.now() - begin).to.be.below(1000);
    });

    it("is invalid in each of these variants without the line that names the Guild [P2.2]", async () => {
      const host = await open({ config: () => null });
      for (const variant of Object.values(REFUSED)) {
        host.root.write(DEFAULT_FILE, variants[variant] ?? "");
        expect(await outcomeOf(host), variant).to.equal("configuration_invalid");
      }
    });

    it("is YAML 1.1, where yes is a boolean (case G-09 g) [P2.2]", async () => {
      const host = await openWithDefault((world) => onLoopback(variants["g"] ?? "", world));
      expect(await outcomeOf(host)).to.equal("ran");
      expect(host.guild.requests).to.have.lengthOf(1);
    });

    for (const word of ["yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"]) {
      it(`takes ${word} for true [P2.2]`, async () => {
        const host = await openWithDefault((world) =>
          onLoopback(
            `allow_private_hosts: ${word}\nprotected_servers: {pub_server: https://pub.example.com/mcp}\n`,
            world,
          ),
        );
        expect(await outcomeOf(host)).to.equal("ran");
        expect(lastRecord(host)?.reason).to.equal("not_denied");
      });
    }

    for (const word of ["y", "Y", "n", "N", "yEs", "'true'", "1", "enabled"]) {
      it(`takes ${word} for no boolean [P2.2]`, async () => {
        const host = await openWithDefault((world) =>
          onLoopback(`allow_private_hosts: ${word}\nprotected_servers: {}\n`, world),
        );
        expect(await outcomeOf(host)).to.equal("configuration_invalid");
      });
    }

    for (const prefix of ["A0_SET_agent_guild_preflight__", "A0_SET_AGENT_GUILD_PREFLIGHT__"]) {
      const name = (...keys: string[]) =>
        prefix + (prefix.endsWith("T__") ? keys.join("__").toUpperCase() : keys.join("__"));

      it(`is overridden by the environment variables ${prefix}... [P2.2]`, async () => {
        const host = await openWithDefault((world) =>
          JSON.stringify(protecting(world, "pub_server", { policy: { on_caution: "allow" } })),
        );
        host.guild.answer("*", { kind: "json", body: unsignedCard });
        expect(await outcomeOf(host)).to.equal("ran");
        setEnvironment(name("policy", "on_caution"), "deny");
        expect(await outcomeOf(host)).to.equal("caution");
      });

      it(`is overridden by ${prefix}... also where the shipped file is untouched [P2.2]`, async () => {
        const host = await open({ config: () => null });
        expect(await outcomeOf(host)).to.equal("ran");
        const servers = JSON.stringify({ pub_server: host.server().url });
        setEnvironment(name("protected_servers"), servers);
        // Private hosts stay refused, so the production origin is not asked about this one.
        expect(await outcomeOf(host)).to.equal("ineligible_endpoint");
      });
    }

    it("may become invalid by an override, as by its own text [P2.2]", async () => {
      const host = await openWithDefault((world) =>
        JSON.stringify(protecting(world, "pub_server", { timeout_seconds: 5 })),
      );
      expect(await outcomeOf(host)).to.equal("ran");
      setEnvironment("A0_SET_agent_guild_preflight__timeout_seconds", "61");
      expect(await outcomeOf(host)).to.equal("configuration_invalid");
    });

    it("is overridden alone: a config.json knows no environment [P2.2]", async () => {
      const host = await open({
        config: (world) => protecting(world, "pub_server", { policy: { on_caution: "allow" } }),
      });
      host.guild.answer("*", { kind: "json", body: unsignedCard });
      setEnvironment("A0_SET_agent_guild_preflight__policy__on_caution", "deny");
      setEnvironment("A0_SET_agent_guild_preflight__timeout_seconds", "61");
      expect(await outcomeOf(host)).to.equal("ran");
    });
  });

  describe("read afresh", () => {
    it("counts at the next call once it has changed [P2.3]", async () => {
      const host = await open();
      host.guild.answer("*", { kind: "json", body: unsignedCard });
      expect(await outcomeOf(host)).to.equal("ran");
      host.root.writeConfig(protecting(host.addresses, "pub_server", { policy: { on_caution: "deny" } }));
      expect(await outcomeOf(host)).to.equal("caution");
      host.root.writeConfig(protecting(host.addresses, "pub_server"));
      expect(await outcomeOf(host)).to.equal("ran");
    });

    it("counts at the next call though size and modification time stay the same [P2.3]", async () => {
      const host = await open();
      host.guild.answer("*", { kind: "json", body: unsignedCard });
      const moment = new Date(1_700_000_000_000);
      // As in a rewrite within one tick of the clock.
      const write = (onCaution: string) => {
        const config = JSON.stringify(
          protecting(host.addresses, "pub_server", { policy: { on_caution: onCaution } }),
        ).padEnd(400);
        const path = host.root.writeConfig(config);
        utimesSync(path, moment, moment);
        return statSync(path);
      };
      const results: string[] = [];
      const stats = [];
      for (const onCaution of ["allow", "deny", "allow", "deny"]) {
        stats.push(write(onCaution));
        results.push(await outcomeOf(host));
      }
      expect(results).to.deep.equal(["ran", "caution", "ran", "caution"]);
      expect(new Set(stats.map(({ ino, size, mtimeMs }) => `${ino} ${size} ${mtimeMs}`))).to.have.property(
        "size",
        1,
      );
    });

    it("counts at the next call when it is written right after a call [P2.3]", async () => {
      const host = await open();
      host.guild.answer("*", { kind: "json", body: unsignedCard });
      const results: string[] = [];
      for (let round = 0; round < 10; round += 1) {
        const onCaution = round % 2 === 0 ? "deny " : "allow";
        host.root.writeConfig(
          protecting(host.addresses, "pub_server", { policy: { on_caution: onCaution.trim() } }),
        );
        results.push(await outcomeOf(host));
      }
      expect(results).to.deep.equal(Array.from({ length: 5 }, () => ["caution", "ran"]).flat());
    });

    it("counts at the next call when another file was renamed into its place [P2.3]", async () => {
      const host = await open();
      host.guild.answer("*", { kind: "json", body: unsignedCard });
      expect(await outcomeOf(host)).to.equal("ran");
      const next = host.root.write(
        "next.json",
        protecting(host.addresses, "pub_server", { policy: { on_caution: "deny" } }),
      );
      renameSync(next, join(host.root.path, LADDER[5]));
      expect(await outcomeOf(host)).to.equal("caution");
    });

    it("counts at the next call when it appears at a narrower scope, and when it is gone again [P2.3]", async () => {
      const host = await open({ context: PROJECT_AND_PROFILE });
      expect(await outcomeOf(host)).to.equal("ran");
      expect(host.guild.requests).to.have.lengthOf(1);
      const path = host.root.writeConfig([], PROJECT_AND_PROFILE);
      expect(await outcomeOf(host)).to.equal("configuration_invalid");
      host.root.delete(`usr/projects/alpha/.a0proj/agents/agent0/plugins/${PLUGIN}`);
      expect(readdirSync(dirname(dirname(path)))).to.be.empty;
      expect(await outcomeOf(host)).to.equal("ran");
    });

    it("counts at the next call when the default file changes [P2.3]", async () => {
      const host = await open({ config: () => null });
      expect(await outcomeOf(host)).to.equal("ran");
      host.root.write(DEFAULT_FILE, "protected_servers: []\n");
      expect(await outcomeOf(host)).to.equal("configuration_invalid");
      host.root.write(DEFAULT_FILE, readFileSync(join(packageRoot, "default_config.yaml"), "utf8"));
      expect(await outcomeOf(host)).to.equal("ran");
    });
  });

  describe("of a project or profile with an odd name", () => {
    /** Names that are no folder's. */
    const IMPOSSIBLE = ["..", ".", "../beta", "beta/../beta", "/etc", "beta\0", "\0"];
    /** Names that are a pattern elsewhere. */
    const PATTERNS = ["*", "**", "bet?", "[b]eta", "{beta,x}", "b*"];

    /** Files that a name taken for a path or a pattern would lead to; none of them protects anything. */
    function layTraps(root: HostRoot): void {
      for (const folder of [
        "",
        "usr",
        "usr/projects",
        "usr/projects/beta",
        "usr/agents",
        "usr/agents/beta",
      ]) {
        root.write(join(folder, "plugins", PLUGIN, "config.json"), OPEN);
        root.write(join(folder, ".a0proj", "plugins", PLUGIN, "config.json"), OPEN);
        root.write(join(folder, ".a0proj", "mcp_servers.json"), { mcpServers: {} });
      }
    }

    async function openWithTraps(): Promise<GatedHost> {
      return await open({ config: () => null, prepare: layTraps });
    }

    for (const name of IMPOSSIBLE) {
      it(`runs nothing for a project named ${JSON.stringify(name)} [P2.4]`, async () => {
        const host = await openWithTraps();
        host.agent.context.setData("project", name);
        expect(await outcomeOf(host)).to.not.equal("ran");
        expect(host.server().toolCalls).to.be.empty;
        expect(host.guild.requests).to.be.empty;
      });

      it(`runs nothing for a profile named ${JSON.stringify(name)} [P2.4]`, async () => {
        const host = await openWithTraps();
        const { agent0 } = host.host.createContext({ profile: name });
        expect((await host.call(undefined, undefined, agent0)).kind).to.not.equal("ran");
        expect(host.server().toolCalls).to.be.empty;
        expect(host.guild.requests).to.be.empty;
      });
    }

    it("reads no MCP servers from where the name of a project leads [P2.4]", async () => {
      const host = await open({
        servers: {
          pub_server: { transport: "streamable_http" },
          elsewhere: { transport: "streamable_http" },
        },
        mcpServers: () => ({ mcpServers: {} }),
        prepare: (root, { urls }) =>
          root.write("usr/.a0proj/mcp_servers.json", {
            mcpServers: { pub_server: { url: urls["elsewhere"], type: "streamable-http" } },
          }),
      });
      host.agent.context.setData("project", "..");
      await host.call();
      expect(host.server("elsewhere").connections).to.equal(0);
    });

    for (const name of PATTERNS) {
      it(`takes ${JSON.stringify(name)} for the name of one folder and no pattern [P2.4]`, async () => {
        const host = await open({
          context: { project: name, profile: name },
          prepare: (root) => {
            for (const place of [
              { project: "beta" },
              { profile: "beta" },
              { project: "beta", profile: "beta" },
            ])
              root.writeConfig(OPEN, place);
          },
        });
        expect(await outcomeOf(host)).to.equal("ran");
        expect(lastRecord(host)?.reason, "under the global file").to.equal("not_denied");
        host.root.writeConfig([], { project: name });
        expect(await outcomeOf(host), "under the file of that very folder").to.equal("configuration_invalid");
      });
    }

    /** Values that are no names at all; some count as none in other languages, one would be read as `alpha`. */
    const NO_NAMES: readonly unknown[] = [42, 0, true, false, {}, [], ["alpha"]];

    for (const project of NO_NAMES) {
      it(`does not fall back to a wider scope where the project is ${JSON.stringify(project)} [P2.4]`, async () => {
        const host = await open({ config: () => OPEN });
        host.agent.context.setData("project", project);
        expect(await outcomeOf(host)).to.not.equal("ran");
        expect(host.server().toolCalls).to.be.empty;
      });
    }

    for (const project of [undefined, null, ""]) {
      it(`takes ${JSON.stringify(project) ?? "undefined"} for no project [P2.4]`, async () => {
        const host = await open();
        host.agent.context.setData("project", project);
        expect(await outcomeOf(host)).to.equal("ran");
        expect(lastRecord(host)?.reason).to.equal("not_denied");
      });
    }

    describe("in a host that does not check it", () => {
      class Repairable extends Error {}

      /** An agent whose only MCP tool is about to run, in a root where nothing is protected at any wider scope. */
      function agentOf(root: HostRoot, project: unknown, profile: unknown): GateAgent {
        const currentTool = {};
        return {
          config: { profile: profile as string },
          context: {
            getData: (key) => (key === "project" ? project : undefined),
            log: { log: () => expect.fail("a record of an invalid configuration") },
          },
          loopData: { currentTool },
          getData: () => undefined,
          setData: () => expect.fail("a record of an invalid configuration"),
          host: {
            root: root.path,
            vouchedMcpToolName: (tool) => (tool === currentTool ? "pub_server.search" : null),
            mcpConfiguration: () => ({ servers: [], collidingNames: new Set() }),
            cancellation: () => new AbortController().signal,
            RepairableException: Repairable,
          },
        };
      }

      async function outcomeIn(project: unknown, profile: unknown): Promise<string> {
        const root = new HostRoot();
        closings.push(() => root.remove());
        root.installPlugin();
        layTraps(root);
        try {
          await gate(agentOf(root, project, profile));
          return "passed";
        } catch (error) {
          if (!(error instanceof Repairable)) throw error;
          return /\((\w+)\)/.exec(error.message)?.[1] ?? "";
        }
      }

      it("passes where there is neither [P2.4]", async () => {
        expect(await outcomeIn(undefined, "")).to.equal("passed");
      });

      for (const name of [...IMPOSSIBLE, ...NO_NAMES]) {
        it(`denies for the project ${JSON.stringify(name)} [P2.4]`, async () => {
          expect(await outcomeIn(name, "")).to.equal("configuration_invalid");
        });

        it(`denies for the profile ${JSON.stringify(name)} [P2.4]`, async () => {
          expect(await outcomeIn(undefined, name)).to.equal("configuration_invalid");
        });
      }
    });
  });

  describe("declared in plugin.yaml", () => {
    const manifest = parseYaml11(readFileSync(join(packageRoot, "plugin.yaml"), "utf8")) as Record<
      string,
      unknown
    >;

    it("may be scoped to projects and profiles, and the plugin may be switched off [P2.5]", () => {
      expect(manifest).to.deep.include({
        name: PLUGIN,
        per_project_config: true,
        per_agent_config: true,
        always_enabled: false,
      });
    });

    it("has no settings form: no section, and no file that would be one [P2.5]", async () => {
      expect(manifest["settings_sections"]).to.deep.equal([]);
      const root = new HostRoot();
      closings.push(() => root.remove());
      root.installPlugin();
      expect(readdirSync(join(root.path, "usr", "plugins", PLUGIN))).to.have.members([
        "LICENSE",
        "NOTICE",
        "README.md",
        "default_config.yaml",
        "extensions",
        "helpers",
        "node_modules",
        "package.json",
        "plugin.yaml",
        "release_manifest.json",
      ]);
    });

    it("stays with the host that switched the plugin off for a project [P2.5]", async () => {
      const host = await open({
        prepare: (root) => root.write(`usr/projects/alpha/.a0proj/plugins/${PLUGIN}/.toggle-0`, ""),
      });
      host.guild.answer("*", { kind: "json", status: 500 });
      const { agent0 } = host.host.createContext({ project: "alpha" });
      expect((await host.call(undefined, undefined, agent0)).kind).to.equal("ran");
      expect(await outcomeOf(host)).to.equal("evidence_unavailable");
    });
  });
});
