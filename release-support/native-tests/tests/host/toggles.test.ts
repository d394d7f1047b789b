import { symlinkSync } from "node:fs";
import { join } from "node:path";

import { expect } from "chai";
import * as fc from "fast-check";

import {
  checkName,
  compareCodePoints,
  enabledPlugins,
  findPluginFolder,
  listPlugins,
  PluginRootError,
} from "../../../../helpers/config/enabled_plugins.ts";
import type { ScopeSelection } from "../../../../helpers/config/enabled_plugins.ts";
import { PLUGIN_ROOTS, withFileTree } from "../../../conformance/file_tree.ts";
import type { FileTree } from "../../../conformance/file_tree.ts";

const PLUGIN = { "plugins/p/plugin.yaml": "name: p\n" };
const BOTH: ScopeSelection = { project: "site", profile: "coder" };

/** From the least to the most specific. */
const SCOPES = [
  "plugins/p",
  "usr/plugins/p",
  "agents/coder/plugins/p",
  "usr/agents/coder/plugins/p",
  "usr/projects/site/.a0proj/plugins/p",
  "usr/projects/site/.a0proj/agents/coder/plugins/p",
];

async function enabled(tree: FileTree, selection: ScopeSelection = BOTH): Promise<string[]> {
  return withFileTree({ ...PLUGIN_ROOTS, ...tree }, (root) =>
    enabledPlugins(root, selection).map(({ name }) => name),
  );
}

function points(text: string): number[] {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0);
}

function compareLists(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((point, index) => point !== other[index]);
  return at === -1 ? one.length - other.length : (one[at] ?? 0) - (other[at] ?? -1);
}

describe("plugin discovery", () => {
  it("takes the user's plugin where both roots have one of that name [H2]", () =>
    withFileTree({ ...PLUGIN, "usr/plugins/p/plugin.yaml": "" }, (root) => {
      const plugin = { name: "p", path: join(root, "usr/plugins/p"), origin: "user" };
      expect(listPlugins(root)).to.deep.equal([plugin]);
      expect(findPluginFolder(root, "p")).to.deep.equal(plugin);
    }));

  it("keeps a plugin whose plugin.yaml is broken or a folder [H2]", async () => {
    expect(await enabled({ "plugins/a/plugin.yaml": "a: [", "plugins/b/plugin.yaml/": "" })).to.deep.equal([
      "a",
      "b",
    ]);
  });

  it("skips hidden folders and those without plugin.yaml, but finds a hidden one that is asked for [vectors]", () =>
    withFileTree({ ...PLUGIN_ROOTS, "plugins/.h/plugin.yaml": "", "plugins/q/config.json": "{}" }, (root) => {
      expect(listPlugins(root)).to.deep.equal([]);
      expect(findPluginFolder(root, ".h")?.name).to.equal(".h");
      expect(findPluginFolder(root, "q")).to.equal(null);
    }));

  it("follows a symbolic link to a plugin's folder", () =>
    withFileTree({ ...PLUGIN_ROOTS, "elsewhere/plugin.yaml": "" }, (root) => {
      symlinkSync(join(root, "elsewhere"), join(root, "usr/plugins/linked"));
      symlinkSync(join(root, "nowhere"), join(root, "usr/plugins/dangling"));
      expect(listPlugins(root).map(({ name }) => name)).to.deep.equal(["linked"]);
    }));

  it("does not pass by a plugin that cannot be looked at", () =>
    withFileTree({ ...PLUGIN_ROOTS, "plugins/p/": "" }, (root) => {
      symlinkSync("plugin.yaml", join(root, "plugins/p/plugin.yaml"));
      expect(listPlugins(root).map(({ name }) => name)).to.deep.equal(["p"]);
    }));

  for (const [missing, present] of [
    ["usr/plugins", "plugins"],
    ["plugins", "usr/plugins"],
  ] as const) {
    it(`fails without ${missing}, unless told that it may be missing [H1]`, () =>
      withFileTree({ [`${present}/p/plugin.yaml`]: "" }, (root) => {
        expect(() => listPlugins(root))
          .to.throw(PluginRootError, "ENOENT")
          .with.property("folder", missing);
        expect(listPlugins(root, "empty").map(({ name }) => name)).to.deep.equal(["p"]);
      }));
  }
});

