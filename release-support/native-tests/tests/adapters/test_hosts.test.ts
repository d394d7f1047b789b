import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect } from "chai";

import { packageRoot } from "../../../packaging/package_root.ts";
import { HOSTS } from "../../../test-hosts/hosts/index.ts";
import { judge, SCENARIOS } from "../../../test-hosts/scenario.ts";
import { MARKS } from "../../../test-hosts/table.ts";

/** The rows of the table in TESTING.md, without the formatter's padding. */
function rowsOfTable(): string[][] {
  const text = readFileSync(join(packageRoot, "TESTING.md"), "utf8");
  const table = text.slice(text.indexOf(MARKS[0]), text.indexOf(MARKS[1]));
  const lines = table.split("\n").filter((line) => line.startsWith("|"));
  return lines.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe("the table of real hosts in TESTING.md", () => {
  const [heads = [], , ...rows] = rowsOfTable();

  it("names every host with the very version that is run [A4]", () => {
    const versions = HOSTS.map(({ packages }) => `\`${Object.entries(packages)[0]?.join(" ")}\``);
    expect(heads).to.deep.equal(["scenario", ...versions]);
  });

  it("has every scenario, each passed or marked not testable where the bench says why [A4]", () => {
    expect(rows.map(([scenario]) => scenario)).to.deep.equal(SCENARIOS.map(({ name }) => name));
    for (const [scenario = "", ...cells] of rows) {
      const expected = HOSTS.map(({ notTestable = {} }) =>
        scenario in notTestable ? "not testable" : "passed",
      );
      expect(cells, scenario).to.deep.equal(expected);
    }
  });

  it("comes from a bench that would notice a call that gets through, a missing denial and a host that stops [A4]", () => {
    const denied = SCENARIOS.find(({ name }) => name === "denied by verdict");
    if (denied === undefined) throw new Error("there is no such scenario");
    const good = {
      results: ["agent_guild_preflight blocked this tool call (do_not_delegate): ..."],
      asked: 1,
      reached: 0,
      wentOn: true,
    };
    expect(judge(denied, good)).to.deep.equal([]);
    expect(judge(denied, { ...good, reached: 1 })).to.have.lengthOf(1);
    expect(judge(denied, { ...good, results: [] })).to.have.lengthOf(1);
    expect(judge(denied, { ...good, results: ["Synthetic result for: x"] })).to.have.lengthOf(1);
    expect(judge(denied, { ...good, wentOn: false })).to.have.lengthOf(1);
  });
});
