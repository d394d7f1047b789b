import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect } from "chai";

import { packageRoot } from "../../../packaging/package_root.ts";
import { citedRules, ruleTable } from "../../rule_citations.ts";
import { RULES } from "../../rules.ts";

/** A table as it is without the padding that the formatter gives it. */
function unpadded(table: string): string {
  return table.replace(/ +/g, " ").replace(/-{2,}/g, "-");
}

describe("requirements", () => {
  it("cites every rule of the specification in a test", () => {
    const cited = citedRules();
    expect(RULES.filter((rule) => !cited.has(rule))).to.deep.equal([]);
  });

  it("cites no rule that the specification does not have", () => {
    const known: ReadonlySet<string> = new Set(RULES);
    expect([...citedRules().keys()].filter((rule) => !known.has(rule))).to.deep.equal([]);
  });

  it("lists in TESTING.md where each rule is proven (npm run rules)", () => {
    expect(unpadded(readFileSync(join(packageRoot, "TESTING.md"), "utf8"))).to.include(unpadded(ruleTable()));
  });
});
