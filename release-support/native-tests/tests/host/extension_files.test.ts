import { join, relative } from "node:path";

import { expect } from "chai";
import * as fc from "fast-check";

import { PLUGIN_ROOTS, withFileTree } from "../../../conformance/file_tree.ts";
import type { FileTree } from "../../../conformance/file_tree.ts";
import {
  ExtensionFolderError,
  findExtensionFiles,
  groupByStem,
  selectWinners,
} from "../../../host/extensions/extension_files.ts";
import type { ExtensionFolder, ExtensionWinner } from "../../../host/extensions/extension_files.ts";

const POINT = "extensions/node/tool_execute_before";
const PROJECT = "usr/projects/site/.a0proj";

function folder(path: string, ...names: string[]): ExtensionFolder {
  return { scope: "framework", plugin: null, path, names };
}

async function winners(tree: FileTree, yieldsExtension: (path: string) => boolean = () => true) {
  return withFileTree({ ...PLUGIN_ROOTS, ...tree }, (root) => {
    const short = (path: string) => relative(root, path).replace(`${POINT}/`, "");
    const files = findExtensionFiles(root, "tool_execute_before", { project: "site", profile: "coder" });
    return selectWinners(files, (path) => yieldsExtension(short(path))).map((winner) => ({
      ...winner,
      path: short(winner.path),
      shadows: winner.shadows.map(short),
      withoutExtension: winner.withoutExtension.map(short),
    }));
  });
}

function paths(list: readonly ExtensionWinner[]): string[] {
  return list.map(({ path }) => path);
}

