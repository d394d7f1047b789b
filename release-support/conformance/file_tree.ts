import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** Files by path relative to a root, with their text; a path that ends in `/` is a folder. */
export type FileTree = Readonly<Record<string, string>>;

/** The folders that every host root of the vectors has. */
export const PLUGIN_ROOTS: FileTree = { "usr/plugins/": "", "plugins/": "" };

/**
 * Makes a file tree real for as long as it is used.
 *
 * @param tree - the files
 * @param use - gets the absolute path of a temporary folder that holds them
 * @returns what `use` gives; the folder is gone by then
 */
export async function withFileTree<T>(tree: FileTree, use: (root: string) => T | Promise<T>): Promise<T> {
  const root = mkdtempSync(join(tmpdir(), "agent-guild-tree-"));
  try {
    writeFileTree(root, tree);
    return await use(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** Writes a file tree below an existing folder. */
export function writeFileTree(root: string, tree: FileTree): void {
  for (const [path, text] of Object.entries(tree)) {
    const target = join(root, path);
    if (path.endsWith("/")) {
      mkdirSync(target, { recursive: true });
    } else {
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, text);
    }
  }
}
