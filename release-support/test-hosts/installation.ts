import { spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { packageRoot } from "../packaging/package_root.ts";
import type { HostDriver, HostRun } from "./host_driver.ts";

/** Where hosts are installed: not part of the repository. */
const HOSTS = join(packageRoot, ".hosts");
const INSTALL_MS = 600_000;

/**
 * Installs the packages of a host, unless exactly these are there already.
 *
 * @returns the folder with its `node_modules`
 * @throws Error when npm cannot
 */
export async function install({ name, packages }: HostDriver): Promise<string> {
  const folder = join(HOSTS, name);
  const manifest = JSON.stringify({ private: true, dependencies: packages }, null, 2);
  const done = join(folder, "installed.json");
  if (existsSync(done) && readFileSync(done, "utf8") === manifest) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), manifest);
  const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--legacy-peer-deps"];
  const run = await runProgram("npm", args, { cwd: folder, env: process.env, ms: INSTALL_MS });
  if (run.exitCode !== 0)
    throw new Error(`the packages of ${name} cannot be installed:\n${run.output.slice(-2000)}`);
  writeFileSync(done, manifest);
  return folder;
}

/** Makes a copy of this package whose policy throws: the gate breaks in the middle of its work. Gives its folder. */
export function brokenPlugin(): string {
  const folder = join(HOSTS, "broken-gate");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const part of ["package.json", "plugin.yaml", "default_config.yaml", "dist"]) {
    cpSync(join(packageRoot, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(packageRoot, "node_modules"), join(folder, "node_modules"));
  const [policy, another] = readdirSync(join(folder, "dist/helpers"), {
    recursive: true,
    encoding: "utf8",
  }).filter((file) => /(?:^|\/)policy\.js$/.test(file));
  if (policy === undefined || another !== undefined)
    throw new Error("the gate's policy is not where it is looked for");
  const broken =
    'export function decide() { throw new Error("broken on purpose"); }\nexport const missingProof = decide;\n';
  writeFileSync(join(folder, "dist/helpers", policy), broken);
  return folder;
}

/** How a program is run. */
interface ProgramOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** After which it is killed, in milliseconds. */
  readonly ms: number;
}

/** Runs a program to its end, without standard input, and gives what it wrote on both outputs. */
export async function runProgram(
  command: string,
  args: readonly string[],
  { cwd, env, ms }: ProgramOptions,
): Promise<HostRun> {
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const timer = setTimeout(() => child.kill("SIGKILL"), ms);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  try {
    const exitCode = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject).on("close", resolve);
    });
    return { exitCode, output };
  } finally {
    clearTimeout(timer);
  }
}
