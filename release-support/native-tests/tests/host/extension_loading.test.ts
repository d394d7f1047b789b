import { execFile, execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, symlinkSync } from "node:fs";
import { join, relative } from "node:path";
import { promisify } from "node:util";

import { expect } from "chai";
import * as fc from "fast-check";

import { disk } from "../../../../helpers/config/file_view.ts";
import { withFileTree } from "../../../conformance/file_tree.ts";
import type { FileTree } from "../../../conformance/file_tree.ts";
import { dispatch } from "../../../host/agents/dispatch.ts";
import { exceptionKind, RepairableException } from "../../../host/agents/exceptions.ts";
import { ExtensionLoadError } from "../../../host/extensions/extension_catalog.ts";
import { findExtensionFiles } from "../../../host/extensions/extension_files.ts";
import { loadExtensionModule } from "../../../host/extensions/extension_modules.ts";
import type { Host } from "../../../host/host.ts";
import { monologue } from "../../../host/agents/monologue.ts";
import { RootSnapshot } from "../../../host/extensions/root_snapshot.ts";
import { packageRoot } from "../../../packaging/package_root.ts";
import type { OrderingChildReport } from "../../children/ordering_child.ts";
import { FOLDER, HostRoots, META, noting, notesOf, POINT } from "./extension_support.ts";

/** Whether this Node loads TypeScript: `false` or not known to it where it does not. */
const TYPESCRIPT = Boolean((process.features as { readonly typescript?: string | false }).typescript);
const POLICY = "plugins/_tool_access";
const NO_CLASS = "export const answer = 42;\n";
const BROKEN = "export default class {\n";

