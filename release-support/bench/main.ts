/**
 * `npm run --silent bench -- [--json] [--quick] [CASE...]`: what things cost, measured side by side; nothing is asserted.
 * Each case runs in a process of its own, so that none pays for what another left behind.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { holds } from "./bench_case.ts";
import type { CaseResult, Pace } from "./bench_case.ts";
import { CASES } from "./cases.ts";
import { tableText } from "./table_text.ts";

/** A case's result with its names. */
export interface NamedResult extends CaseResult {
  readonly name: string;
  readonly title: string;
}

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean" }, quick: { type: "boolean" } },
});
const unknown = positionals.filter((name) => !Object.hasOwn(CASES, name));
if (unknown.length > 0) {
  console.error(`There is no such case: ${unknown.join(", ")}. There are: ${Object.keys(CASES).join(", ")}.`);
  process.exit(2);
}
const byDefault = Object.keys(CASES).filter((name) => CASES[name]?.byDefault);
const pace: Pace = flags.quick === true ? { ms: 400, quick: true } : { ms: 2500, quick: false };

const results: NamedResult[] = [];
for (const name of positionals.length > 0 ? positionals : byDefault) {
  const result = await runCase(name);
  results.push(result);
  if (flags.json !== true) console.log(tableText(result));
}
if (flags.json === true) {
  const cases = results.map(({ claims, ...result }) => ({
    ...result,
    claims: claims.map((claim) => ({ ...claim, holds: holds(claim) })),
  }));
  console.log(
    JSON.stringify({ node: process.version, cpus: availableParallelism(), ...pace, cases }, null, 2),
  );
}

/** @throws Error when the case fails; what it printed says why */
async function runCase(name: string): Promise<NamedResult> {
  const child = fork(fileURLToPath(new URL("one_case.js", import.meta.url)), [name, JSON.stringify(pace)], {
    execArgv: ["--expose-gc"],
    // Only the result may stand on the standard output.
    stdio: ["ignore", 2, 2, "ipc"],
  });
  let result: NamedResult | undefined;
  child.on("message", (message) => {
    result = message as NamedResult;
  });
  await once(child, "exit");
  if (result === undefined) throw new Error(`the case ${name} brought no result`);
  return result;
}
