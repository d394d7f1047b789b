import { cpSync, existsSync, mkdirSync } from "node:fs";
import { basename, join } from "node:path";

import { packageRoot } from "../packaging/package_root.ts";

/** The code of the built-in plugins: compiled, or the sources where Node runs those. */
const CODE = join(import.meta.dirname, "builtin", "plugins");
const MANIFESTS = join(packageRoot, "release-support", "host", "builtin", "plugins");
const MANIFEST = "plugin.yaml";

/** The plugins that the framework brings along. */
const BUILT_IN_PLUGINS = ["_tool_access"];

/**
 * Lays out what a host root must have: both plugin roots, and the framework's built-in plugins where they are missing.
 * What is there already stays as it is (SPEC H1).
 *
 * @param root - the host root, made if need be
 * @throws Error when a folder cannot be made
 */
export function layOutRoot(root: string): void {
  mkdirSync(join(root, "usr", "plugins"), { recursive: true });
  mkdirSync(join(root, "plugins"), { recursive: true });
  for (const plugin of BUILT_IN_PLUGINS) {
    const target = join(root, "plugins", plugin);
    if (existsSync(join(target, MANIFEST))) continue;
    cpSync(join(CODE, plugin), target, { recursive: true, filter: isCode });
    // Last, since a folder with a manifest counts as complete: half a plugin must not be taken for a whole one.
    cpSync(join(MANIFESTS, plugin, MANIFEST), join(target, MANIFEST));
  }
}

function isCode(path: string): boolean {
  return basename(path) !== MANIFEST && !/\.d\.ts$|\.map$/.test(path);
}
