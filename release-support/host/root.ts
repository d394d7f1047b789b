import { cpSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";

import { packageRoot } from "../package_root.ts";

/** The compiled code of this package, or its sources where Node runs those. */
const compiled = join(import.meta.dirname, "builtin", "plugins");
const sources = join(packageRoot, "release-support", "host", "builtin", "plugins");

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
    if (existsSync(join(target, "plugin.yaml"))) continue;
    cpSync(join(sources, plugin), target, { recursive: true, filter: (path) => !path.endsWith(".ts") });
    if (compiled !== sources) {
      cpSync(join(compiled, plugin), target, {
        recursive: true,
        filter: (path) => !/\.d\.ts$|\.map$/.test(path),
      });
    } else {
      cpSync(join(sources, plugin), target, { recursive: true });
    }
  }
}
