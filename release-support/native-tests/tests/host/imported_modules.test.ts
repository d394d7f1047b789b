import { execFileSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { join } from "node:path";

import { expect } from "chai";
import fc from "fast-check";

import { importedModules } from "../../../host/extensions/imported_modules.ts";
import type { Host } from "../../../host/host.ts";
import { FOLDER, HostRoots, META, noting, notesOf } from "./extension_support.ts";

/** An extension that takes the note of a module. */
function importing(specifier: string): string {
  return `import { note } from "${specifier}";\n${noting("?").replace('"?"', "note")}`;
}

function exporting(note: string): string {
  return `export const note = "${note}";\n`;
}

/** Where an extension lies, how it names the module, and where that one lies. */
const PLACES: Readonly<Record<string, readonly [extension: string, specifier: string, module: string]>> = {
  "beside it in extensions": [`${FOLDER}/_10_x.js`, "./limit.js", `${FOLDER}/limit.js`],
  "beside it in usr/extensions": [`usr/${FOLDER}/_10_x.js`, "./limit.js", `usr/${FOLDER}/limit.js`],
  "one folder up": [`usr/${FOLDER}/_10_x.js`, "../limit.mjs", "usr/extensions/node/limit.mjs"],
  "in usr/lib": [`usr/${FOLDER}/_10_x.js`, "../../../lib/limit.mjs", "usr/lib/limit.mjs"],
  "in a folder of a strange name": [`${FOLDER}/_10_x.js`, "./a%20b/limit.mjs", `${FOLDER}/a b/limit.mjs`],
  "in a project": [`${META}/${FOLDER}/_10_x.js`, "../../lib/limit.mjs", `${META}/extensions/lib/limit.mjs`],
  "in another project's folder": [
    `${META}/${FOLDER}/_10_x.js`,
    "../../../../../other/limit.mjs",
    "usr/projects/other/limit.mjs",
  ],
  "at the top of the root": [`${FOLDER}/_10_x.js`, "../../../limit.mjs", "limit.mjs"],
  "in a profile": [`usr/agents/coder/${FOLDER}/_10_x.js`, "../../../limit.mjs", "usr/agents/coder/limit.mjs"],
  "in a plugin": [
    `usr/plugins/p/${FOLDER}/_10_x.js`,
    "../../../lib/limit.mjs",
    "usr/plugins/p/lib/limit.mjs",
  ],
  "in a package of the root": [`usr/${FOLDER}/_10_x.js`, "limit", "usr/node_modules/limit/index.js"],
};

/** A host that does not watch, and its files. */
interface Opened {
  readonly write: (path: string, text: string) => void;
  readonly remove: (path: string) => void;
  readonly host: Host;
}

const SELECTION = { project: "site", profile: "coder" };

describe("a changed module that an extension imports", () => {
  const roots = new HostRoots();
  afterEach(() => roots.close());

  async function open(files: Readonly<Record<string, string>>): Promise<Opened> {
    const root = roots.make({
      "package.json": '{"type": "module"}',
      "usr/plugins/p/plugin.yaml": "",
      ...files,
    });
    const host = await roots.open(root, { watch: false });
    return { write: (path, text) => root.write(path, text), remove: (path) => root.delete(path), host };
  }

  const restartNeeded = (host: Host) => host.bootReport().restartNeeded;

  for (const [where, [extension, specifier, module]] of Object.entries(PLACES)) {
    it(`is reported as needing a restart when it lies ${where} [H12]`, async () => {
      const { write, host } = await open({ [extension]: importing(specifier), [module]: exporting("old") });
      expect(await notesOf(host, SELECTION)).to.deep.equal(["old"]);
      expect(restartNeeded(host)).to.deep.equal([]);
      write(module, exporting("new"));
      expect(restartNeeded(host)).to.deep.equal([module]);
    });
  }

  const CHAINS: Readonly<Record<string, readonly [string, Readonly<Record<string, string>>, string]>> = {
    "through another module": [
      importing("./a.mjs"),
      { "a.mjs": 'export * from "./b.mjs";\n', "b.mjs": exporting("old") },
      exporting("new"),
    ],
    "through modules that import each other": [
      importing("./a.mjs"),
      {
        "a.mjs": 'import "./b.mjs";\nexport * from "./b.mjs";\n',
        "b.mjs": `import "./a.mjs";\n${exporting("old")}`,
      },
      `import "./a.mjs";\n${exporting("new")}`,
    ],
    "as CommonJS": [importing("./b.cjs"), { "b.cjs": 'exports.note = "old";\n' }, 'exports.note = "new";\n'],
    "as CommonJS by a name without its suffix": [
      importing("./a.cjs"),
      {
        "a.cjs": 'exports.note = require("./b").note;\n',
        "b.cjs": "",
        "b.js": "",
        "b/package.json": "{}",
        "b/index.js": "",
      },
      "// other",
    ],
    "by a require of its own": [
      `import { createRequire } from "node:module";\nconst { note } = createRequire(import.meta.url)("./b.cjs");\n${noting("?").replace('"?"', "note")}`,
      { "b.cjs": 'exports.note = "old";\n' },
      'exports.note = "new";\n',
    ],
    "when it first runs": [
      noting("old").replace("execute() {", 'async execute() { await import("./b.mjs");'),
      { "b.mjs": exporting("old") },
      exporting("new"),
    ],
    "with a query behind its path": [
      importing("./b.mjs?v=1"),
      { "b.mjs": exporting("old") },
      exporting("new"),
    ],
    "as data": [
      `import data from "./b.json" with { type: "json" };\nconst { note } = data;\n${noting("?").replace('"?"', "note")}`,
      { "b.json": '{"note": "old"}' },
      '{"note": "new"}',
    ],
  };

  for (const [how, [extension, modules, changed]] of Object.entries(CHAINS)) {
    it(`is reported when it is reached ${how} [H12]`, async () => {
      const files = Object.fromEntries(
        Object.entries(modules).map(([name, text]) => [`${FOLDER}/${name}`, text]),
      );
      const { write, host } = await open({ [`${FOLDER}/_10_x.js`]: extension, ...files });
      const last = Object.keys(files).findLast((name) => /\/b\.[a-z]+$/.test(name)) ?? "";
      write(last, changed);
      expect(restartNeeded(host)).to.deep.equal([last]);
    });
  }

  it("is still reported when the extension is saved again and runs with the old module [H12]", async () => {
    const [extension, specifier, module] = PLACES["beside it in extensions"] ?? ["", "", ""];
    const { write, host } = await open({ [extension]: importing(specifier), [module]: exporting("old") });
    write(module, exporting("new"));
    write(extension, `${importing(specifier)}// saved again\n`);
    await host.extensions.reload();
    expect(await notesOf(host)).to.deep.equal(["old"]);
    expect(restartNeeded(host)).to.deep.equal([module]);
  });

  it("is reported when it is removed, and no longer when it is as it was [H12]", async () => {
    const [extension, specifier, module] = PLACES["in usr/lib"] ?? ["", "", ""];
    const { write, remove, host } = await open({
      [extension]: importing(specifier),
      [module]: exporting("old"),
    });
    remove(module);
    expect(restartNeeded(host)).to.deep.equal([module]);
    write(module, exporting("old"));
    expect(restartNeeded(host)).to.deep.equal([]);
  });

  it("is reported no longer when nothing reaches it any more [H12]", async () => {
    const [extension, specifier, module] = PLACES["in usr/lib"] ?? ["", "", ""];
    const { write, host } = await open({ [extension]: importing(specifier), [module]: exporting("old") });
    write(module, exporting("new"));
    write(extension, noting("alone"));
    await host.extensions.reload();
    expect(await notesOf(host)).to.deep.equal(["alone"]);
    expect(restartNeeded(host)).to.deep.equal([]);
  });

  it("is not made of a file that nothing imports [H12]", async () => {
    const [extension, specifier, module] = PLACES["in usr/lib"] ?? ["", "", ""];
    const { write, host } = await open({
      [extension]: importing(specifier),
      [module]: exporting("old"),
      "usr/lib/other.mjs": "",
    });
    write("usr/lib/other.mjs", "export {};\n");
    expect(restartNeeded(host)).to.deep.equal([]);
  });
});

describe("the modules that a module imports", () => {
  const roots = new HostRoots();
  afterEach(() => roots.close());

  it("are found whatever else a file holds, and finding them never throws [H12]", () => {
    const root = roots.make({ "b.mjs": "", "sub/": "" });
    const folder = realpathSync(root.path);
    const junk = fc.array(
      fc.constantFrom("'", '"', "`", "\\", "/", "import ", "from ", "\n", "x", "(", "./b.mjs", "${"),
    );
    fc.assert(
      fc.property(
        junk,
        fc.constantFrom("import '§';", 'export * from "§"', "await import(`§`)", 'require("§")'),
        (parts, form) => {
          root.write("a.mjs", `${parts.join("")}\n;${form.replace("§", "./b.mjs")}\n`);
          // An open quote before it may swallow it; on a line of its own none can.
          expect(importedModules(join(folder, "a.mjs"), folder)).to.include(join(folder, "b.mjs"));
        },
      ),
      { numRuns: 300 },
    );
  });

  it("are not waited for where a pipe lies in a module's place [H12]", () => {
    const root = roots.make({ "entry.mjs": 'import "./pipe.mjs";\n' });
    const folder = realpathSync(root.path);
    execFileSync("mkfifo", [join(folder, "pipe.mjs")]);
    expect(importedModules(join(folder, "entry.mjs"), folder)).to.deep.equal([]);
    expect(importedModules(join(folder, "pipe.mjs"), folder)).to.deep.equal([]);
  });

  it("are not followed out of the folder, and end where they go on for ever [H12]", () => {
    const many = Object.fromEntries(
      Array.from({ length: 2_100 }, (_, index) => [`root/m${index}.mjs`, `import "./m${index + 1}.mjs";\n`]),
    );
    const root = roots.make({
      ...many,
      "outside.mjs": "",
      "root/entry.mjs": 'import "../outside.mjs";\nimport "./m0.mjs";\n',
    });
    const folder = join(realpathSync(root.path), "root");
    const found = importedModules(join(folder, "entry.mjs"), folder);
    expect(found).to.have.length(2_000);
    expect(found.filter((path) => path.includes("outside"))).to.deep.equal([]);
  });
});