async function failure(action: Promise<unknown>): Promise<unknown> {
  try {
    await action;
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

async function loadError(host: Host, selection = {}): Promise<Error> {
  const error = await failure(notesOf(host, selection));
  expect(error).to.be.instanceOf(ExtensionLoadError);
  return error as Error;
}

describe("extensions of a running host", () => {
  const roots = new HostRoots();
  afterEach(() => roots.close());

  /** A host that does not watch, on these files. */
  async function open(files: FileTree): Promise<Host> {
    return roots.open(roots.make(files), { watch: false });
  }

  async function notes(files: FileTree, selection = {}): Promise<string[]> {
    return notesOf(await open(files), selection);
  }

  describe("in order", () => {
    const { input, expected } = readOrderCase();

    function caseFiles(): [string, string][] {
      const base = input.files.base_scope.map((name) => [`${FOLDER}/${name}`, `base:${name}`]);
      const project = input.files.project_scope.map((name) => [
        `${META}/${FOLDER}/${name}`,
        `project:${name}`,
      ]);
      return [...base, ...project].map(([path = "", note = ""]) => [path, noting(note)]);
    }

    for (const order of ["written", "reverse"] as const) {
      it(`runs them by code point, a project's file in place of the wider one, created in ${order} order [H3]`, async () => {
        const files = order === "written" ? caseFiles() : caseFiles().toReversed();
        expect(await notes(Object.fromEntries(files), { project: "site" })).to.deep.equal(expected.list);
      });
    }

    for (const locale of ["C", "de_DE.UTF-8"]) {
      it(`runs them by code point in a process under LANG=${locale} [H3]`, async () => {
        const root = roots.make(Object.fromEntries(caseFiles()));
        const script = join(import.meta.dirname, "../../children/ordering_child.js");
        const env = { ...process.env, LANG: locale, LC_ALL: locale, LANGUAGE: "" };
        const { stdout } = await promisify(execFile)(process.execPath, [script, root.path, POINT], { env });
        const report = JSON.parse(stdout) as OrderingChildReport;
        expect(report.ran).to.deep.equal(expected.list);
        // The control: this locale, whichever it is, would have sorted otherwise.
        expect(report.collated).to.deep.equal(["_10_a_b.js", "_10_a.js", "_10_alpha.js", "_10_Zeta.js"]);
        if (locale !== "C") expect(report.locale).to.equal("de-DE");
      });
    }

    it("runs them one after the other, each awaited before the next is made [H3]", async () => {
      const slow = `export default class {
        #agent;
        constructor(agent) { this.#agent = agent; agent.getData("notes").push("made"); }
        async execute() {
          for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
          this.#agent.getData("notes").push("done");
        }
      }`;
      const files = { [`${FOLDER}/_10_slow.js`]: slow, [`${FOLDER}/_20_slow.js`]: slow };
      expect(await notes(files)).to.deep.equal(["made", "done", "made", "done"]);
    });

    it("agrees with what was recorded of the framework, loaded from real files [H3]", async () => {
      for (const { name, input: recorded, expected: wanted } of readRecordings()) {
        const host = await open(recorded.tree);
        const { agent0 } = host.createContext(withoutNull(recorded));
        const run = () => host.extensions.inForce(recorded.point, agent0);
        if (Array.isArray(wanted)) {
          const paths = run().map(({ path }) => relative(host.root, path));
          expect(
            paths.filter((path) => !path.startsWith(POLICY)),
            name,
          ).to.deep.equal(wanted);
        } else {
          expect(run, name).to.throw();
        }
      }
    });
  });

  describe("by stem", () => {
    it("replaces an extension by the narrowest scope's, from the framework's folder to the project's profile [H3]", async () => {
      const ladder = [
        ["framework", ""],
        ["plugin", "usr/plugins/p/"],
        ["user", "usr/"],
        ["built-in profile", "agents/coder/"],
        ["plugin profile", "usr/plugins/p/agents/coder/"],
        ["user profile", "usr/agents/coder/"],
        ["project", `${META}/`],
        ["project profile", `${META}/agents/coder/`],
      ] as const;
      const files: Record<string, string> = { "usr/plugins/p/plugin.yaml": "" };
      for (const [scope, folder] of ladder) {
        files[`${folder}${FOLDER}/_50_x.js`] = noting(scope);
        expect(await notes(files, { project: "site", profile: "coder" })).to.deep.equal([scope]);
      }
    });

    it("takes x.js, x.mjs and x.ts of one folder for one, and loads the first of them alone [H3]", async () => {
      const files: Record<string, string> = { [`${FOLDER}/_50_x.ts`]: BROKEN };
      files[`${FOLDER}/_50_x.mjs`] = noting("mjs");
      expect(await notes(files)).to.deep.equal(["mjs"]);
      files[`${FOLDER}/_50_x.mjs`] = BROKEN;
      files[`${FOLDER}/_50_x.js`] = noting("js");
      expect(await notes(files)).to.deep.equal(["js"]);
    });

    it("replaces a wider x.js by a narrower x.mjs [H3]", async () => {
      const files = { [`${FOLDER}/_50_x.js`]: noting("js"), [`usr/${FOLDER}/_50_x.mjs`]: noting("mjs") };
      expect(await notes(files)).to.deep.equal(["mjs"]);
    });

    it("takes a .d.ts for none, be it alone or broken [H3]", async () => {
      const files = { [`${FOLDER}/_50_x.d.ts`]: BROKEN, [`${FOLDER}/_60_y.js`]: noting("y") };
      expect(await notes(files)).to.deep.equal(["y"]);
    });

    it("does not replace by a file without a class, and reports it [H3]", async () => {
      const host = await open({ [`${FOLDER}/_50_x.js`]: noting("x"), [`usr/${FOLDER}/_50_x.js`]: NO_CLASS });
      expect(await notesOf(host)).to.deep.equal(["x"]);
      expect(host.bootReport().refused).to.deep.equal([
        { path: `usr/${FOLDER}/_50_x.js`, why: "it holds no extension: it overrides nothing" },
      ]);
    });

    it("runs a class that is exported by name, and one whose execute is a field [H3]", async () => {
      const files = {
        [`${FOLDER}/_50_named.js`]: noting("named").replace("export default class", "export class Named"),
        [`${FOLDER}/_60_field.js`]: `export default class {
          constructor(agent) { this.agent = agent; }
          execute = () => { this.agent.getData("notes").push("field"); };
        }`,
      };
      expect(await notes(files)).to.deep.equal(["named", "field"]);
    });

    it("runs a CommonJS module too [H3]", async () => {
      const text = noting("commonjs").replace("export default", "module.exports =");
      expect(await notes({ [`${FOLDER}/_50_x.js`]: text })).to.deep.equal(["commonjs"]);
    });
  });

  describe("in TypeScript", () => {
    const TYPED = noting("ts").replace("#agent;", "readonly #agent: any;").replace("(agent)", "(agent: any)");

    if (TYPESCRIPT) {
      it("are loaded by this Node [H3]", async () => {
        expect(await notes({ [`${FOLDER}/_50_x.ts`]: TYPED })).to.deep.equal(["ts"]);
      });
    } else {
      it("stop their point, since this Node does not load them, and the message says what to do [H3]", async () => {
        const host = await open({ [`${FOLDER}/_50_x.ts`]: TYPED, [`${FOLDER}/_60_y.js`]: noting("y") });
        expect((await loadError(host)).message).to.equal(
          `The extension ${FOLDER}/_50_x.ts cannot be loaded (this Node does not load TypeScript: run npm ci in its plugin's folder, or put the compiled .js ` +
            "beside it), so nothing runs at its extension point. Mend or remove it; if it was a module behind it that " +
            "you mended, restart the host.",
        );
      });
    }

    it("are no error where this Node cannot load them and JavaScript lies beside them [H3]", async () => {
      const ENUM = "export enum Colour { Red }\n";
      for (const suffix of ["js", "mjs"]) {
        const files = { [`${FOLDER}/_50_x.ts`]: ENUM, [`${FOLDER}/_50_x.${suffix}`]: noting(suffix) };
        expect(await notes(files)).to.deep.equal([suffix]);
      }
    });
  });

  describe("that cannot be loaded", () => {
    const BAD: Readonly<Record<string, string>> = {
      "does not parse": BROKEN,
      "is binary": "\u0000\u0001\u0002",
      "throws while it loads": 'throw new Error("no");\n',
      "throws a string while it loads": 'throw "no";\n',
      "imports what is missing": 'import "./missing.js";\n',
      "imports a package that is missing": 'import "agent-guild-no-such-package";\n',
      "ends the process of waiting": "await Promise.reject(undefined);\n",
    };

    for (const [what, text] of Object.entries(BAD)) {
      it(`stop the point when one ${what}: none of its extensions runs [H3]`, async () => {
        const host = await open({
          [`${FOLDER}/_05_first.js`]: noting("first"),
          [`${FOLDER}/_50_x.js`]: text,
        });
        const notesTaken: string[] = [];
        const { agent0 } = host.createContext();
        agent0.setData("notes", notesTaken);
        const error = await failure(host.extensions.call(POINT, agent0, {}));
        expect(error).to.be.instanceOf(ExtensionLoadError);
        expect((error as Error).message).to.include(`The extension ${FOLDER}/_50_x.js cannot be loaded`);
        expect((error as Error).message)
          .to.not.include("no such")
          .and.not.include(text.trim());
        expect(notesTaken).to.deep.equal([]);
      });
    }

    it("stop the dispatch: the tool does not run, and the agent cannot go on [H3]", async () => {
      let runs = 0;
      const root = roots.make({ [`${FOLDER}/_50_x.js`]: BROKEN });
      const host = await roots.open(root, {
        watch: false,
        tools: {
          count: () => {
            runs += 1;
            return "counted";
          },
        },
      });
      const { agent0 } = host.createContext();
      expect(await failure(dispatch(agent0, { name: "count", args: {} }))).to.be.instanceOf(
        ExtensionLoadError,
      );
      const ending = await failure(monologue(agent0, ['{"tool_name": "count", "tool_args": {}}']));
      expect(exceptionKind(ending)).to.equal("handled");
      expect(runs).to.equal(0);
      expect(agent0.loopData.currentTool).to.equal(null);
    });

    it("stop the point even where a narrower scope replaces them [H3]", async () => {
      const host = await open({ [`${FOLDER}/_50_x.js`]: BROKEN, [`usr/${FOLDER}/_50_x.js`]: noting("x") });
      expect((await loadError(host)).message).to.include(`${FOLDER}/_50_x.js`);
    });

    it("stop it only where they are in scope [H3]", async () => {
      const host = await open({
        [`${FOLDER}/_10_x.js`]: noting("x"),
        [`${META}/${FOLDER}/_50_y.js`]: BROKEN,
      });
      expect(await notesOf(host)).to.deep.equal(["x"]);
      await loadError(host, { project: "site" });
    });

    it("are met as well when they are a folder, a dangling link or a pipe [H3]", async () => {
      const make: Readonly<Record<string, (path: string) => void>> = {
        "it is no regular file": (path) => void execFileSync("mkfifo", [path]),
        "it cannot be read (ENOENT)": (path) => symlinkSync("nowhere.js", path),
      };
      for (const [problem, put] of Object.entries(make)) {
        const root = roots.make({ [`${FOLDER}/`]: "" });
        put(join(root.path, FOLDER, "_50_x.js"));
        const host = await roots.open(root, { watch: false });
        expect((await loadError(host)).message).to.include(`(${problem})`);
      }
      const host = await open({ [`${FOLDER}/_50_x.js/`]: "" });
      expect((await loadError(host)).message).to.include("(it is no regular file)");
    });

    it("count as broken when they do not finish loading, so that they hold up nothing for ever [H3]", async () => {
      const root = roots.make({ [`${FOLDER}/_50_x.js`]: "await new Promise(() => {});\n" });
      const [file] = new RootSnapshot(root.path).files;
      if (file === undefined) expect.fail("the snapshot holds no file");
      const { kind, ...more } = await loadExtensionModule(file, 20);
      expect({ kind, problem: "problem" in more ? more.problem : null }).to.deep.equal({
        kind: "broken",
        problem: "it did not finish loading in 0.02 s",
      });
    });

    it("are not what editors leave beside a file: locks, copies, swap files [H4]", async () => {
      const root = roots.make({
        [`${FOLDER}/_50_x.js`]: noting("x"),
        [`${FOLDER}/_50_x.js~`]: BROKEN,
        [`${FOLDER}/._50_x.js`]: "\u0000\u0005\u0016\u0007",
        [`${FOLDER}/._50_x.js.swp`]: "b0VIM",
        [`${FOLDER}/#_50_x.js#`]: BROKEN,
        [`${FOLDER}/_50_x.js.tmp`]: BROKEN,
        [`${FOLDER}/_50_x.js___jb_tmp___`]: BROKEN,
        [`${FOLDER}/4913`]: "",
      });
      symlinkSync("somebody@somewhere.1:2", join(root.path, FOLDER, ".#_50_x.js"));
      const host = await roots.open(root, { watch: false });
      expect(await notesOf(host)).to.deep.equal(["x"]);
      expect(host.bootReport().refused).to.deep.equal([]);
    });

    it("stop the point where its folder is a file or a link in a circle [H3]", async () => {
      const asFile = roots.make({ "extensions/node/": "", [`usr/${FOLDER}/_50_x.js`]: noting("x") });
      asFile.write(FOLDER, "a file");
      const circle = roots.make({ "extensions/node/": "", [`usr/${FOLDER}/_50_x.js`]: noting("x") });
      symlinkSync(POINT, join(circle.path, FOLDER));
      const above = roots.make({ "extensions/node/": "", [`usr/${FOLDER}/_50_x.js`]: noting("x") });
      symlinkSync("..", join(above.path, FOLDER));
      for (const root of [asFile, circle, above]) {
        const host = await roots.open(root, { watch: false });
        const error = await failure(notesOf(host));
        expect((error as Error).message).to.match(
          /^the extension folder extensions\/node\/tool_execute_before cannot be listed \((?:ENOTDIR|ELOOP)\)/,
        );
        expect(host.bootReport().refused.map(({ path }) => path)).to.deep.equal([FOLDER]);
      }
    });
  });

  describe("that throw", () => {
    const execute = (body: string) => `export default class { execute() { ${body} } }\n`;
    const THROWING: Readonly<Record<string, string>> = {
      "by throwing a string": execute('throw "thrown";'),
      "with a promise that rejects": execute('return Promise.reject("thrown");'),
      "with a thenable that rejects": execute('return { then(_resolve, reject) { reject("thrown"); } };'),
      "with a thenable that throws": execute('return { then() { throw "thrown"; } };'),
      "with a then that cannot be read": execute('return { get then() { throw "thrown"; } };'),
      "by throwing in their constructor":
        'export default class { constructor() { throw "thrown"; } execute() {} }\n',
    };

    for (const [how, text] of Object.entries(THROWING)) {
      it(`stop the call ${how} [H3]`, async () => {
        const host = await open({ [`${FOLDER}/_10_x.js`]: text, [`${FOLDER}/_20_y.js`]: noting("y") });
        const { agent0 } = host.createContext();
        const taken: string[] = [];
        agent0.setData("notes", taken);
        expect(await failure(host.extensions.call(POINT, agent0, {}))).to.equal("thrown");
        expect(taken).to.deep.equal([]);
      });
    }

    it("stop the call when they throw nothing at all [H3]", async () => {
      const host = await open({ [`${FOLDER}/_10_x.js`]: execute("return Promise.reject();") });
      expect(await failure(notesOf(host))).to.equal(undefined);
    });

    it("stop the call when the class that is the default export has no execute [H3]", async () => {
      const host = await open({ [`${FOLDER}/_10_x.js`]: "export default class {}\n" });
      expect(await failure(notesOf(host))).to.be.instanceOf(TypeError);
    });

    it("can be gone on from when the exception is repairable, even from another copy of its module [H3]", async () => {
      const root = roots.make({
        "usr/plugins/p/plugin.yaml": "",
        "usr/plugins/p/package.json": '{"type": "module"}',
        "usr/plugins/p/helpers/": "",
        [`usr/plugins/p/${FOLDER}/_10_x.js`]: `import { RepairableException } from "../../../helpers/exceptions.js";
          export default class { execute() { throw new RepairableException("mend it"); } }`,
      });
      const compiled = join(import.meta.dirname, "../../../host/agents/exceptions.js");
      copyFileSync(compiled, join(root.path, "usr/plugins/p/helpers/exceptions.js"));
      const host = await roots.open(root, { watch: false });
      const { agent0 } = host.createContext();
      const thrown = await failure(dispatch(agent0, { name: "response", args: { text: "x" } }));
      expect(thrown).to.not.be.instanceOf(RepairableException);
      expect(exceptionKind(thrown)).to.equal("repairable");
      await monologue(agent0, ['{"tool_name": "response", "tool_args": {"text": "x"}}', "done"]);
      expect(agent0.history.messages.filter(({ role }) => role === "warning")).to.deep.equal([
        { role: "warning", content: "mend it" },
      ]);
    });
  });

  describe("of several roots in one process", () => {
    const COUNTING = `let runs = 0;
      export default class {
        constructor(agent) { this.agent = agent; }
        execute() { runs += 1; this.agent.getData("notes").push(String(runs)); }
      }\n`;

    it("are not shared, nor is what their modules remember [H1]", async () => {
      const one = await open({ [`${FOLDER}/_50_x.js`]: COUNTING });
      const other = await open({ [`${FOLDER}/_50_x.js`]: COUNTING });
      expect(await notesOf(one)).to.deep.equal(["1"]);
      expect(await notesOf(one)).to.deep.equal(["2"]);
      expect(await notesOf(other)).to.deep.equal(["1"]);
    });

    it("do not stop each other when one is broken or closed [H1]", async () => {
      const broken = await open({ [`${FOLDER}/_50_x.js`]: BROKEN });
      const sound = await open({ [`${FOLDER}/_50_x.js`]: noting("x") });
      await loadError(broken);
      await broken.close();
      expect(await notesOf(sound)).to.deep.equal(["x"]);
    });
  });

  describe("as a snapshot of the root shows them", () => {
    it("are those that the disk shows, whatever lies where [H3, H4]", () =>
      fc.assert(
        fc.asyncProperty(fc.uniqueArray(fc.constantFrom(...PLACES), { maxLength: 12 }), async (places) => {
          const tree = Object.fromEntries(places.map((place) => [place, ""]));
          await withFileTree(compatible(tree), (root) => {
            const snapshot = new RootSnapshot(root);
            for (const selection of SELECTIONS) {
              const seen = [disk, snapshot].map((files) => findOrCode(root, selection, files));
              expect(seen[1]).to.deep.equal(seen[0]);
            }
          });
        }),
        { numRuns: 150 },
      ));
  });
});

const SELECTIONS = [
  {},
  { project: "site" },
  { profile: "co.der" },
  { project: "site", profile: "co.der" },
] as const;

/** Files and folders that a search for extensions may meet, and some that it must not. */
const PLACES: readonly string[] = [
  "usr/plugins/",
  "plugins/",
  ...["usr/plugins/p", "plugins/p", "usr/plugins/q", "usr/plugins/.h"].flatMap((plugin) => [
    `${plugin}/plugin.yaml`,
    `${plugin}/plugin.yaml/`,
    `${plugin}/.toggle-0`,
    `${plugin}/.toggle-1`,
    `${plugin}/${FOLDER}/_10_a.js`,
    `${plugin}/agents/co.der/${FOLDER}/_10_a.mjs`,
    `${plugin}/agents/.der/${FOLDER}/_10_a.mjs`,
  ]),
  ...["", "usr/", "agents/co.der/", "usr/agents/co.der/", `${META}/`, `${META}/agents/co.der/`].flatMap(
    (scope) => [
      `${scope}${FOLDER}/_10_a.js`,
      `${scope}${FOLDER}/_20_b.ts`,
      `${scope}${FOLDER}/_30_c.js/`,
      `${scope}plugins/p/.toggle-0/`,
      `${scope}plugins/p/.toggle-0`,
      `${scope}plugins/p/.toggle-1`,
    ],
  ),
  FOLDER,
  `usr/${FOLDER}`,
  `${META}/${FOLDER}`,
  "agents/co.der",
  `usr/${FOLDER}/deeper/_40_d.js`,
  "usr/projects/site/extensions/node/tool_execute_before/_50_e.js",
];

/** Leaves out what would lie below a file. */
function compatible(tree: FileTree): FileTree {
  const files = Object.keys(tree).filter((path) => !path.endsWith("/"));
  return Object.fromEntries(
    Object.entries(tree).filter(([path]) => !files.some((file) => path.startsWith(`${file}/`))),
  );
}

function findOrCode(root: string, selection: object, files: typeof disk | RootSnapshot): unknown {
  try {
    return findExtensionFiles(root, POINT, selection, files);
  } catch (error) {
    return (error as Error).message;
  }
}

interface OrderCase {
  readonly input: { readonly files: { readonly base_scope: string[]; readonly project_scope: string[] } };
  readonly expected: { readonly list: readonly string[] };
}

function readOrderCase(): OrderCase {
  const file = join(packageRoot, "release-support", "native-tests", "cases", "cases.json");
  const cases = JSON.parse(readFileSync(file, "utf8")) as (OrderCase & { readonly id: string })[];
  const found = cases.find(({ id }) => id === "G-15");
  if (found === undefined) throw new Error("the case G-15 is missing");
  return found;
}

interface Recording {
  readonly name: string;
  readonly input: {
    readonly tree: FileTree;
    readonly point: string;
    readonly project: string | null;
    readonly profile: string | null;
  };
  readonly expected: readonly string[] | { readonly error: string };
}

const MODULES: Readonly<Record<string, string>> = {
  EXT: "export default class { execute() {} }\n",
  NOCLASS: NO_CLASS,
  BAD: BROKEN,
};

/** The recordings `extension_order`, in this port's names and with modules of its own; those in Python are left out. */
function readRecordings(): Recording[] {
  const file = join(packageRoot, "release-support", "native-tests", "vectors", "extension_order.json");
  const { cases } = JSON.parse(readFileSync(file, "utf8")) as { readonly cases: Recording[] };
  const isOurs = ([path, text]: [string, string]) => !path.endsWith(".py") || text in MODULES;
  return cases
    .filter(({ input }) => Object.entries(input.tree).every(isOurs))
    .map(({ name, input, expected }) => {
      const tree = Object.fromEntries(
        Object.entries(input.tree).map(([path, text]) => [toNode(path), MODULES[text] ?? text]),
      );
      const wanted = Array.isArray(expected) ? expected.map(toNode) : expected;
      return { name, input: { ...input, tree }, expected: wanted };
    });
}

function toNode(path: string): string {
  return path.replace("extensions/python", "extensions/node").replace(/\.py(\/?)$/, ".js$1");
}

function withoutNull({ project, profile }: Recording["input"]): { project?: string; profile?: string } {
  return { ...(project === null ? {} : { project }), ...(profile === null ? {} : { profile }) };
}