describe("extension files of a point", () => {
  it("run in code-point order of their stems, the narrower scope's file in place of the wider one's [H3, G-15]", async () => {
    const names = ["_20_gate.js", "_10_alpha.js", "_10_Zeta.js", "_10_a.js", "_10_a_b.js"];
    const base = names.map((name): [string, string] => [`${POINT}/${name}`, ""]);
    for (const order of [base, base.toReversed()]) {
      const tree = { ...Object.fromEntries(order), [`${PROJECT}/${POINT}/_10_alpha.js`]: "" };
      expect(paths(await winners(tree))).to.deep.equal([
        "_10_Zeta.js",
        "_10_a.js",
        "_10_a_b.js",
        `${PROJECT}/_10_alpha.js`,
        "_20_gate.js",
      ]);
    }
  });

  it("do not depend on the order in which a folder lists them [H3, G-15]", () => {
    const name = fc.string({
      unit: fc.constantFrom("_", "1", "a", "B", ".", "\uff41", "\u{1f600}"),
      minLength: 1,
    });
    const names = fc.uniqueArray(
      name.map((stem) => `${stem}.js`),
      { minLength: 1 },
    );
    const shuffled = names.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
    );
    fc.assert(
      fc.property(shuffled, ([one, other]) => {
        expect(groupByStem([folder("/x", ...one)])).to.deep.equal(groupByStem([folder("/x", ...other)]));
      }),
    );
  });

  it("of one folder and stem are one extension: .js before .mjs before .ts [H3]", () => {
    const [only, ...others] = groupByStem([folder("/x", "a.ts", "a.mjs", "a.js")]);
    expect(others).to.deep.equal([]);
    expect(only?.candidates).to.deep.equal([
      { path: "/x/a.js", scope: "framework", plugin: null, unused: ["/x/a.mjs", "/x/a.ts"] },
    ]);
  });

  it("have the same stem whatever their suffix, so that a .ts overrides a wider .js [H3]", async () => {
    const tree = { [`${POINT}/_10_a.js`]: "", [`usr/${POINT}/_10_a.ts`]: "" };
    expect(await winners(tree)).to.deep.equal([
      {
        stem: "_10_a",
        path: "usr/_10_a.ts",
        scope: "user",
        plugin: null,
        shadows: ["_10_a.js"],
        withoutExtension: [],
      },
    ]);
  });

  it("are none with .d.ts, .cjs, .json, another case or no suffix [H3]", () => {
    const names = ["a.d.ts", "b.cjs", "c.json", "d.JS", "e", "f.js.bak", "g.mts", "h.js.map"];
    expect(groupByStem([folder("/x", ...names)])).to.deep.equal([]);
  });

  it("include a folder with such a name, which no loader passes by [vectors extension_order]", async () => {
    const asked: string[] = [];
    await winners({ [`${POINT}/_10_a.js/`]: "" }, (path) => {
      asked.push(path);
      return true;
    });
    expect(asked).to.deep.equal(["_10_a.js"]);
  });

  it("do not override with a file that yields no extension, which is told [vectors extension_order]", async () => {
    const tree = { [`${POINT}/_10_a.js`]: "", [`usr/${POINT}/_10_a.js`]: "" };
    const [winner] = await winners(tree, (path) => path === "_10_a.js");
    expect(winner).to.include({ path: "_10_a.js", scope: "framework" });
    expect(winner?.withoutExtension).to.deep.equal(["usr/_10_a.js"]);
  });

  it("leave a stem out of which no file yields an extension [vectors extension_order]", async () => {
    expect(await winners({ [`${POINT}/_10_a.js`]: "" }, () => false)).to.deep.equal([]);
  });

  it("are all asked about, so that a broken one stops its point even when it is overridden [vectors extension_order]", async () => {
    const tree = { [`usr/${POINT}/_10_a.js`]: "", [`${POINT}/_10_a.js`]: "" };
    let failure: unknown;
    try {
      await winners(tree, (path) => {
        if (path === "_10_a.js") throw new SyntaxError("broken");
        return true;
      });
    } catch (error) {
      failure = error;
    }
    expect(failure).to.be.instanceOf(SyntaxError);
  });

  it("tell everything that a winner shadows [H3]", async () => {
    const tree = {
      "plugins/p/plugin.yaml": "",
      [`${PROJECT}/${POINT}/_45_gate.mjs`]: "",
      [`${PROJECT}/${POINT}/_45_gate.ts`]: "",
      [`plugins/p/${POINT}/_45_gate.js`]: "",
      [`${POINT}/_45_gate.js`]: "",
    };
    const [winner] = await winners(tree);
    expect(winner?.shadows).to.deep.equal(["plugins/p/_45_gate.js", "_45_gate.js", `${PROJECT}/_45_gate.ts`]);
  });

  it("of a built-in plugin are hidden by a user's plugin of the same name [vectors extension_order]", async () => {
    const tree = {
      "plugins/p/plugin.yaml": "",
      [`plugins/p/${POINT}/_45_gate.js`]: "",
      "usr/plugins/p/plugin.yaml": "",
    };
    expect(await winners(tree)).to.deep.equal([]);
  });

  it("of a plugin that is off are not even looked at [vectors extension_order]", async () => {
    const tree = {
      "plugins/p/plugin.yaml": "",
      "plugins/p/.toggle-0": "",
      [`plugins/p/${POINT}/_45_gate.js`]: "",
    };
    expect(await winners(tree, (path) => expect.fail(`${path} was asked about`))).to.deep.equal([]);
  });

  it("cannot be found where the point is no folder, which is an error [vectors extension_order]", () =>
    withFileTree({ ...PLUGIN_ROOTS, [POINT]: "a file" }, (root) => {
      expect(() => findExtensionFiles(root, "tool_execute_before", {}))
        .to.throw(ExtensionFolderError, "ENOTDIR")
        .with.property("folder", POINT);
    }));

  it("are found for a function's point and for a point with a slash at its end [vectors extension_order]", () =>
    withFileTree({ ...PLUGIN_ROOTS, "extensions/node/_functions/agent/Agent/start/_10_a.js": "" }, (root) => {
      for (const point of ["_functions/agent/Agent/start", "_functions/agent/Agent/start/"]) {
        const found = findExtensionFiles(root, point, {}).flatMap(({ candidates }) => candidates);
        expect(found.map(({ path }) => path)).to.deep.equal([
          join(root, "extensions/node/_functions/agent/Agent/start/_10_a.js"),
        ]);
      }
    }));

  it("lie nowhere but below their point: a point that leads elsewhere is refused", () =>
    withFileTree(PLUGIN_ROOTS, (root) => {
      for (const point of ["..", "a/../b", "a\0b"]) {
        expect(() => findExtensionFiles(root, point, {}), point).to.throw(TypeError);
      }
    }));
});
