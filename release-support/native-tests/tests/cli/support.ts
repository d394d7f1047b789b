import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable } from "node:stream";

import { expect } from "chai";
import type * as z from "zod";

import { displayWidth, COLUMNS } from "../../../terminal/text.ts";
import { packageRoot } from "../../../packaging/package_root.ts";

/** How a run of the executable ended. */
export interface CliRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const EXECUTABLE = join(packageRoot, "dist", "release-support", "cli", "main.js");

/** Starts the executable as a process of its own, its standard input closed. */
export function startCli(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): ChildProcessByStdio<null, Readable, Readable> {
  const env = { ...process.env, ...environment };
  return spawn(process.execPath, [EXECUTABLE, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
}

/** Runs the executable to its end. */
export async function cli(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<CliRun> {
  const child = startCli(args, environment);
  const [stdout, stderr] = [child.stdout, child.stderr].map(collect);
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout: stdout?.() ?? "", stderr: stderr?.() ?? "" };
}

/** Gathers what a stream writes; the result tells what has come so far. */
export function collect(stream: NodeJS.ReadableStream): () => string {
  let text = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    text += chunk;
  });
  return () => text;
}

/** Waits until a stream that {@link collect} gathers has brought something. */
export async function untilWritten(
  stream: NodeJS.ReadableStream,
  text: () => string,
  wanted: string,
): Promise<void> {
  const ended = once(stream, "end").then(() => true);
  while (!text().includes(wanted)) {
    const isOver = await Promise.race([once(stream, "data").then(() => false), ended]);
    if (isOver && !text().includes(wanted))
      throw new Error(`it ended without writing "${wanted}": ${text()}`);
  }
}

/** What the executable printed as JSON, held against the project's own schema for it. */
export function documentIn<Schema extends z.ZodType>(
  { code, stdout, stderr }: CliRun,
  schema: Schema,
): z.infer<Schema> {
  if (stdout === "") throw new Error(`it printed nothing and ended with ${code}: ${stderr}`);
  return schema.parse(JSON.parse(stdout));
}

/** No line is wider than a terminal, and nothing in it moves a cursor or reorders text. */
export function expectFitForTerminal(text: string): void {
  const lines = text.split("\n");
  expect(lines.filter((line) => displayWidth(line) > COLUMNS)).to.deep.equal([]);
  expect(lines.filter((line) => /[\p{C}\p{Zl}\p{Zp}]/u.test(line))).to.deep.equal([]);
}

/** The command could not run and says why in one line, on standard error alone. */
export function expectRefusal(run: CliRun, words: RegExp): void {
  expect(run.code).to.equal(2);
  expect(run.stdout).to.equal("");
  expect(run.stderr).to.match(/^agent-guild-preflight: [^\n]+\n$/);
  expect(run.stderr).to.match(words);
}
