import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";

import { packageRoot } from "../packaging/package_root.ts";
import { RULES } from "./rules.ts";

const TESTS = join(packageRoot, "release-support", "native-tests", "tests");
const CITATION = /\[((?:[A-Z]\d+(?:\.\d+)?(?:, )?)+)\]/g;

/**
 * Finds the rules that tests cite at the end of their names, as `[P1.2]` or `[P1.2, H3]`.
 *
 * @returns rule id to the test files that cite it, relative to the folder of the tests
 */
export function citedRules(): Map<string, Set<string>> {
  const cited = new Map<string, Set<string>>();
  for (const file of readdirSync(TESTS, { recursive: true, encoding: "utf8" }).toSorted()) {
    if (!file.endsWith(".test.ts")) continue;
    for (const [, rules = ""] of readFileSync(join(TESTS, file), "utf8").matchAll(CITATION)) {
      for (const rule of rules.split(", ")) {
        const files = cited.get(rule) ?? new Set();
        cited.set(rule, files.add(file.split(sep).join("/").replace(".test.ts", "")));
      }
    }
  }
  return cited;
}

/** The Markdown table of TESTING.md: each rule and where it is proven. */
export function ruleTable(): string {
  const cited = citedRules();
  const rows = RULES.map((rule) => `| ${rule} | ${[...(cited.get(rule) ?? [])].join(", ")} |`);
  return ["| rule | proven in |", "| --- | --- |", ...rows].join("\n");
}
