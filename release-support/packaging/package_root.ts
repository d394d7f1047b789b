import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The folder of this package: where `package.json` lies, whether the code runs from `dist/` or from its sources. */
export const packageRoot: string = findPackageRoot(import.meta.dirname);

function findPackageRoot(from: string): string {
  if (existsSync(join(from, "package.json")) && existsSync(join(from, "plugin.yaml"))) return from;
  const parent = dirname(from);
  if (parent === from) throw new Error("agent-guild-preflight is incomplete: its package.json is missing");
  return findPackageRoot(parent);
}

/** The version of this package. */
export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as { version: string };
  return manifest.version;
}
