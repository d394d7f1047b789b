import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { packageRoot } from "../packaging/package_root.ts";
import type { Cell } from "./put_through.ts";

const SIGNS = { passed: "passed", failed: "FAILED", "not testable": "not testable" } as const;

/** The table host by scenario, in Markdown, with the reasons below it. */
export function table(cells: readonly Cell[]): string {
  const hosts = [...new Set(cells.map(({ host }) => host))];
  const scenarios = [...new Set(cells.map(({ scenario }) => scenario))];
  const find = (host: string, scenario: string) =>
    cells.find((cell) => cell.host === host && cell.scenario === scenario);
  const row = (texts: readonly string[]) => `| ${texts.join(" | ")} |`;
  const versions = hosts.map((host) => cells.find((cell) => cell.host === host)?.version ?? "");
  const notes = cells
    .filter(({ problems }) => problems.length > 0)
    .map(({ host, scenario, problems }) => `- ${host}, ${scenario}: ${problems.join("; ")}`);
  return [
    row(["scenario", ...versions.map((version) => `\`${version}\``)]),
    row(["---", ...hosts.map(() => "---")]),
    ...scenarios.map((scenario) =>
      row([scenario, ...hosts.map((host) => SIGNS[find(host, scenario)?.outcome ?? "not testable"])]),
    ),
    ...(notes.length === 0 ? [] : ["", ...notes]),
  ].join("\n");
}

/** Stands before and after the table in TESTING.md. */
export const MARKS = ["<!-- npm run test:hosts -- --write -->", "<!-- end -->"] as const;

/** Replaces the table in TESTING.md. */
export function writeTable(text: string): void {
  const path = join(packageRoot, "TESTING.md");
  const [before, rest = ""] = readFileSync(path, "utf8").split(MARKS[0]);
  const after = rest.slice(rest.indexOf(MARKS[1]));
  writeFileSync(path, `${before}${MARKS[0]}\n\n${text}\n\n${after}`);
}
