import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect } from "chai";

import { packageRoot } from "../../../package_root.ts";
import { RULES } from "../../rules.ts";

const TESTS = join(packageRoot, "release-support", "native-tests", "tests");

/** Every `[P1.2]` or `[P1.2, H3]` at the end of a test's name or a suite's. */
function citedRules(): Set<string> {
  const cited = new Set<string>();
  for (const file of readdirSync(TESTS, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".test.ts")) continue;
    const text = readFileSync(join(TESTS, file), "utf8");
    for (const [, rules = ""] of text.matchAll(/\[((?:[A-Z]\d+(?:\.\d+)?(?:, )?)+)\]/g)) {
      for (const rule of rules.split(", ")) cited.add(rule);
    }
  }
  return cited;
}

describe("requirements", () => {
  it("cites every rule of the specification in a test", () => {
    const cited = citedRules();
    expect(RULES.filter((rule) => !cited.has(rule))).to.deep.equal([]);
  });

  it("cites no rule that the specification does not have", () => {
    const known: ReadonlySet<string> = new Set(RULES);
    expect([...citedRules()].filter((rule) => !known.has(rule))).to.deep.equal([]);
  });
});
