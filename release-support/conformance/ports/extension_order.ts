import { readFileSync } from "node:fs";
import { relative } from "node:path";

import { findExtensionFiles, selectWinners } from "../../host/extensions/extension_files.ts";
import { PLUGIN_ROOTS, withFileTree } from "../file_tree.ts";
import type { FileTree } from "../file_tree.ts";
import type { Port } from "../runner.ts";

interface Input {
  readonly tree: FileTree;
  readonly point: string;
  readonly project: string | null;
  readonly profile: string | null;
}

export default {
  run({ tree, point, project, profile }: Input) {
    const ported: FileTree = Object.fromEntries(
      Object.entries(tree).map(([path, text]) => [toNode(path), text]),
    );
    return withFileTree({ ...PLUGIN_ROOTS, ...ported }, (root) => {
      const files = findExtensionFiles(root, point, { project, profile });
      return selectWinners(files, yieldsExtension).map(({ path }) => toPython(relative(root, path)));
    });
  },
} satisfies Port;

function toNode(path: string): string {
  return path.replace("extensions/python", "extensions/node").replace(/\.py(\/?)$/, ".js$1");
}

function toPython(path: string): string {
  return path.replace("extensions/node", "extensions/python").replace(/\.js$/, ".py");
}

/** Stands in for loading a file of the vectors: what they write for its content, or Python text. */
function yieldsExtension(path: string): boolean {
  const text = readFileSync(path, "utf8");
  switch (text) {
    case "EXT":
      return true;
    case "NOCLASS":
      return false;
    case "BAD":
      throw new SyntaxError("this file does not parse");
    default:
      return definesExtension(text);
  }
}

/** Tells whether Python text defines a class that derives from `Extension`, be it by way of another of its classes. */
function definesExtension(text: string): boolean {
  if (/^raise\b/m.test(text)) throw new Error("this file fails when it is loaded");
  const extensions = new Set(["Extension"]);
  for (const [, name = "", bases = ""] of text.matchAll(/^class\s+(\w+)\s*\(([^)]*)\)\s*:/gm)) {
    if (bases.split(",").some((base) => extensions.has(base.trim().replace(/^.*\./, ""))))
      extensions.add(name);
  }
  return extensions.size > 1;
}
