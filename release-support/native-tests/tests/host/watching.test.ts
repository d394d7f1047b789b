import { execFile } from "node:child_process";
import { cpSync, mkdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";

import { expect } from "chai";

import type { HostRoot } from "../../../fixtures/host_root.ts";
import { Host } from "../../../host/host.ts";
import { RootWatcher } from "../../../host/extensions/root_watcher.ts";
import type { WatchingChildReport } from "../../children/watching_child.ts";
import { FOLDER, HostRoots, META, nextReload, noting, notesOf, untilNotes } from "./extension_support.ts";

const BROKEN = "export default class {\n";
const PLUGIN = "usr/plugins/p";
const EXTENSION = `${PLUGIN}/${FOLDER}/_50_x.js`;
const BOTH = { project: "site", profile: "coder" } as const;

/** A plugin whose one extension takes a note. */
function plugin(note: string, folder = PLUGIN) {
  return { [`${folder}/plugin.yaml`]: "", [`${folder}/${FOLDER}/_50_x.js`]: noting(note) };
}

/** Moves a file or folder of a root. */
function move(root: HostRoot, from: string, to: string): void {
  renameSync(join(root.path, from), join(root.path, to));
}

/** Writes a file as careful editors do: beside it, then over it. */
function replace(root: HostRoot, path: string, text: string): void {
  root.write(`${path}.tmp`, text);
  move(root, `${path}.tmp`, path);
}

describe("a host that watches its root", () => {
  const roots = new HostRoots();
  afterEach(() => roots.close());

  async function open(files: Readonly<Record<string, string>> = {}) {
    const root = roots.make(files);
    return { root, host: await roots.open(root) };
  }

  describe("and a change of an extension", () => {
    it("takes one in that is added [H4]", async () => {
      const { root, host } = await open({ [`${FOLDER}/`]: "" });
      root.write(`${FOLDER}/_50_x.js`, noting("x"));
      await untilNotes(host, ["x"]);
    });

    it("takes one in that is added in folders that did not exist [H4]", async () => {
      const { root, host } = await open();
      root.write(`${FOLDER}/_50_x.js`, noting("x"));
      await untilNotes(host, ["x"]);
      root.write(`usr/${FOLDER}/_60_y.js`, noting("y"));
      await untilNotes(host, ["x", "y"]);
    });

    it("runs the new code of one that is written over, time and again [H4]", async () => {
      const { root, host } = await open({ [EXTENSION]: noting("0"), [`${PLUGIN}/plugin.yaml`]: "" });
      for (const note of ["1", "2", "1"]) {
        root.write(EXTENSION, noting(note));
        await untilNotes(host, [note]);
      }
    });

    it("runs the new code of one that is replaced by rename [H4]", async () => {
      const { root, host } = await open(plugin("old"));
      for (const note of ["new", "newer"]) {
        replace(root, EXTENSION, noting(note));
        await untilNotes(host, [note]);
      }
    });

    it("runs the new code of a CommonJS module too [H4]", async () => {
      const commonJs = (note: string) => noting(note).replace("export default", "module.exports =");
      const { root, host } = await open({ [`${FOLDER}/_50_x.js`]: commonJs("old") });
      root.write(`${FOLDER}/_50_x.js`, commonJs("new"));
      await untilNotes(host, ["new"]);
    });

    it("takes one out that is removed [H4]", async () => {
      const { root, host } = await open({ [`${FOLDER}/_50_x.js`]: noting("x") });
      root.delete(`${FOLDER}/_50_x.js`);
      await untilNotes(host, []);
    });

    it("takes all out whose folder is removed, and in again when it returns [H4]", async () => {
      const { root, host } = await open({ [`${FOLDER}/_50_x.js`]: noting("x") });
      root.delete("extensions");
      await untilNotes(host, []);
      root.write(`${FOLDER}/_50_x.js`, noting("again"));
      await untilNotes(host, ["again"]);
    });

    it("lets a narrower scope's replace it, and gives it back when that one goes [H3, H4]", async () => {
      const { root, host } = await open(plugin("plugin"));
      root.write(`${META}/${FOLDER}/_50_x.mjs`, noting("project"));
      await untilNotes(host, ["project"], { project: "site" });
      expect(await notesOf(host)).to.deep.equal(["plugin"]);
      root.delete(`${META}/${FOLDER}/_50_x.mjs`);
      await untilNotes(host, ["plugin"], { project: "site" });
    });

    it("does not load one anew that is written with what it held [H4]", async () => {
      const counting = `globalThis.agpLoads = (globalThis.agpLoads ?? 0) + 1;\n${noting("x")}`;
      const { root, host } = await open({ [`${FOLDER}/_50_x.js`]: counting });
      const reload = nextReload(host);
      replace(root, `${FOLDER}/_50_x.js`, counting);
      await reload;
      expect((globalThis as { agpLoads?: number }).agpLoads).to.equal(1);
    });
  });

  describe("and a change of a plugin", () => {
    it("takes the first one in that is put into an empty root, within two seconds [H4]", async () => {
      const { root, host } = await open();
      const source = roots.make(plugin("first"));
      cpSync(join(source.path, PLUGIN), join(root.path, PLUGIN), { recursive: true });
      expect(await untilNotes(host, ["first"])).to.be.below(2_000);
    });

    it("takes one in that is moved to its place in one step [H4]", async () => {
      const { root, host } = await open(plugin("moved", "elsewhere"));
      move(root, "elsewhere", PLUGIN);
      await untilNotes(host, ["moved"]);
    });

    it("takes one out that is removed, moved away, or loses its plugin.yaml [H4]", async () => {
      const ways: readonly ((root: HostRoot) => void)[] = [
        (root) => root.delete(PLUGIN),
        (root) => move(root, PLUGIN, "usr/plugins/.p"),
        (root) => root.delete(`${PLUGIN}/plugin.yaml`),
      ];
      await Promise.all(
        ways.map(async (way) => {
          const { root, host } = await open(plugin("p"));
          way(root);
          await untilNotes(host, []);
        }),
      );
    });

    it("shows the built-in one again when the user's of that name goes [H2, H4]", async () => {
      const { root, host } = await open({ ...plugin("user"), ...plugin("built-in", "plugins/p") });
      expect(await notesOf(host)).to.deep.equal(["user"]);
      root.delete(PLUGIN);
      await untilNotes(host, ["built-in"]);
    });

    /** Ways to put another folder in the place of a plugin's. */
    const SWAPS: Readonly<Record<string, (root: HostRoot) => void>> = {
      "for one beside it": (root) => {
        move(root, PLUGIN, "usr/plugins/.old");
        move(root, "usr/plugins/.new", PLUGIN);
      },
      "for one from outside": (root) => {
        move(root, PLUGIN, "usr/old");
        move(root, "usr/plugins/.new", PLUGIN);
      },
      "by removing and making it": (root) => {
        root.delete(PLUGIN);
        cpSync(join(root.path, "usr/plugins/.new"), join(root.path, PLUGIN), { recursive: true });
      },
    };
    for (const [how, swap] of Object.entries(SWAPS)) {
      it(`follows when its folder is swapped ${how}, and sees what changes in the new one [H4]`, async () => {
        const { root, host } = await open({ ...plugin("old"), ...plugin("new", "usr/plugins/.new") });
        swap(root);
        await untilNotes(host, ["new"]);
        root.write(EXTENSION, noting("changed"));
        await untilNotes(host, ["changed"]);
        root.write(`${PLUGIN}/${FOLDER}/_60_y.js`, noting("added"));
        await untilNotes(host, ["changed", "added"]);
        root.delete(`${PLUGIN}/${FOLDER}/_60_y.js`);
        await untilNotes(host, ["changed"]);
      });
    }

    it("follows a swap in every host on the root [H1, H4]", async () => {
      const { root, host } = await open({ ...plugin("old"), ...plugin("new", "usr/plugins/.new") });
      const other = await roots.open(root);
      SWAPS["for one beside it"]?.(root);
      for (const one of [host, other]) await untilNotes(one, ["new"]);
      root.write(EXTENSION, noting("changed"));
      for (const one of [host, other]) await untilNotes(one, ["changed"]);
    });

    it("looks behind a link to a plugin's folder, and follows when it is laid elsewhere [H4]", async () => {
      const root = roots.make({
        ...plugin("one", "store/1"),
        ...plugin("two", "store/2"),
        "usr/plugins/": "",
      });
      symlinkSync(join(root.path, "store/1"), join(root.path, PLUGIN));
      const host = await roots.open(root);
      expect(await notesOf(host)).to.deep.equal(["one"]);
      root.write(`store/1/${FOLDER}/_50_x.js`, noting("changed"));
      await untilNotes(host, ["changed"]);
      symlinkSync(join(root.path, "store/2"), join(root.path, "usr/plugins/.next"));
      move(root, "usr/plugins/.next", PLUGIN);
      await untilNotes(host, ["two"]);
      root.write(`store/2/${FOLDER}/_50_x.js`, noting("changed too"));
      await untilNotes(host, ["changed too"]);
    });
  });

  describe("and a change of a toggle", () => {
    const SCOPES = [
      PLUGIN,
      "plugins/p",
      "agents/coder/plugins/p",
      "usr/agents/coder/plugins/p",
      `${META}/plugins/p`,
      `${META}/agents/coder/plugins/p`,
    ];
    it("switches the plugin off and on, in whichever scope it is put and removed [H4]", () =>
      Promise.all(
        SCOPES.map(async (scope) => {
          const { root, host } = await open(plugin("p"));
          root.write(`${scope}/.toggle-0`, "");
          await untilNotes(host, [], BOTH);
          root.delete(`${scope}/.toggle-0`);
          await untilNotes(host, ["p"], BOTH);
        }),
      ));

    it("switches a plugin on that was off when the host opened, and runs its code as it is then [H4]", async () => {
      const { root, host } = await open({ ...plugin("old"), [`${PLUGIN}/.toggle-0`]: "" });
      root.write(EXTENSION, noting("new"));
      root.write(`${META}/plugins/p/.toggle-1`, "");
      await untilNotes(host, ["new"], { project: "site" });
      expect(await notesOf(host)).to.deep.equal([]);
    });
  });

  describe("and new profiles and projects", () => {
    const SCOPES = [
      "agents/coder",
      "usr/agents/coder",
      META,
      `${META}/agents/coder`,
      "plugins/_tool_access/agents/coder",
    ];
    it("takes in what they bring, though their folders did not exist, and out when they go [H4]", () =>
      Promise.all(
        SCOPES.map(async (scope) => {
          const { root, host } = await open();
          root.write(`${scope}/${FOLDER}/_50_x.js`, noting("x"));
          await untilNotes(host, ["x"], BOTH);
          root.delete(scope);
          await untilNotes(host, [], BOTH);
        }),
      ));

    it("takes in what folders bring that are made one by one [H4]", async () => {
      const { root, host } = await open();
      const parts = `${META}/${FOLDER}`.split("/");
      for (let depth = 1; depth <= parts.length; depth += 1) {
        mkdirSync(join(root.path, ...parts.slice(0, depth)), { recursive: true });
        await nextTurn();
      }
      root.write(`${META}/${FOLDER}/_50_x.js`, noting("x"));
      await untilNotes(host, ["x"], { project: "site" });
    });

    it("takes in what they bring to a root that is a link or lies below a dot folder [H4]", async () => {
      const root = roots.make({ ".agents/host/usr/": "" });
      symlinkSync(join(root.path, ".agents/host"), join(root.path, "link"));
      for (const place of [".agents/host", "link"]) {
        const host = await Host.open({ root: join(root.path, place) });
        try {
          root.write(`${place}/${META}/${FOLDER}/_50_x.js`, noting(place));
          await untilNotes(host, [place], { project: "site" });
        } finally {
          await host.close();
        }
      }
    });
  });

  describe("and a file that is not whole", () => {
    const CONTENTS: Readonly<Record<string, readonly [text: string, why: RegExp]>> = {
      "is empty": ["", /^it holds no extension; the extension loaded before stays in force$/],
      "is half written": [
        noting("new").slice(0, -20),
        /^it cannot be loaded \(.* not valid JavaScript\); the extension loaded before stays in force$/,
      ],
      "holds no class": [
        "export const answer = 42;\n",
        /^it holds no extension; the extension loaded before/,
      ],
      "throws while it loads": [
        "throw new Error();\n",
        /^it cannot be loaded \(it fails while it is loaded\); the/,
      ],
    };
    for (const [what, [text, why]] of Object.entries(CONTENTS)) {
      it(`keeps what was loaded while the file ${what}, and reports it, until it is whole or removed [H4]`, async () => {
        const { root, host } = await open(plugin("old"));
        const spoil = async () => {
          const reload = nextReload(host);
          root.write(EXTENSION, text);
          expect(await reload).to.deep.equal({ kind: "in force" });
        };
        await spoil();
        expect(await notesOf(host)).to.deep.equal(["old"]);
        const [refused, ...others] = host.bootReport().refused;
        expect(others).to.deep.equal([]);
        expect(refused?.path).to.equal(EXTENSION);
        expect(refused?.why).to.match(why);

        root.write(EXTENSION, noting("new"));
        await untilNotes(host, ["new"]);
        expect(host.bootReport().refused).to.deep.equal([]);

        await spoil();
        expect(await notesOf(host)).to.deep.equal(["new"]);
        root.delete(EXTENSION);
        await untilNotes(host, []);
        expect(host.bootReport().refused).to.deep.equal([]);
      });
    }

    it("keeps what was loaded while another file of its name is made in the folder and is not whole [H4]", async () => {
      const { root, host } = await open({ [`${FOLDER}/_50_x.mjs`]: noting("old") });
      const reload = nextReload(host);
      root.write(`${FOLDER}/_50_x.js`, BROKEN);
      await reload;
      // A new file is not one that yielded an extension: nothing runs rather than too little.
      expect(await notesOf(host).catch((error: Error) => error.name)).to.equal("ExtensionLoadError");
      root.write(`${FOLDER}/_50_x.js`, noting("new"));
      await untilNotes(host, ["new"]);
    });

    it("lets one be mended that could not be loaded when the host opened [H4]", async () => {
      const { root, host } = await open({ ...plugin("p"), [EXTENSION]: BROKEN });
      root.write(EXTENSION, noting("mended"));
      await untilNotes(host, ["mended"]);
      expect(host.bootReport().refused).to.deep.equal([]);
    });

    it("lets one be mended by adding the module that it misses [H4]", async () => {
      const { root, host } = await open({
        ...plugin("p"),
        [EXTENSION]: `import "../../../helpers/late.mjs";\n${noting("whole")}`,
      });
      expect(await notesOf(host).catch((error: Error) => error.name)).to.equal("ExtensionLoadError");
      root.write(`${PLUGIN}/helpers/late.mjs`, "export {};\n");
      await untilNotes(host, ["whole"]);
    });

    it("is not disturbed by the files that editors make while they save [H4]", async () => {
      const { root, host } = await open(plugin("old"));
      const folder = join(root.path, PLUGIN, FOLDER);
      symlinkSync("somebody@somewhere.1:2", join(folder, ".#_50_x.js"));
      for (const name of ["._50_x.js.swp", "4913", "_50_x.js~", "#_50_x.js#", "_50_x.js___jb_tmp___"]) {
        writeFileSync(join(folder, name), BROKEN);
      }
      replace(root, EXTENSION, noting("saved"));
      await untilNotes(host, ["saved"]);
      expect(host.bootReport().refused).to.deep.equal([]);
    });
  });

  describe("and a module behind an extension", () => {
    const HELPER = `${PLUGIN}/helpers/note.js`;
    const files = {
      [`${PLUGIN}/plugin.yaml`]: "",
      [`${PLUGIN}/package.json`]: '{"type": "module"}',
      [HELPER]: 'export const note = "old";\n',
      [EXTENSION]: `import { note } from "../../../helpers/note.js";\n${noting("?").replace('"?"', "note")}`,
    };

    it("says that a restart is needed when it is changed, and runs what it runs [H4]", async () => {
      const { root, host } = await open(files);
      expect(host.bootReport().restartNeeded).to.deep.equal([]);
      const reload = nextReload(host);
      root.write(HELPER, 'export const note = "new";\n');
      await reload;
      expect(await notesOf(host)).to.deep.equal(["old"]);
      expect(host.bootReport().restartNeeded).to.deep.equal([HELPER]);
    });

    it("says so no longer when it is as it was, however often it was written [H4]", async () => {
      const { root, host } = await open(files);
      for (const note of ["new", "old"]) {
        const reload = nextReload(host);
        root.write(HELPER, `export const note = "${note}";\n`);
        await reload;
      }
      expect(host.bootReport().restartNeeded).to.deep.equal([]);
    });

    it("says so when it is removed, and after the whole plugin was swapped for a new version [H4]", async () => {
      const { root, host } = await open(files);
      let reload = nextReload(host);
      root.delete(HELPER);
      await reload;
      expect(host.bootReport().restartNeeded).to.deep.equal([HELPER]);
      for (const [path, text] of Object.entries(files))
        root.write(path.replace(PLUGIN, "usr/plugins/.new"), text);
      root.write("usr/plugins/.new/helpers/note.js", 'export const note = "newer";\n');
      reload = nextReload(host);
      move(root, PLUGIN, "usr/plugins/.old");
      move(root, "usr/plugins/.new", PLUGIN);
      await reload;
      expect(host.bootReport().restartNeeded).to.deep.equal([HELPER]);
    });

    it("says so in a second host of the process as well: Node keeps a module [H4]", async () => {
      const { root, host } = await open(files);
      const reload = nextReload(host);
      root.write(HELPER, 'export const note = "new";\n');
      await reload;
      const second = await roots.open(root);
      expect(await notesOf(second)).to.deep.equal(["old"]);
      expect(second.bootReport().restartNeeded).to.deep.equal([HELPER]);
    });

    it("runs all of the new version where a plugin's folder is a link that is laid elsewhere [H4]", async () => {
      const store = (version: string) =>
        Object.fromEntries(
          Object.entries({ ...files, [HELPER]: `export const note = "${version}";\n` }).map(
            ([path, text]) => [path.replace(PLUGIN, `store/${version}`), text],
          ),
        );
      const root = roots.make({ ...store("1"), ...store("2"), "usr/plugins/": "" });
      symlinkSync(join(root.path, "store/1"), join(root.path, PLUGIN));
      const host = await roots.open(root);
      expect(await notesOf(host)).to.deep.equal(["1"]);
      symlinkSync(join(root.path, "store/2"), join(root.path, "usr/plugins/.next"));
      move(root, "usr/plugins/.next", PLUGIN);
      await untilNotes(host, ["2"]);
      expect(host.bootReport().restartNeeded).to.deep.equal([]);
    });

    it("says nothing of the modules of a plugin that is new, off, or only has others' modules [H4]", async () => {
      const { root, host } = await open({ ...plugin("q", "usr/plugins/q"), "usr/plugins/q/.toggle-0": "" });
      for (const [path, text] of Object.entries(files)) root.write(path, text);
      root.write("usr/plugins/q/helpers/a.js", "");
      await untilNotes(host, ["old"]);
      root.write(`${PLUGIN}/node_modules/n/index.js`, "");
      root.write(`${PLUGIN}/webui/app.js`, "");
      root.write("usr/plugins/q/helpers/a.js", "export {};\n");
      const reload = nextReload(host);
      root.write("usr/plugins/q/helpers/b.js", "");
      await reload;
      expect(host.bootReport().restartNeeded).to.deep.equal([]);
    });
  });

  describe("and what it does not look at", () => {
    const UNRELATED = [
      "",
      "usr/",
      "usr/uploads/",
      "usr/projects/site/src/",
      `${META}/knowledge/`,
      `${PLUGIN}/data/`,
    ];

    it("does not watch ten thousand other files one by one [H4]", async () => {
      const root = roots.make({ ...plugin("p"), [`${META}/${FOLDER}/_50_y.js`]: noting("y") });
      const count = async () => {
        const watcher = await RootWatcher.start(root.path, { settled: () => {}, failed: () => {} });
        const { watchedCount } = watcher;
        await watcher.close();
        return watchedCount;
      };
      const before = await count();
      for (let index = 0; index < 10_002; index += 1) {
        const folder = UNRELATED[index % UNRELATED.length] ?? "";
        // Some lie in folders of their own.
        root.write(`${folder}${index % 4 === 0 ? `${index % 97}/` : ""}unrelated_${index}.json`, "{}");
      }
      expect(await count()).to.equal(before);
    });

    it("does not look at its root again for them [H4]", async () => {
      const { root, host } = await open(plugin("old"));
      let reloads = 0;
      host.extensions.onReload(() => {
        reloads += 1;
      });
      for (const folder of UNRELATED) root.write(`${folder}unrelated.json`, "{}");
      root.write(EXTENSION, noting("new"));
      await untilNotes(host, ["new"]);
      for (let round = 0; round < 20; round += 1) {
        for (const folder of UNRELATED.slice(0, 5)) root.write(`${folder}unrelated.json`, `[${round}]`);
        await nextTurn();
      }
      root.write(EXTENSION, noting("newer"));
      await untilNotes(host, ["newer"]);
      // The first time may come in two steps, since folders are new.
      expect(reloads).to.be.within(2, 3);
    });
  });

  describe("while it looks at the root again", () => {
    it("loads a file anew that is replaced while it is being loaded [H4]", async () => {
      const root = roots.make();
      const host = await roots.open(root, { watch: false });
      const file = join(root.path, FOLDER, "_50_x.js");
      root.write(
        `${FOLDER}/_50_x.js`,
        `import { writeFileSync } from "node:fs";
         writeFileSync(${JSON.stringify(file)}, ${JSON.stringify(noting("second"))});
         ${noting("first")}`,
      );
      expect(await host.extensions.reload()).to.deep.equal({ kind: "in force" });
      expect(await notesOf(host)).to.deep.equal(["second"]);
    });

    it("keeps what was loaded, and says so, while the root never stays the same [H4]", async () => {
      const root = roots.make({ [`${FOLDER}/_50_x.js`]: noting("old") });
      const host = await roots.open(root, { watch: false });
      const file = join(root.path, FOLDER, "_60_y.js");
      root.write(
        `${FOLDER}/_60_y.js`,
        `import { appendFileSync } from "node:fs";
         appendFileSync(${JSON.stringify(file)}, "\\n");
         ${noting("restless")}`,
      );
      const { kind } = await host.extensions.reload();
      expect(kind).to.equal("kept");
      expect(await notesOf(host)).to.deep.equal(["old"]);
      expect(host.bootReport().reloadProblem).to.match(/^the host root changes all the time/);
      const opening = await Host.open({ root: root.path }).catch((error: Error) => error);
      expect(opening).to.be.instanceOf(Error).with.property("name", "RestlessRootError");
    });

    it("keeps what was loaded while the plugins cannot be listed, and goes on when they can [H4]", async () => {
      const { root, host } = await open(plugin("old"));
      const reload = nextReload(host);
      move(root, "usr/plugins", "usr/.plugins");
      symlinkSync("plugins", join(root.path, "usr/plugins"));
      expect(await reload).to.include({ kind: "kept" });
      expect(await notesOf(host)).to.deep.equal(["old"]);
      expect(host.bootReport().reloadProblem).to.match(
        /^the plugin folder usr\/plugins cannot be listed \(ELOOP\)/,
      );

      rmSync(join(root.path, "usr/plugins"));
      move(root, "usr/.plugins", "usr/plugins");
      root.write(EXTENSION, noting("new"));
      await untilNotes(host, ["new"]);
      expect(host.bootReport().reloadProblem).to.equal(null);
    });

    it("runs nothing while a plugin root is missing, rather than without its plugins [H1, H4]", async () => {
      const { root, host } = await open(plugin("p"));
      root.delete("usr/plugins");
      let failure: unknown;
      for (;;) {
        const reload = nextReload(host);
        await notesOf(host).catch((error: unknown) => {
          failure = error;
        });
        if (failure !== undefined) break;
        await reload;
      }
      expect(failure).to.be.instanceOf(Error).with.property("name", "PluginRootError");
    });

    it("does not take out what is missing for a moment only [H4]", async () => {
      const root = roots.make(plugin("p"));
      const host = await roots.open(root, { watch: false });
      move(root, PLUGIN, "usr/plugins/.p");
      const reload = host.extensions.reload();
      move(root, "usr/plugins/.p", PLUGIN);
      const { catalog } = host.extensions;
      expect(await reload).to.deep.equal({ kind: "in force" });
      expect(host.extensions.catalog).to.equal(catalog);
    });

    it("waits anew before it takes out what was there again in between [H4]", async () => {
      const root = roots.make(plugin("p"));
      const host = await roots.open(root, { watch: false });
      root.delete(EXTENSION);
      const begin = performance.now();
      const reload = host.extensions.reload();
      const lastChange = () => statSync(join(root.path, PLUGIN, FOLDER), { bigint: true }).mtimeNs;
      // The clock of a file system is coarse: until it shows that something was there.
      for (const before = lastChange(); lastChange() === before; await nextTurn()) {
        root.write(EXTENSION, noting("p"));
        root.delete(EXTENSION);
      }
      await reload;
      expect(performance.now() - begin).to.be.above(790);
      expect(await notesOf(host)).to.deep.equal([]);
    });

    it("does what is asked for meanwhile by one more look, and never by two at once [H4]", async () => {
      const root = roots.make({ [`${FOLDER}/_50_x.js`]: noting("old") });
      const host = await roots.open(root, { watch: false });
      root.write(`${FOLDER}/_50_x.js`, noting("new"));
      const first = host.extensions.reload();
      root.write(`${FOLDER}/_50_x.js`, noting("newer"));
      const [second, third] = [host.extensions.reload(), host.extensions.reload()];
      expect(second).to.equal(third);
      expect(second).to.not.equal(first);
      await second;
      expect(await notesOf(host)).to.deep.equal(["newer"]);
    });

    it("tells nobody who no longer listens [H4]", async () => {
      const host = await roots.open(roots.make(), { watch: false });
      const told: string[] = [];
      const end = host.extensions.onReload(({ kind }) => told.push(kind));
      await host.extensions.reload();
      end();
      await host.extensions.reload();
      expect(told).to.deep.equal(["in force"]);
    });
  });

  describe("in a process of its own", () => {
    async function run(environment: Readonly<Record<string, string>>, ...more: string[]) {
      const root = roots.make({ ...plugin("old"), ...plugin("new", "usr/plugins/.new") });
      const script = join(import.meta.dirname, "../../children/watching_child.js");
      const env = { ...process.env, ...environment };
      const { stdout } = await promisify(execFile)(process.execPath, [script, root.path, ...more], { env });
      return JSON.parse(stdout) as WatchingChildReport;
    }

    it("sees changes and swaps as well where the system tells of none and it has to ask [H4]", async () => {
      const report = await run({ CHOKIDAR_USEPOLLING: "1", CHOKIDAR_INTERVAL: "20" });
      expect(report).to.deep.equal({ notes: ["old", "changed", "new", "changed again"], watchProblem: null });
    });

    it("reports it when the system gives it no more watches, and goes on with what it has [H4]", async () => {
      const report = await run({}, "limited");
      expect(report.notes).to.deep.equal(["old"]);
      expect(report.watchProblem).to.match(/^changes may not be seen until a restart \(ENOSPC/);
    });
  });

  describe("and is closed", () => {
    const handles = () => process.getActiveResourcesInfo().filter((name) => name === "FSEventWrap").length;

    it("leaves no handle, and looks at nothing any more [H4]", async () => {
      const { root, host } = await open(plugin("old"));
      expect(handles()).to.be.above(0);
      let reloads = 0;
      host.extensions.onReload(() => {
        reloads += 1;
      });
      root.write(EXTENSION, noting("new"));
      await host.close();
      await host.close();
      await settledHandles();
      expect(handles()).to.equal(0);
      expect(reloads).to.equal(0);
    });

    it("leaves no handle when things vanish while it closes [H4]", async () => {
      for (let round = 0; round < 20; round += 1) {
        const { root, host } = await open({ ...plugin("p"), [`${FOLDER}/_50_x.js`]: noting("x") });
        root.delete(round % 2 === 0 ? FOLDER : EXTENSION);
        root.delete(round % 3 === 0 ? PLUGIN : `${FOLDER}/_50_x.js`);
        for (let turn = 0; turn < round % 5; turn += 1) await nextTurn();
        await host.close();
      }
      await settledHandles();
      expect(handles()).to.equal(0);
    });

    it("leaves no handle when folders are swapped while it closes [H4]", async () => {
      for (let round = 0; round < 5; round += 1) {
        const { root, host } = await open({ ...plugin("old"), ...plugin("new", "usr/plugins/.new") });
        move(root, PLUGIN, "usr/plugins/.old");
        move(root, "usr/plugins/.new", PLUGIN);
        // The watcher is started anew now or is about to be.
        if (round > 0) await untilNotes(host, ["new"]);
        move(root, PLUGIN, "usr/plugins/.newer");
        await host.close();
      }
      await settledHandles();
      expect(handles()).to.equal(0);
    });

    /** Handles are closed at the end of a turn of the event loop. */
    async function settledHandles(): Promise<void> {
      for (let turn = 0; turn < 200 && handles() > 0; turn += 1) await nextTurn();
    }
  });
});
