import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";

import { packageRoot } from "../packaging/package_root.ts";

/** One recorded or derived case: what goes in, what must come out. */
export interface VectorCase {
  readonly name: string;
  readonly input: unknown;
  readonly expected: unknown;
}

/**
 * How the project answers the cases of one vector file: a module in `ports/`, named like the file, whose default
 * export this is.
 */
export interface Port {
  /** Gives what the real code makes of an input, in the vector file's own notation. Throwing is an answer too. */
  readonly run: (input: never) => unknown;
  /** Compares; by default deep equality in which any error equals any other error. */
  readonly agrees?: (got: unknown, expected: never) => boolean;
}

/** What became of one case. `known` is a failure that `known-gaps.json` lists with its reason. */
export interface CaseResult {
  readonly name: string;
  readonly outcome: "passed" | "failed" | "known";
  readonly got: unknown;
  readonly expected: unknown;
}

/** What became of one vector file; `skipped` when the project has no port for it. */
export type FileResult =
  | { readonly kind: "ran"; readonly name: string; readonly cases: readonly CaseResult[] }
  | { readonly kind: "skipped"; readonly name: string };

/**
 * Runs every vector file of a folder through the project's own code.
 *
 * @param dir - folder of `*.json` vector files
 * @returns a result a file, in name order
 * @throws Error when the folder cannot be read or a file is not a vector file
 */
export async function runVectors(dir: string): Promise<FileResult[]> {
  const results: FileResult[] = [];
  for (const file of readdirSync(dir).toSorted()) {
    if (file.endsWith(".json")) results.push(await runVectorFile(join(dir, file)));
  }
  return results;
}

/**
 * Runs one vector file.
 *
 * @param path - the file; its base name chooses the port
 * @throws Error when the file is not a vector file
 */
export async function runVectorFile(path: string): Promise<FileResult> {
  const name = basename(path, ".json");
  const port = await loadPort(name);
  if (port === null) return { kind: "skipped", name };
  const cases: CaseResult[] = [];
  for (const one of readCases(path)) cases.push(await runCase(name, port, one));
  return { kind: "ran", name, cases };
}

async function runCase(file: string, port: Port, one: VectorCase): Promise<CaseResult> {
  let got: unknown;
  try {
    got = await port.run(one.input as never);
  } catch (error) {
    got = { error: error instanceof Error ? error.name : String(error) };
  }
  const agrees = port.agrees ?? isSameAnswer;
  const known = knownGaps()[file]?.[one.name] !== undefined;
  const outcome = agrees(got, one.expected as never) ? "passed" : known ? "known" : "failed";
  return { name: one.name, outcome, got, expected: one.expected };
}

/** Deep equality, but where an error is expected only its presence counts (the vectors' own rule). */
export function isSameAnswer(got: unknown, expected: unknown): boolean {
  if (isErrorMark(expected)) return isErrorMark(got);
  if (Array.isArray(expected)) {
    return (
      Array.isArray(got) &&
      got.length === expected.length &&
      expected.every((item, index) => isSameAnswer(got[index], item))
    );
  }
  if (isObject(expected) && isObject(got)) {
    const keys = Object.keys(expected);
    return (
      keys.length === Object.keys(got).length &&
      keys.every((key) => Object.hasOwn(got, key) && isSameAnswer(got[key], expected[key]))
    );
  }
  return isDeepStrictEqual(got, expected);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isErrorMark(value: unknown): boolean {
  return isObject(value) && Object.hasOwn(value, "error");
}

async function loadPort(name: string): Promise<Port | null> {
  // Compiled the ports end in .js; where Node runs the sources, in .ts.
  for (const suffix of [".js", ".ts"]) {
    const path = join(import.meta.dirname, "ports", name + suffix);
    if (existsSync(path)) return ((await import(pathToFileURL(path).href)) as { default: Port }).default;
  }
  return null;
}

function readCases(path: string): VectorCase[] {
  const file = JSON.parse(readFileSync(path, "utf8")) as { cases?: VectorCase[] };
  if (!Array.isArray(file.cases))
    throw new Error(`${basename(path)} is not a vector file: it has no "cases"`);
  return file.cases;
}

function knownGaps(): Record<string, Record<string, string>> {
  const path = join(packageRoot, "release-support", "conformance", "known-gaps.json");
  return JSON.parse(readFileSync(path, "utf8")) as Record<string, Record<string, string>>;
}
