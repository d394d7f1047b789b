import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { packageRoot } from "../packaging/package_root.ts";

/** What V8 writes down for one process, as far as it is read here. */
interface ProcessCoverage {
  readonly result: { url: string }[];
  readonly "source-map-cache"?: Record<string, unknown>;
}

/** A file of the compiled plugin where a test installed it: below the plugin's folder of some host root. */
const INSTALLED = /\/plugins\/agent_guild_preflight\/((?:extensions|helpers)\/[^?#]+\.js)(?:[?#].*)?$/;

/**
 * Runs the suite and reports how much of the plugin it covers. Hosts run copies of the plugin, byte for byte those of
 * `dist/`, in folders that are gone when the report is made: what V8 counted there is counted for the originals.
 *
 * Arguments are handed to mocha.
 */
function main(args: readonly string[]): number {
  const folder = join(packageRoot, "coverage");
  const counts = join(folder, "counts");
  rmSync(folder, { recursive: true, force: true });
  const suite = run("mocha", "bin/mocha.js", args, { NODE_V8_COVERAGE: counts });
  for (const name of readdirSync(counts)) countForOriginals(join(counts, name));
  const report = run("c8", "bin/c8.js", [
    "report",
    `--temp-directory=${counts}`,
    `--reports-dir=${folder}`,
    "--reporter=text",
    "--reporter=html",
    "--reporter=json",
    "--include=helpers/**",
    "--exclude-after-remap",
    "--check-coverage",
    "--lines=95",
    "--branches=95",
  ]);
  return suite === 0 ? report : suite;
}

function countForOriginals(file: string): void {
  const coverage = JSON.parse(readFileSync(file, "utf8")) as ProcessCoverage;
  const maps = coverage["source-map-cache"] ?? {};
  for (const script of coverage.result) {
    const path = INSTALLED.exec(script.url)?.[1];
    if (path === undefined) continue;
    delete maps[script.url];
    script.url = pathToFileURL(join(packageRoot, "dist", path)).href;
  }
  writeFileSync(file, JSON.stringify(coverage));
}

function run(name: string, script: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): number {
  const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
  const { status } = spawnSync(process.execPath, [join(manifest, "..", script), ...args], {
    cwd: packageRoot,
    stdio: "inherit",
    env: { ...process.env, ...env },
  });
  return status ?? 1;
}

process.exitCode = main(process.argv.slice(2));