describe("plugin toggles", () => {
  it("leaves a plugin on without any toggle [vectors]", async () => {
    expect(await enabled(PLUGIN)).to.deep.equal(["p"]);
  });

  it("walks every scope from the built-in root up, as the state machine says [vectors]", () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.nat(3), { minLength: 6, maxLength: 6 }), async (files) => {
        const tree: Record<string, string> = { ...PLUGIN };
        files.forEach((bits, scope) => {
          if (bits & 1) tree[`${SCOPES[scope]}/.toggle-0`] = "";
          if (bits & 2) tree[`${SCOPES[scope]}/.toggle-1`] = "";
        });
        // What a scope does: nothing, off, on, or the other way round when it holds both files.
        const on = files.reduce((state, bits) => [state, false, true, !state][bits] ?? state, true);
        expect(await enabled(tree)).to.deep.equal(on ? ["p"] : []);
      }),
      { numRuns: 60 },
    ));

  it("looks at no scope that is not selected [vectors]", async () => {
    const off = Object.fromEntries(SCOPES.slice(2).map((scope) => [`${scope}/.toggle-0`, ""]));
    expect(await enabled({ ...PLUGIN, ...off }, { project: "", profile: null })).to.deep.equal(["p"]);
  });

  it("does not let a profile that a plugin provides toggle anything [vectors]", async () => {
    expect(await enabled({ ...PLUGIN, "plugins/p/agents/coder/plugins/p/.toggle-0": "" })).to.deep.equal([
      "p",
    ]);
  });

  it("does not let always_enabled resist a toggle [vectors]", async () => {
    const tree = { "plugins/p/plugin.yaml": "always_enabled: true\n", "plugins/p/.toggle-0": "" };
    expect(await enabled(tree)).to.deep.equal([]);
  });

  it("takes names literally, not as patterns [P2.4]", async () => {
    const tree = { ...PLUGIN, "usr/projects/site/.a0proj/plugins/p/.toggle-0": "" };
    expect(await enabled(tree, { project: "s*" })).to.deep.equal(["p"]);
    const literal = { ...PLUGIN, "usr/projects/s*/.a0proj/plugins/p/.toggle-0": "" };
    expect(await enabled(literal, { project: "s*" })).to.deep.equal([]);
  });

  it("refuses names that lead elsewhere [P2.4]", () =>
    withFileTree(PLUGIN_ROOTS, (root) => {
      for (const name of [".", "..", "a/b", "/", "a\0b"]) {
        expect(() => enabledPlugins(root, { project: name }), name).to.throw(TypeError, "project name");
        expect(() => enabledPlugins(root, { profile: name }), name).to.throw(TypeError, "profile name");
        expect(() => checkName("plugin", name), name).to.throw(TypeError, "plugin name");
      }
      expect(() => checkName("plugin", "")).to.throw(TypeError);
      expect(checkName("plugin", "..a b")).to.equal("..a b");
    }));
});

describe("the order of code points", () => {
  it("is the same for any two texts as comparing code point by code point [H3]", () => {
    const text = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(text, text, (one, other) => {
        expect(Math.sign(compareCodePoints(one, other))).to.equal(
          Math.sign(compareLists(points(one), points(other))),
        );
      }),
    );
  });

  it("puts a character beyond the basic plane last, which UTF-16 order does not [vectors]", async () => {
    const names = ["\u{1f600}", "\uff41", "z", "Z", "_z"];
    const tree = Object.fromEntries(names.map((name) => [`plugins/${name}/plugin.yaml`, ""]));
    expect(await enabled(tree)).to.deep.equal(["Z", "_z", "z", "\uff41", "\u{1f600}"]);
  });
});
