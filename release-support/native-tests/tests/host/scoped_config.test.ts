import { renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";

import { expect } from "chai";
import * as fc from "fast-check";

import {
  explainScopedConfig,
  findConfigFile,
  readScopedConfig,
} from "../../../../helpers/config/scoped_config.ts";
import type { ConfigOptions, ConfigScope, ScopedConfig } from "../../../../helpers/config/scoped_config.ts";
import { PLUGIN_ROOTS, withFileTree } from "../../../conformance/file_tree.ts";
import type { FileTree } from "../../../conformance/file_tree.ts";

type Asked = Partial<Omit<ConfigScope, "root">>;

const BOTH: Asked = { project: "site", profile: "coder" };
const PROJECT_FILE = "usr/projects/site/.a0proj/plugins/p/config.json";
const GLOBAL_FILE = "usr/plugins/p/config.json";
const DEFAULT_FILE = "plugins/p/default_config.yaml";
const PLUGIN: FileTree = { ...PLUGIN_ROOTS, "plugins/p/plugin.yaml": "name: p\n" };

/** Every file of the ladder, the first that exists decides. */
const LADDER = [
  "usr/projects/site/.a0proj/agents/coder/plugins/p/config.json",
  PROJECT_FILE,
  "usr/agents/coder/plugins/p/config.json",
  "plugins/p/agents/coder/plugins/p/config.json",
  "usr/plugins/q/agents/coder/plugins/p/config.json",
  "agents/coder/plugins/p/config.json",
  GLOBAL_FILE,
  "plugins/p/config.json",
  DEFAULT_FILE,
];

async function read(tree: FileTree, asked: Asked = BOTH, options: ConfigOptions = {}): Promise<ScopedConfig> {
  return withFileTree({ ...PLUGIN, ...tree }, async (root) => {
    const config = await readScopedConfig({ root, plugin: "p", ...asked }, { environment: {}, ...options });
    return config.kind === "none" ? config : { ...config, path: relative(root, config.path) };
  });
}

async function problemOf(tree: FileTree): Promise<string> {
  const config = await read(tree);
  return config.kind === "unusable" ? `${config.path}: ${config.problem}` : `not unusable but ${config.kind}`;
}

async function explain(tree: FileTree, asked: Asked = BOTH): Promise<string[]> {
  return withFileTree({ ...PLUGIN, ...tree }, (root) =>
    explainScopedConfig({ root, plugin: "p", ...asked }).places.map(
      ({ scopeName, path, outcome, why }) => `${scopeName} | ${path ?? "-"} | ${outcome} | ${why}`,
    ),
  );
}

describe("the search for a plugin's configuration", () => {
  it("takes the first file of the ladder that exists and merges nothing [P2.1, P2.2]", () =>
    fc.assert(
      fc.asyncProperty(fc.subarray(LADDER), async (present) => {
        const tree = Object.fromEntries(present.map((path) => [path, `{"from": "${path}"}`]));
        const config = await read({ ...tree, "usr/plugins/q/plugin.yaml": "" });
        const [winner] = present;
        if (winner === undefined) expect(config).to.deep.equal({ kind: "none" });
        else expect(config).to.deep.include({ kind: "value", path: winner, value: { from: winner } });
      }),
      { numRuns: 60 },
    ));

  it("names the scope of the file that decides and tells a default from it [P2.1]", async () => {
    expect(await read({ [GLOBAL_FILE]: "{}" })).to.include({ source: "scoped", scopeName: "global" });
    expect(await read({ [DEFAULT_FILE]: "a: 1" })).to.include({ source: "default", scopeName: "default" });
  });

  it("uses the project's file under a named profile, not a wider one [P2.1, G-07]", async () => {
    const tree = {
      [PROJECT_FILE]: '{"from": "project"}',
      "usr/agents/coder/plugins/p/config.json": "{}",
      [GLOBAL_FILE]: "{}",
      [DEFAULT_FILE]: "a: 1",
    };
    expect(await read(tree)).to.deep.include({ path: PROJECT_FILE, value: { from: "project" } });
    const narrower = { ...tree, "usr/projects/site/.a0proj/agents/coder/plugins/p/config.json": "{}" };
    expect(await read(narrower)).to.deep.include({ scopeName: "project profile", value: {} });
  });

  it("takes null and the empty text for no project and no profile [vectors config_scope]", async () => {
    const tree = { [PROJECT_FILE]: "1", "agents/coder/plugins/p/config.json": "2", [GLOBAL_FILE]: "3" };
    expect(await read(tree, { project: null, profile: "" })).to.include({ value: 3 });
  });

  it("goes by the global toggles of the plugins that provide a profile [vectors config_scope]", async () => {
    const file = "usr/plugins/q/agents/coder/plugins/p/config.json";
    const tree = { "usr/plugins/q/plugin.yaml": "", [file]: "1", [GLOBAL_FILE]: "2" };
    const offHere = { ...tree, "usr/projects/site/.a0proj/plugins/q/.toggle-0": "" };
    expect(await read(offHere)).to.include({ scopeName: "plugin profile", value: 1 });
    expect(await read({ ...tree, "usr/plugins/q/.toggle-0": "" })).to.include({ value: 2 });
  });

  it("takes the enabled plugins from a host that knows them, without listing any", async () => {
    const tree = { "usr/plugins/q/agents/coder/plugins/p/config.json": "1" };
    expect(await read(tree)).to.deep.equal({ kind: "none" });
    await withFileTree(tree, (root) => {
      const known = [{ name: "q", path: join(root, "usr/plugins/q"), origin: "user" as const }];
      const found = findConfigFile({ root, plugin: "p", profile: "coder" }, { enabledPlugins: known });
      expect(found).to.include({ kind: "scoped", scopeName: "plugin profile" });
    });
  });

  it("finds the default only beside plugin.yaml, the user's first [vectors config_scope]", async () => {
    const user = { "usr/plugins/p/default_config.yaml": "from: user", [DEFAULT_FILE]: "from: built-in" };
    expect(await read(user)).to.deep.include({ path: DEFAULT_FILE });
    const shadowed = { ...user, "usr/plugins/p/plugin.yaml": "" };
    expect(await read(shadowed)).to.deep.include({ path: "usr/plugins/p/default_config.yaml" });
    expect(await read({ [DEFAULT_FILE]: "a: 1", "usr/plugins/p/plugin.yaml": "" })).to.deep.equal({
      kind: "none",
    });
  });

  it("reads afresh every time: a change counts at the next call [P2.3]", () =>
    withFileTree({ ...PLUGIN, [GLOBAL_FILE]: "1" }, async (root) => {
      const file = join(root, GLOBAL_FILE);
      const value = async () => {
        const config = await readScopedConfig({ root, plugin: "p" });
        return config.kind === "value" ? config.value : config.kind;
      };
      expect(await value()).to.equal(1);
      writeFileSync(file, "2");
      expect(await value()).to.equal(2);
      writeFileSync(`${file}.new`, "3");
      renameSync(`${file}.new`, file);
      expect(await value()).to.equal(3);
      rmSync(file);
      expect(await value()).to.equal("none");
    }));

  it("takes names literally, not as patterns [P2.4]", async () => {
    expect(await read({ [PROJECT_FILE]: "1" }, { project: "s*te" })).to.deep.equal({ kind: "none" });
    expect(
      await read({ "usr/projects/[s]/.a0proj/plugins/p/config.json": "1" }, { project: "[s]" }),
    ).to.include({
      value: 1,
    });
  });

  it("refuses names that lead elsewhere, and an empty plugin or root [P2.4]", () => {
    const scope = { root: "/", plugin: "p" };
    for (const name of [".", "..", "../p", "a/b", "a\0b"]) {
      for (const part of ["plugin", "project", "profile"] as const) {
        expect(() => findConfigFile({ ...scope, [part]: name }), `${part} ${name}`).to.throw(TypeError, part);
      }
    }
    expect(() => findConfigFile({ ...scope, plugin: "" })).to.throw(TypeError, "plugin");
    expect(() => findConfigFile({ ...scope, root: "" })).to.throw(TypeError, "root");
  });
});

describe("a configuration file that decides but cannot be used", () => {
  const WIDER: FileTree = { [GLOBAL_FILE]: '{"protected_servers": {}}', [DEFAULT_FILE]: "a: 1" };
  const unusable: Array<[what: string, text: string, problem: string]> = [
    ["is empty", "", "it is empty"],
    ["holds white space alone", " \n", "it is empty"],
    ["was cut off", '{"protected_servers":{"pub_server":"htt', "it is not valid JSON"],
    ["begins with a byte order mark", '\ufeff{"a": 1}', "it begins with a byte order mark"],
    ["names a member twice", '{"a": 1, "a": 2}', "it names a member twice"],
    ["holds NaN", '{"a": NaN}', "it holds NaN"],
    ["is YAML", "a: 1\n", "it is not valid JSON"],
  ];
  for (const [what, text, problem] of unusable) {
    it(`is unusable when it ${what}: no wider scope replaces it [P2.2, G-06]`, async () => {
      expect(await problemOf({ ...WIDER, [PROJECT_FILE]: text })).to.match(
        new RegExp(`^${PROJECT_FILE.replaceAll(".", "\\.")}: ${problem}`),
      );
    });
  }

  it("is unusable when it is not UTF-8 [P2.2]", () =>
    withFileTree({ ...PLUGIN, ...WIDER, [PROJECT_FILE]: "" }, async (root) => {
      writeFileSync(join(root, PROJECT_FILE), Buffer.from([0x22, 0xff, 0x22]));
      const config = await readScopedConfig({ root, plugin: "p", project: "site" });
      expect(config).to.include({ kind: "unusable", problem: "it is not valid UTF-8" });
    }));

  it("is unusable when it is a default that is not UTF-8 [P2.2]", () =>
    withFileTree({ ...PLUGIN, [DEFAULT_FILE]: "" }, async (root) => {
      writeFileSync(join(root, DEFAULT_FILE), Buffer.from([0x22, 0xff, 0x22]));
      const config = await readScopedConfig({ root, plugin: "p" });
      expect(config).to.include({ kind: "unusable", problem: "it is not valid UTF-8" });
    }));

  it("is unusable when it is a folder [P2.2, G-06]", async () => {
    expect(await problemOf({ ...WIDER, [`${PROJECT_FILE}/`]: "" })).to.equal(
      `${PROJECT_FILE}: it is a folder`,
    );
  });

  it("is a value of its own when it is null or a list: no wider scope replaces it [P2.2, G-06]", async () => {
    expect(await read({ ...WIDER, [PROJECT_FILE]: "null" })).to.deep.include({ kind: "value", value: null });
    expect(await read({ ...WIDER, [PROJECT_FILE]: "[]" })).to.deep.include({ kind: "value", value: [] });
  });

  for (const [target, problem] of [
    ["config.json", "it cannot be read (ELOOP)"],
    ["/dev/null", "it is not a regular file"],
  ] as const) {
    it(`is unusable when it is a link to ${target} [P2.2]`, () =>
      withFileTree({ ...PLUGIN, ...WIDER, [join(PROJECT_FILE, "../")]: "" }, async (root) => {
        symlinkSync(target, join(root, PROJECT_FILE));
        const config = await readScopedConfig({ root, plugin: "p", project: "site" });
        expect(config).to.deep.equal({
          kind: "unusable",
          path: join(root, PROJECT_FILE),
          scopeName: "project",
          problem,
        });
      }));
  }

  it("is absent when a link leads nowhere or a folder on its way is a file [vectors config_scope]", () =>
    withFileTree(
      { ...PLUGIN, ...WIDER, "usr/agents": "a file", [join(PROJECT_FILE, "../")]: "" },
      async (root) => {
        symlinkSync("nowhere", join(root, PROJECT_FILE));
        const config = await readScopedConfig({ root, plugin: "p", ...BOTH });
        expect(config).to.include({ kind: "value", scopeName: "global" });
      },
    ));

  it("bars the search where the plugins that may provide the profile cannot be listed [P2.2]", () =>
    withFileTree({ [DEFAULT_FILE]: "a: 1", "plugins/p/plugin.yaml": "", "usr/": "" }, async (root) => {
      symlinkSync("plugins", join(root, "usr/plugins"));
      const config = await readScopedConfig({ root, plugin: "p", profile: "coder" });
      expect(config).to.deep.equal({
        kind: "unusable",
        path: join(root, "usr/plugins"),
        scopeName: "plugin profile",
        problem: "it cannot be read (ELOOP)",
      });
    }));

  it("is not missed where a plugin root does not exist at all [P2.4]", () =>
    withFileTree({ "agents/coder/plugins/p/config.json": "1" }, async (root) => {
      const config = await readScopedConfig({ root, plugin: "p", profile: "coder" });
      expect(config).to.include({ value: 1 });
    }));

  it("does not matter behind the one that decides [vectors config_scope]", async () => {
    expect(await read({ [PROJECT_FILE]: "1", [GLOBAL_FILE]: "{", [DEFAULT_FILE]: "a: [" })).to.include({
      value: 1,
    });
  });
});

describe("a default configuration", () => {
  it("is read as YAML 1.1 [P2.2]", async () => {
    expect(await read({ [DEFAULT_FILE]: "a: yes\nb: 010\nc: y\n" })).to.deep.include({
      value: { a: true, b: 8, c: "y" },
    });
  });

  it("is unusable when it is broken, repeats a key or holds NaN [P2.2]", async () => {
    expect(await problemOf({ [DEFAULT_FILE]: "a: [1" })).to.include(`${DEFAULT_FILE}: line `);
    expect(await problemOf({ [DEFAULT_FILE]: "a: 1\na: 2\n" })).to.include("a repeated key");
    expect(await problemOf({ [DEFAULT_FILE]: "a: .nan\n" })).to.include("not a finite number");
  });

  it("is unusable when it is empty, a list or a folder [vectors config_scope]", async () => {
    expect(await problemOf({ [DEFAULT_FILE]: "" })).to.include("it is not a map of settings");
    expect(await problemOf({ [DEFAULT_FILE]: "- a\n" })).to.include("it is not a map of settings");
    expect(await problemOf({ [`${DEFAULT_FILE}/`]: "" })).to.include("it is a folder");
  });

  it("takes overrides from the environment, which a config.json does not [P2.2]", async () => {
    const environment = { A0_SET_p__n: "2" };
    expect(await read({ [DEFAULT_FILE]: "n: 1" }, {}, { environment })).to.deep.include({ value: { n: 2 } });
    expect(await read({ [GLOBAL_FILE]: '{"n": 1}' }, {}, { environment })).to.deep.include({
      value: { n: 1 },
    });
  });

  it("tells 1.0 from 1 where the environment overrides it [vectors config_scope]", async () => {
    const environment = { A0_SET_p__a__f: "2.5", A0_SET_p__a__i: "2.5", A0_SET_p__a__t: "2.5" };
    const tree = { [DEFAULT_FILE]: 'a:\n  f: 1.0\n  i: 1\n  t: "1.0"\n' };
    expect(await read(tree, {}, { environment })).to.deep.include({
      value: { a: { f: 2.5, i: 1, t: "2.5" } },
    });
  });
});

describe("the explanation of a search", () => {
  it("lists every place in order and what came of it [P2.4]", async () => {
    expect(await explain({ [PROJECT_FILE]: "{}", [DEFAULT_FILE]: "a: 1" })).to.deep.equal([
      "project profile | usr/projects/site/.a0proj/agents/coder/plugins/p/config.json | absent | it does not exist",
      "project | usr/projects/site/.a0proj/plugins/p/config.json | chosen | the first that exists decides",
      "user profile | usr/agents/coder/plugins/p/config.json | absent | it does not exist",
      "plugin profile | plugins/p/agents/coder/plugins/p/config.json | absent | it does not exist",
      "built-in profile | agents/coder/plugins/p/config.json | absent | it does not exist",
      "global | usr/plugins/p/config.json | absent | it does not exist",
      "built-in | plugins/p/config.json | absent | it does not exist",
      "default | usr/plugins/p/default_config.yaml | not considered | its folder holds no plugin.yaml",
      "default | plugins/p/default_config.yaml | not reached | a place before it decides",
    ]);
  });

  it("tells the places that do not exist for the scope [P2.4]", async () => {
    const explained = await explain({}, {});
    expect(explained.slice(0, 5)).to.deep.equal([
      "project profile | - | not considered | no project is selected",
      "project | - | not considered | no project is selected",
      "user profile | - | not considered | no profile is selected",
      "plugin profile | - | not considered | no profile is selected",
      "built-in profile | - | not considered | no profile is selected",
    ]);
  });

  it("tells why a default is not considered [P2.4]", async () => {
    const explained = await explain({ "usr/plugins/p/plugin.yaml": "", [DEFAULT_FILE]: "a: 1" }, {});
    expect(explained.at(-1)).to.equal(
      `default | ${DEFAULT_FILE} | not considered | the user's plugin of this name replaces it`,
    );
  });

  it("tells an unreadable file that decides [P2.2]", async () => {
    expect(await explain({ [`${GLOBAL_FILE}/`]: "", [DEFAULT_FILE]: "a: 1" })).to.include.members([
      `global | ${GLOBAL_FILE} | unreadable | it is a folder`,
      `default | ${DEFAULT_FILE} | not reached | a place before it decides`,
    ]);
  });

  it("finds what the search finds [P2.4]", () =>
    fc.assert(
      fc.asyncProperty(fc.subarray(LADDER), async (present) => {
        const tree = Object.fromEntries(present.map((path) => [path, "{}"]));
        await withFileTree({ ...PLUGIN, "usr/plugins/q/plugin.yaml": "", ...tree }, (root) => {
          const scope = { root, plugin: "p", project: "site", profile: "coder" };
          const { found, places } = explainScopedConfig(scope);
          expect(found).to.deep.equal(findConfigFile(scope));
          const chosen = places.filter(({ outcome }) => outcome === "chosen").map(({ path }) => path);
          expect(chosen).to.deep.equal(present.slice(0, 1));
        });
      }),
      { numRuns: 40 },
    ));
});
