import { expect } from "chai";

import type { FileTree } from "../../../conformance/file_tree.ts";
import type { Host } from "../../../host/host.ts";
import { FOLDER, HostRoots, META, noting, notesOf } from "./extension_support.ts";

const BOTH = { project: "site", profile: "coder" } as const;

/** Tells the process that it was loaded. */
function announcing(name: string): string {
  return `globalThis[Symbol.for("${name}")] = true;\n${noting(name)}`;
}

function wasLoaded(name: string): boolean {
  return Symbol.for(name) in globalThis;
}

describe("plugins of a running host", () => {
  const roots = new HostRoots();
  afterEach(() => roots.close());

  async function open(files: FileTree): Promise<Host> {
    return roots.open(roots.make(files), { watch: false });
  }

  /** A plugin with one extension, which notes the name. */
  function plugin(folder: string, name: string, manifest = ""): FileTree {
    return { [`${folder}/plugin.yaml`]: manifest, [`${folder}/${FOLDER}/_50_${name}.js`]: noting(name) };
  }

  it("are the folders with plugin.yaml below both plugin roots [H2]", async () => {
    const host = await open({
      ...plugin("usr/plugins/a", "a"),
      ...plugin("plugins/b", "b"),
      [`usr/plugins/c/${FOLDER}/_50_c.js`]: announcing("agp-no-manifest"),
      ...plugin("usr/plugins/.d", "d"),
      ...plugin("elsewhere/e", "e"),
    });
    expect(await notesOf(host)).to.deep.equal(["a", "b"]);
    const found = host.bootReport().plugins.map(({ name, path, origin }) => [name, path, origin]);
    expect(found).to.deep.equal([
      ["_tool_access", "plugins/_tool_access", "built-in"],
      ["a", "usr/plugins/a", "user"],
      ["b", "plugins/b", "built-in"],
    ]);
    expect(wasLoaded("agp-no-manifest"), "the code of what is no plugin was run").to.equal(false);
  });

  it("of the user's root hide built-in ones of the same name with all they have [H2]", async () => {
    const host = await open({
      ...plugin("usr/plugins/p", "user"),
      "plugins/p/plugin.yaml": "",
      [`plugins/p/${FOLDER}/_50_builtin.js`]: announcing("agp-hidden"),
    });
    expect(await notesOf(host)).to.deep.equal(["user"]);
    expect(wasLoaded("agp-hidden"), "the code of a hidden plugin was run").to.equal(false);
  });

  const BROKEN_MANIFESTS: Readonly<Record<string, readonly [manifest: string, problem: string]>> = {
    "no YAML": ["name: [", "plugin.yaml cannot be read as YAML"],
    "a list": ["- a\n- b\n", "plugin.yaml is not valid at: (the whole file)"],
    "a name that is none": ["name: Not A Name!\n", "plugin.yaml is not valid at: name"],
    "flags that are texts": ["always_enabled: maybe\n", "plugin.yaml is not valid at: always_enabled"],
    "a section that is none": [
      "settings_sections: [kitchen]\n",
      "plugin.yaml is not valid at: settings_sections",
    ],
  };
  for (const [what, [manifest, problem]] of Object.entries(BROKEN_MANIFESTS)) {
    it(`with a plugin.yaml that holds ${what} are reported, run all the same, and take no other down [H2]`, async () => {
      const host = await open({ ...plugin("usr/plugins/p", "p", manifest), ...plugin("usr/plugins/q", "q") });
      expect(await notesOf(host)).to.deep.equal(["p", "q"]);
      const problems = host
        .bootReport()
        .plugins.map(({ name, enabled, problem: told }) => [name, enabled, told]);
      expect(problems).to.deep.equal([
        ["_tool_access", true, null],
        ["p", true, problem],
        ["q", true, null],
      ]);
    });
  }

  it("whose plugin.yaml is a folder are reported and run all the same [H2]", async () => {
    const host = await open({ ...plugin("usr/plugins/p", "p"), "usr/plugins/q/plugin.yaml/": "" });
    expect(await notesOf(host)).to.deep.equal(["p"]);
    const [, , q] = host.bootReport().plugins;
    expect(q).to.include({ name: "q", enabled: true, problem: "plugin.yaml is no regular file" });
  });

  const ALL = [{}, { profile: "coder" }, { project: "site" }, BOTH];
  const SCOPES: readonly (readonly [folder: string, selections: readonly object[]])[] = [
    ["plugins/p", ALL],
    ["usr/plugins/p", ALL],
    ["agents/coder/plugins/p", [{ profile: "coder" }, BOTH]],
    ["usr/agents/coder/plugins/p", [{ profile: "coder" }, BOTH]],
    [`${META}/plugins/p`, [{ project: "site" }, BOTH]],
    [`${META}/agents/coder/plugins/p`, [BOTH]],
  ];

  for (const [folder, selections] of SCOPES) {
    const concerns = (selection: object) =>
      selections.some((one) => JSON.stringify(one) === JSON.stringify(selection));

    it(`are switched off by ${folder}/.toggle-0, for whom that scope is selected and no one else [H2]`, async () => {
      const host = await open({ ...plugin("plugins/p", "p"), [`${folder}/.toggle-0`]: "" });
      for (const selection of ALL)
        expect(await notesOf(host, selection)).to.deep.equal(concerns(selection) ? [] : ["p"]);
    });

    if (folder === "plugins/p") continue;
    it(`are switched on again by ${folder}/.toggle-1, for whom that scope is selected and no one else [H2]`, async () => {
      const off = { ...plugin("plugins/p", "p"), "plugins/p/.toggle-0": "" };
      const host = await open({ ...off, [`${folder}/.toggle-1`]: "" });
      for (const selection of ALL)
        expect(await notesOf(host, selection)).to.deep.equal(concerns(selection) ? ["p"] : []);
    });
  }

  it("that are off everywhere are not run at all: their code is not even loaded [H2]", async () => {
    const host = await open({
      ...plugin("usr/plugins/p", "p"),
      "usr/plugins/p/.toggle-0": "",
      [`usr/plugins/p/${FOLDER}/_50_p.js`]: announcing("agp-off"),
    });
    expect(await notesOf(host)).to.deep.equal([]);
    expect(wasLoaded("agp-off")).to.equal(false);
    expect(host.bootReport().plugins.find(({ name }) => name === "p")).to.include({ enabled: false });
  });

  it("that are off and broken stop nothing [H2]", async () => {
    const host = await open({
      "usr/plugins/p/plugin.yaml": "",
      "usr/plugins/p/.toggle-0": "",
      [`usr/plugins/p/${FOLDER}/_50_p.js`]: "not JavaScript",
    });
    expect(await notesOf(host)).to.deep.equal([]);
    expect(host.bootReport().refused).to.deep.equal([]);
  });

  it("that some project alone switches on run there [H2]", async () => {
    const host = await open({
      ...plugin("usr/plugins/p", "p"),
      "usr/plugins/p/.toggle-0": "",
      [`${META}/plugins/p/.toggle-1`]: "",
    });
    expect(await notesOf(host)).to.deep.equal([]);
    expect(await notesOf(host, { project: "site" })).to.deep.equal(["p"]);
  });

  it("with always_enabled do not resist a toggle, as recorded [H2]", async () => {
    const host = await open({
      ...plugin("usr/plugins/p", "p", "always_enabled: true\n"),
      "usr/plugins/p/.toggle-0": "",
    });
    expect(await notesOf(host)).to.deep.equal([]);
  });

  it("bring extensions for a profile of their own, at any depth of a point's name [H2, H3]", async () => {
    const point = "_functions/agent/Agent/handle_exception/end";
    const host = await open({
      "usr/plugins/p/plugin.yaml": "",
      [`usr/plugins/p/agents/coder/extensions/node/${point}/_50_p.js`]: noting("p"),
    });
    const { agent0 } = host.createContext({ profile: "coder" });
    expect(host.extensions.inForce(point, agent0).map(({ stem }) => stem)).to.deep.equal(["_50_p"]);
    expect(host.extensions.inForce(point, host.createContext().agent0)).to.deep.equal([]);
  });
});
