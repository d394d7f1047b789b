import { symlinkSync } from "node:fs";
import { join, relative } from "node:path";

import { expect } from "chai";

import { PLUGIN_ROOTS, withFileTree } from "../../../conformance/file_tree.ts";
import type { FileTree } from "../../../conformance/file_tree.ts";
import { scopePaths } from "../../../host/extensions/scopes.ts";
import type { ScopePath, ScopePathOptions } from "../../../host/extensions/scopes.ts";

const BOTH = { project: "site", profile: "coder" };
const FOLDERS = [
  "usr/projects/site/.a0proj/agents/coder",
  "usr/projects/site/.a0proj",
  "usr/agents/coder",
  "plugins/a/agents/coder",
  "agents/coder",
  "usr",
  "plugins/a",
  "",
];
const TREE: FileTree = {
  ...PLUGIN_ROOTS,
  "plugins/a/plugin.yaml": "",
  ...Object.fromEntries(FOLDERS.map((folder) => [join(folder, "prompts/"), ""])),
};

function shown(root: string, paths: readonly ScopePath[]): string[] {
  return paths.map(({ scope, path }) => `${scope}: ${relative(root, path) || "."}`);
}

describe("the search order over scopes", () => {
  it("goes from the project's profile to the framework's own folder [vectors scope_paths]", () =>
    withFileTree(TREE, (root) => {
      expect(shown(root, scopePaths(root, BOTH, ["prompts"]))).to.deep.equal([
        "project profile: usr/projects/site/.a0proj/agents/coder/prompts",
        "project: usr/projects/site/.a0proj/prompts",
        "user profile: usr/agents/coder/prompts",
        "plugin profile: plugins/a/agents/coder/prompts",
        "built-in profile: agents/coder/prompts",
        "user: usr/prompts",
        "plugin: plugins/a/prompts",
        "framework: prompts",
      ]);
    }));

  it("tells which plugin a folder belongs to", () =>
    withFileTree(TREE, (root) => {
      const owners = scopePaths(root, BOTH, ["prompts"]).map(({ plugin }) => plugin);
      expect(owners).to.deep.equal([null, null, null, "a", null, null, "a", null]);
    }));

  it("lists what does not exist only when asked, and then no profile that a plugin lacks [vectors scope_paths]", () =>
    withFileTree(TREE, (root) => {
      const selection = { project: "site", profile: "nobody" };
      expect(scopePaths(root, selection, ["tools"])).to.deep.equal([]);
      expect(
        shown(root, scopePaths(root, selection, ["tools"], { mustExistCompletely: false })),
      ).to.deep.equal([
        "project: usr/projects/site/.a0proj/tools",
        "user profile: usr/agents/nobody/tools",
        "built-in profile: agents/nobody/tools",
        "user: usr/tools",
        "plugin: plugins/a/tools",
        "framework: tools",
      ]);
    }));

  const parts: Array<[keyof ScopePathOptions, string[]]> = [
    ["includeProject", ["project profile", "project"]],
    ["includeUser", ["user"]],
    ["includePlugins", ["plugin profile", "plugin"]],
    ["includeDefault", ["framework"]],
  ];
  for (const [part, scopes] of parts) {
    it(`leaves out ${scopes.join(" and ")} without ${part} [vectors scope_paths]`, () =>
      withFileTree(TREE, (root) => {
        const all = scopePaths(root, BOTH, ["prompts"]);
        const rest = scopePaths(root, BOTH, ["prompts"], { [part]: false });
        expect(rest).to.deep.equal(all.filter(({ scope }) => !scopes.includes(scope)));
      }));
  }

  it("does not search a plugin that a toggle of this project switches off [vectors scope_paths]", () =>
    withFileTree({ ...TREE, "usr/projects/site/.a0proj/plugins/a/.toggle-0": "" }, (root) => {
      const scopes = scopePaths(root, BOTH, ["prompts"]).map(({ scope }) => scope);
      expect(scopes).not.to.include("plugin");
      expect(scopePaths(root, {}, ["prompts"]).map(({ scope }) => scope)).to.include("plugin");
    }));

  it("takes the enabled plugins from a host that knows them", () =>
    withFileTree(TREE, (root) => {
      const scopes = scopePaths(root, BOTH, ["prompts"], { enabledPlugins: [] }).map(({ scope }) => scope);
      expect(scopes).not.to.include("plugin");
    }));

  it("counts what cannot be looked at as existing, so that nobody passes it by [H3]", () =>
    withFileTree(TREE, (root) => {
      symlinkSync("tools", join(root, "usr/tools"));
      expect(shown(root, scopePaths(root, BOTH, ["tools"]))).to.deep.equal(["user: usr/tools"]);
    }));

  it("refuses names that lead elsewhere [P2.4]", () =>
    withFileTree(TREE, (root) => {
      expect(() => scopePaths(root, { project: ".." }, [])).to.throw(TypeError);
      expect(() => scopePaths(root, { profile: "a/b" }, [], { enabledPlugins: [] })).to.throw(TypeError);
    }));
});
