import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** What only a host root has directly in it. */
const MARKS = ["usr/plugins", "usr/settings.json", "usr/projects", "usr/agents", "plugins/_tool_access"];

/**
 * Tells whether a folder that is given for a host root looks like one a level off (SPEC C10): everything that is said
 * about it would be true of a root that no host opens.
 *
 * @param root - absolute
 * @returns what it looks like and what to give instead, or `null`. It repeats no more than the names of folders.
 */
export function levelProblem(root: string): string | null {
  if (looksLikeRoot(root)) return null;
  const name = basename(root);
  if (name === "usr" && !existsSync(join(root, "usr"))) {
    return "it looks like the folder usr/ of a host root; give the folder above it";
  }
  if (name === ".a0proj") return "it is the folder of a project; give the host root above usr/projects/";
  if (basename(dirname(root)) === "agents") {
    return "it is the folder of an agent profile; give the host root above agents/";
  }
  const inner = foldersIn(root).find((folder) => looksLikeRoot(join(root, folder)));
  return inner === undefined ? null : `the host root seems to be its folder ${inner}; give that`;
}

function looksLikeRoot(folder: string): boolean {
  return MARKS.some((mark) => existsSync(join(folder, mark)));
}

function foldersIn(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== "usr" && entry.name !== "plugins")
      .map(({ name }) => name)
      .toSorted();
  } catch {
    return [];
  }
}
