import { createRequire } from "node:module";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

import { CONFIG_SCHEMA_FILE } from "./config_schema_file.ts";
import { packageRoot } from "./package_root.ts";
import { writeReleaseManifest } from "./release_manifest.ts";

/** Where the compiled plugin lies. */
const compiled = join(packageRoot, "dist");
const RUNTIME_DEPENDENCIES = ["undici", "yaml", "zod"];
const DOCUMENTS = ["plugin.yaml", "default_config.yaml", "LICENSE", "NOTICE", CONFIG_SCHEMA_FILE];
/** What the plugin folder says for itself: the project's own README leads to files that it does not have. */
const README = join(packageRoot, "release-support", "packaging", "plugin_readme.md");

/** How a plugin directory gets the three packages that the plugin needs at run time. */
export type Dependencies =
  /** Copied into its own `node_modules`: it works wherever it is put. */
  | "copied"
  /** Linked to those of this package: quick, for tests. */
  | "linked";

/**
 * Makes a self-contained plugin directory: what an operator puts below `usr/plugins/` (SPEC D2).
 *
 * @param target - the directory to make, usually `<root>/usr/plugins/agent_guild_preflight`
 * @param dependencies - how it gets its packages
 * @throws Error when the project has not been built, or the directory cannot be written
 */
export function makePluginDirectory(target: string, dependencies: Dependencies): void {
  mkdirSync(join(target, "node_modules"), { recursive: true });
  for (const name of DOCUMENTS) cpSync(join(packageRoot, name), join(target, name));
  for (const folder of ["extensions", "helpers"]) {
    cpSync(join(compiled, folder), join(target, folder), {
      recursive: true,
      filter: (path) => !/\.(?:d\.ts|map)$/.test(path),
    });
  }
  cpSync(README, join(target, "README.md"));
  const manifest = packageManifest();
  writeFileSync(join(target, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const name of RUNTIME_DEPENDENCIES) {
    const from = dirname(createRequire(join(packageRoot, "package.json")).resolve(`${name}/package.json`));
    const to = join(target, "node_modules", name);
    if (dependencies === "linked") symlinkSync(from, to, "junction");
    else cpSync(from, to, { recursive: true, filter: (path) => isNeeded(relative(from, path)) });
  }
  writeReleaseManifest(target, manifest.version);
}

function packageManifest() {
  const { name, version, license, engines, dependencies } = JSON.parse(
    readFileSync(join(packageRoot, "package.json"), "utf8"),
  ) as Record<string, unknown> & { version: string; dependencies: Record<string, string> };
  const needed = Object.fromEntries(RUNTIME_DEPENDENCIES.map((one) => [one, dependencies[one]]));
  return {
    name: `${String(name)}-plugin`,
    version,
    license,
    private: true,
    type: "module",
    engines,
    dependencies: needed,
  };
}

/** Sources, types and documents of a dependency are not needed to run it. */
function isNeeded(path: string): boolean {
  return !/(?:^|\/)(?:src|docs|types|browser)(?:\/|$)|\.(?:d\.[cm]?ts|map|md)$/.test(path);
}
