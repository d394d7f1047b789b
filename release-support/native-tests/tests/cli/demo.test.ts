import { expect } from "chai";

import { demoDocument } from "../../../cli/output_schemas.ts";
import type { DemoDocument } from "../../../cli/output_schemas.ts";
import { cli, documentIn, expectFitForTerminal } from "./support.ts";
import type { CliRun } from "./support.ts";

/** Every way in which a call can end that the demo has to show. */
const OUTCOMES = [
  "ran not_denied",
  "ran not_protected",
  "denied do_not_delegate",
  "denied required_not_proven",
  "denied caution",
  "denied evidence_unavailable",
  "denied url_mismatch",
  "denied ambiguous_server",
  "denied local_server",
  "denied ineligible_endpoint",
  "denied binding_changed",
  "denied tool_policy",
  "denied configuration_invalid",
];

describe("the command demo", () => {
  let json: CliRun;
  let text: CliRun;
  let document: DemoDocument;
  let seconds: number;

  before(async () => {
    const begin = performance.now();
    json = await cli(["demo", "--json"]);
    seconds = (performance.now() - begin) / 1000;
    text = await cli(["demo"]);
    document = documentIn(json, demoDocument);
  });

  const scenario = (name: string) => {
    const found = document.scenarios.find((one) => one.name === name);
    if (found === undefined) throw new Error(`the demo has no scenario "${name}"`);
    return found;
  };

  it("ends every scenario as expected, and then with exit code 0 [C1]", () => {
    const wrong = document.scenarios.filter(
      ({ outcome, reason, expected }) => outcome !== expected.outcome || reason !== expected.reason,
    );
    expect(wrong).to.deep.equal([]);
    expect([document.ok, json.code, text.code]).to.deep.equal([true, 0, 0]);
  });

  it("prints one JSON document and nothing else [C1]", () => {
    expect(json.stdout.trim().split("\n")).to.have.length(1);
  });

  it("tells its progress on standard error [C1]", () => {
    expect(json.stderr).to.match(/^(?:[A-Z][A-Za-z, ]+ \.\.\.\n)+$/);
  });

  it("takes less than 15 s [C1]", () => {
    expect(seconds).to.be.below(15);
  });

  it("shows every way in which a call can end [C1]", () => {
    const shown = document.scenarios.map(({ outcome, reason }) => `${outcome} ${reason}`);
    expect(shown).to.include.members(OUTCOMES);
  });

  it("asks by native calls and by JSON text [C1]", () => {
    expect(document.scenarios.map(({ path }) => path)).to.include.members(["native", "text"]);
  });

  it("lets the live Guild judge what it probes, and marks the others synthetic [C1]", () => {
    const synthetic = document.scenarios.filter((one) => one.synthetic).map(({ name }) => name);
    expect(synthetic).to.deep.equal(["Guild unreachable", "Guild too slow", "inconsistent evidence"]);
    expect(scenario("endpoint down").guild_requests).to.equal(1);
    expect(scenario("paid card").guild_requests).to.equal(1);
  });

  it("asks nobody where a rule fails before, where nobody protects, and where it still knows [C1]", () => {
    for (const name of [
      "URL mismatch",
      "ambiguous server",
      "local server",
      "ineligible URL",
      "second of two calls",
      "unprotected server",
      "blocked by tool policy",
      "invalid configuration",
    ]) {
      expect(scenario(name).guild_requests, name).to.equal(0);
    }
    expect(scenario("first of two calls").guild_requests).to.equal(1);
  });

  it("lets a tool run exactly once where nothing denies, and never where something does [C1]", () => {
    for (const { name, outcome, tool_calls: calls } of document.scenarios) {
      expect(calls, name).to.equal(outcome === "ran" ? 1 : 0);
    }
  });

  it("shows a table for people that fits a terminal, and says what is synthetic [C1]", () => {
    expectFitForTerminal(text.stdout);
    expect(text.stdout).to.include("Synthetic are");
    expect(text.stdout).to.match(/^~ 9 denied evidence_unavailable/m);
    expect(text.stdout).to.include(`${document.scenarios.length} ended as expected.`);
  });
});
