import { cpSync, mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

import { expect } from "chai";

import { jsonPlace } from "../../../cli/json_place.ts";
import { doctorDocument } from "../../../cli/output_schemas.ts";
import { urlDifference } from "../../../cli/url_difference.ts";
import { HostRoot } from "../../../fixtures/host_root.ts";
import { packageRoot } from "../../../packaging/package_root.ts";
import { makePluginDirectory } from "../../../packaging/plugin_package.ts";
import { cli, documentIn, expectFitForTerminal } from "./support.ts";

const PUB = "https://pub.example.com/mcp";
const PLUGIN = "usr/plugins/agent_guild_preflight";
const POINT = "extensions/node/tool_execute_before";

const remote = (url: string) => ({ url, type: "streamable-http" });

describe("the verdict of doctor", () => {
  let root: HostRoot;

  beforeEach(() => {
    root = new HostRoot();
    root.installPlugin();
    root.writeMcpServers({ mcpServers: { pub: remote(PUB), news: remote("https://news.example.com/mcp") } });
    root.writeConfig({ protected_servers: { pub: PUB } });
  });

  afterEach(() => root.remove());

  const doctor = async (at = root.path) => {
    const [text, json] = await Promise.all([
      cli(["doctor", "--root", at]),
      cli(["doctor", "--root", at, "--json"]),
    ]);
    expectFitForTerminal(text.stdout);
    const document = documentIn(json, doctorDocument);
    expect(text.code).to.equal(document.ok ? 0 : 1);
    const codes = document.findings.map(({ level, code }) => `${level} ${code}`);
    return { text: text.stdout, code: text.code, document, codes, first: text.stdout.split("\n")[0] };
  };

  it("comes first and claims no more than was looked at [C10]", async () => {
    const { first, text, code } = await doctor();
    expect(first).to.equal(
      "1 of 2 remote MCP servers protected, and no problem found. Neither the Guild nor",
    );
    expect(text).to.include("a server was asked: --live does.").and.to.not.include("project profile");
    expect(code).to.equal(0);
    const verbose = await cli(["doctor", "--root", root.path, "--verbose"]);
    expect(verbose.stdout).to.include("project profile");
  });

  it("shows the policy in force [C10]", async () => {
    root.writeConfig({
      protected_servers: { pub: PUB },
      policy: { on_caution: "deny" },
      timeout_seconds: 30,
    });
    const { text } = await doctor();
    expect(text).to.include("on caution deny, without usable evidence deny").and.to.include("waits 30 s");
  });

  it("warns where nothing is protected, and says how many servers could be [C10]", async () => {
    root.delete(`${PLUGIN}/config.json`);
    const { first, code, codes, text } = await doctor();
    expect(first).to.equal("Nothing is gated: no server is protected.");
    expect([code, codes]).to.deep.equal([0, ["warning nothing_protected"]]);
    expect(text.replace(/\s+/g, " "))
      .to.include("2 remote MCP servers are configured")
      .and.to.include("> agent-guild-preflight init");
  });

  it("knows a root that is one level off, in either direction [C10]", async () => {
    const { first, code, codes } = await doctor(join(root.path, "usr"));
    expect(first).to.equal("Nothing can be said: this is no host root.");
    expect([code, codes[0]]).to.deep.equal([1, "problem root_level"]);
    const outer = new HostRoot("host/inner");
    outer.write("../usr/x", "");
    outer.write("usr/plugins/x", "");
    const { codes: tooHigh, text } = await doctor(join(outer.path, ".."));
    outer.remove();
    expect(tooHigh).to.include("problem root_level");
    expect(text).to.include("the host root seems to be its folder inner");
  });

  describe("after an update or removal by hand", () => {
    /** What an operator does, and what doctor then begins with and finds. */
    const WAYS: Readonly<
      Record<
        string,
        readonly [change: (root: HostRoot, plugin: string) => void, first: string, codes: string[]]
      >
    > = {
      "rm -rf and cp -r, which takes config.json along": [
        (_, plugin) => {
          rmSync(plugin, { recursive: true });
          makePluginDirectory(plugin, "linked");
        },
        "Nothing is gated: no server is protected.",
        ["warning nothing_protected"],
      ],
      "copying over the old folder, which leaves extensions of the old version": [
        ({ path }, plugin) => {
          const text = "export default class { execute() {} }\n";
          root.write(`${PLUGIN}/${POINT}/_44_of_the_old_version.js`, text);
          makePluginDirectory(join(path, "new"), "linked");
          rmSync(join(plugin, "node_modules"), { recursive: true });
          cpSync(join(path, "new"), plugin, { recursive: true, verbatimSymlinks: true });
        },
        "1 of 2 remote MCP servers protected, with 1 problem.",
        ["problem stale_extension"],
      ],
      "copying into the old folder, which makes a folder in it": [
        (_, plugin) => makePluginDirectory(join(plugin, "agent_guild_preflight"), "linked"),
        "1 of 2 remote MCP servers protected, with 1 problem.",
        ["problem plugin_nested"],
      ],
      "copying that broke off half-way": [
        (_, plugin) => rmSync(join(plugin, "helpers/formats"), { recursive: true }),
        "No tool runs: an extension cannot be loaded.",
        ["problem extensions_broken", "problem release_incomplete"],
      ],
      "copying that broke off before the gate": [
        (_, plugin) => rmSync(join(plugin, "extensions"), { recursive: true }),
        "The gate does not work: it failed its self-test.",
        ["problem self_test_failed", "problem release_incomplete"],
      ],
      "copying that broke off before plugin.yaml": [
        (_, plugin) => rmSync(join(plugin, "plugin.yaml")),
        "Nothing is gated: the plugin is not installed.",
        ["problem plugin_missing"],
      ],
      "copying of another version's files, but not of its manifest": [
        (_, plugin) => root.write(`${PLUGIN}/helpers/index.js`, "export {};\n") && void plugin,
        "1 of 2 remote MCP servers protected, with 1 problem.",
        ["problem release_changed"],
      ],
      "copying without the manifest": [
        (_, plugin) => rmSync(join(plugin, "release_manifest.json")),
        "1 of 2 remote MCP servers protected, with 1 problem.",
        ["problem release_unknown"],
      ],
      "copying to one level too high": [
        ({ path }, plugin) => renameSync(plugin, join(path, "usr/agent_guild_preflight")),
        "Nothing is gated: the plugin is not installed.",
        ["problem plugin_missing"],
      ],
      "cloning below the repository's name": [
        ({ path }, plugin) => renameSync(plugin, join(path, "usr/plugins/agent-guild-preflight")),
        "Nothing is gated: the plugin is not installed.",
        ["problem plugin_missing", "problem plugin_misnamed"],
      ],
      "deleting the folder": [
        (_, plugin) => rmSync(plugin, { recursive: true }),
        "Nothing is gated: the plugin is not installed.",
        ["problem plugin_missing"],
      ],
      "an installation that was killed between its renames": [
        ({ path }, plugin) => renameSync(plugin, join(path, "usr/plugins/.agent_guild_preflight.old-1")),
        "Nothing is gated: the plugin is not installed.",
        ["problem plugin_missing", "warning install_broken_off"],
      ],
      "an edited default_config.yaml and a file of nobody's": [
        () => {
          root.write(`${PLUGIN}/default_config.yaml`, "{}\n");
          root.write(`${PLUGIN}/notes.txt`, "");
        },
        "1 of 2 remote MCP servers protected, and no problem found. Neither the Guild nor",
        ["warning foreign_files", "warning default_config_changed"],
      ],
      "pulling a clone without npm ci": [
        ({ path }, plugin) => {
          rmSync(plugin, { recursive: true });
          mkdirSync(join(plugin, "dist"), { recursive: true });
          mkdirSync(join(plugin, "release-support"));
          for (const part of [
            "helpers",
            "plugin.yaml",
            "default_config.yaml",
            "package.json",
            "dist/helpers",
          ])
            cpSync(join(packageRoot, part), join(plugin, part), {
              recursive: true,
              preserveTimestamps: true,
            });
          const gate = `${POINT}/_45_agent_guild_preflight.js`;
          for (const part of [`dist/${gate}`, gate])
            cpSync(join(packageRoot, part), join(plugin, part), { preserveTimestamps: true });
          symlinkSync(join(packageRoot, "node_modules"), join(plugin, "node_modules"));
          root.write(`${PLUGIN}/helpers/gate.ts`, "// newer\n");
          root.writeConfig({ protected_servers: { pub: PUB } });
          expect(path).to.not.equal("");
        },
        "1 of 2 remote MCP servers protected, with 1 problem.",
        ["problem clone_outdated"],
      ],
    };
    for (const [way, [change, first, wanted]] of Object.entries(WAYS)) {
      it(`by ${way} [C7, C10]`, async () => {
        change(root, join(root.path, PLUGIN));
        const seen = await doctor();
        expect(seen.first).to.equal(first);
        expect(seen.codes).to.deep.equal(wanted);
      });
    }

    it("contradicts itself nowhere when the plugin is missing [C10]", async () => {
      root.delete(PLUGIN);
      const { text } = await doctor();
      expect(text).to.not.match(/no MCP tool runs|every call is denied|is valid|protects/);
      expect(text).to.include("Servers that the plugin would protect");
    });

    it("is well again after install, with the configuration that was there [C7, C10]", async () => {
      root.write(`${PLUGIN}/${POINT}/_44_old.js`, "export default class { execute() {} }\n");
      await cli(["install", "--root", root.path]);
      const { codes, document } = await doctor();
      expect([codes, document.verdict.kind]).to.deep.equal([[], "protected"]);
    });
  });

  describe("on what ends the search", () => {
    it("shows both URLs of a mismatch with the first difference marked [C10]", async () => {
      root.writeMcpServers({ mcpServers: { pub: remote(`${PUB}/`) } });
      const { text, document } = await doctor();
      expect(document.servers[0]?.mismatch).to.deep.equal({
        approved: PUB,
        configured: `${PUB}/`,
        differs_at: PUB.length + 1,
      });
      const lines = text.split("\n");
      const at = lines.findIndex((line) => line.includes("configured: "));
      expect(lines[at + 1]?.indexOf("^")).to.equal((lines[at]?.length ?? 0) - 1);
    });

    it("does not show a configured URL that may hold a credential [C10]", async () => {
      root.writeMcpServers({ mcpServers: { pub: remote(`${PUB}?key=secret`) } });
      const { text, document } = await doctor();
      expect(document.servers[0]?.mismatch?.configured).to.equal(null);
      expect(`${text}${JSON.stringify(document)}`).to.not.include("secret");
    });

    it("says why a URL may not be disclosed, by the setting's path, without the URL [C10]", async () => {
      root.writeConfig({ protected_servers: { pub: `${PUB}?key=secret` } });
      const { text, document } = await doctor();
      expect(document.servers[0]?.ineligible?.problem).to.equal("query");
      expect(text).to.include("it holds a question mark").and.to.include("protected_servers.pub");
      expect(`${text}${JSON.stringify(document)}`).to.not.include("secret");
    });

    it("gives line and column of a JSON error, and the place of a repeated member [C10]", async () => {
      root.writeConfig('{\n  "protected_servers": {\n    "pub": "x",\n  }\n}\n');
      expect((await doctor()).document.configuration.errors[0]?.expected).to.match(
        /not valid JSON: see line 4, column 3$/,
      );
      root.writeConfig('{\n  "timeout_seconds": 5,\n  "timeout_seconds": 6\n}\n');
      expect((await doctor()).document.configuration.errors[0]?.expected).to.match(
        /a member twice: timeout_seconds stands again in line 3, column 3$/,
      );
    });
  });
});

describe("the place of a JSON error", () => {
  for (const [name, text, place] of [
    ["a member without a value", '{"a": }', { line: 1, column: 7, repeated: null }],
    ["an unfinished text", '{"a": [1,', { line: 1, column: 10, repeated: null }],
    ["something behind the document", "{}\n x", { line: 2, column: 2, repeated: null }],
    ["a repeated member, escaped", '{"a": 1,\n "\\u0061": 2}', { line: 2, column: 2, repeated: "a" }],
    [
      "a repeated member that is not plain",
      '{"a b": 1, "a b": 2}',
      { line: 1, column: 12, repeated: "<a name>" },
    ],
    ["a number too large", '{"a": 1e999}', { line: 1, column: 7, repeated: null }],
    ["a constant", '{"a": NaN}', { line: 1, column: 7, repeated: null }],
  ] as const) {
    it(`is found: ${name} [C10]`, () => {
      expect(jsonPlace(text)).to.deep.equal(place);
    });
  }

  it("is none in strict JSON [C10]", () => {
    expect(jsonPlace('{"a": [1, -2.5e3, "x\\n", {}, [], true, null]}\n')).to.equal(null);
  });
});

describe("the difference of two URLs", () => {
  it("is none between the same, and where one goes on it is behind the other's end [C10]", () => {
    expect(urlDifference(PUB, PUB)).to.equal(null);
    expect(urlDifference(PUB, `${PUB}/x`)?.differs_at).to.equal(PUB.length + 1);
    expect(urlDifference(PUB, PUB.replace("p", "P"))?.configured).to.equal(null);
    expect(urlDifference(PUB, "http://10.0.0.1/mcp")?.configured).to.equal("http://10.0.0.1/mcp");
  });
});
