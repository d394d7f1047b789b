import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect } from "chai";

import { REASONS } from "../../../../helpers/decision/decision.ts";
import { ERROR_WORDS } from "../../../../helpers/decision/denial.ts";
import { packageRoot } from "../../../packaging/package_root.ts";

/** A document as one line a paragraph or more: where its lines break is no matter. */
function flowing(document: string): string {
  return read(document).replaceAll(/\s+/g, " ");
}

function read(document: string): string {
  return readFileSync(join(packageRoot, document), "utf8");
}

/** The codes in the first column of the table whose first heading is this word. */
function codesUnder(heading: string, document: string): string[] {
  const lines = read(document).split("\n");
  const start = lines.findIndex((line) => firstCell(line) === heading);
  if (start === -1) throw new Error(`${document} has no table headed "${heading}"`);
  const rows = lines.slice(start + 2);
  const end = rows.findIndex((line) => !line.startsWith("|"));
  return rows
    .slice(0, end === -1 ? rows.length : end)
    .map((row) => /^`([a-z_]+)`$/.exec(firstCell(row))?.[1] ?? row);
}

/** What stands in the first column, without the padding of the formatter. */
function firstCell(row: string): string {
  return /^\|([^|]*)\|/.exec(row)?.[1]?.trim() ?? "";
}

/** What host and demo report beside the gate's own reasons (SPEC P8). */
const REPORTED_BY_HOST = ["not_protected", "tool_policy"];

/** What an observation is not, and what the gate is not. */
const LIMITS: Readonly<Record<string, RegExp>> = {
  "an observation is not identity": /\bnot (?:\w+ ){0,3}identity\b/i,
  "an observation is not signature verification":
    /\bnot (?:\w+ ){0,3}(?:signature verification|verification of a signature)\b/i,
  "an observation is not protocol conformance": /\bnot (?:\w+ ){0,3}protocol conformance\b/i,
  "an observation is not permission": /\bnot (?:\w+ ){0,2}permission\b/i,
  "an observation promises nothing about what the endpoint does with data":
    /\bno promise about what the endpoint does with (?:\w+ )?data\b/i,
  "the denial is no general protection against prompt injection":
    /\bno general protection against prompt injection\b/i,
  "results of allowed calls are outside": /\bresults of (?:allowed calls|calls that were not denied)\b/i,
};

/** What remains open. */
const GAPS: Readonly<Record<string, RegExp>> = {
  "an administrative change between the second look and the execution":
    /\badministrat\w+ change\b[^.]*\bbetween\b[^.]*\bexecution\b/i,
  "server initialisation and tool discovery": /\binitiali[sz]ation and tool discovery\b/i,
  "A2A calls": /\bA2A calls\b/,
  "stdio servers": /\bstdio servers\b/i,
  "tools that are not MCP tools": /\btools that are not MCP tools\b/i,
  "callers that disable the plugin": /\bcallers that disable the plugin\b/i,
  "code that calls a tool or a connection directly":
    /\bcode that calls a tool or an? (?:MCP )?connection directly\b/i,
};

const PRAISE =
  /\b(?:safe|trusted) (?:endpoint|server)s?\b|\b(?:endpoint|server)s? (?:is|are) (?:safe|trusted)\b|\bapproved by the (?:agent )?guild\b/i;

describe("the documentation", () => {
  it("begins the README with one command line for the demo and one for the tests [D1]", () => {
    const top = read("README.md").split("\n## ")[0] ?? "";
    expect(top)
      .to.match(/^npm ci && npm start\b/m)
      .and.to.match(/^npm ci && npm test\b/m);
  });

  it("explains each reason in the README, and no other [P8.5]", () => {
    expect(codesUnder("reason", "README.md")).to.have.members([...REASONS, ...REPORTED_BY_HOST]);
  });

  it("explains each error of a failed preflight in the README, and no other [P8.2]", () => {
    expect(codesUnder("error", "README.md")).to.have.members(Object.keys(ERROR_WORDS));
  });

  for (const document of ["README.md", "SECURITY.md"]) {
    for (const [statement, pattern] of Object.entries(LIMITS)) {
      it(`states in ${document} that ${statement} [P11.4]`, () => {
        expect(flowing(document)).to.match(pattern);
      });
    }

    it(`calls no endpoint safe, trusted or approved by the Guild in ${document} [P11.4]`, () => {
      expect(flowing(document)).to.not.match(PRAISE);
    });
  }

  for (const [gap, pattern] of Object.entries(GAPS)) {
    it(`states in SECURITY.md what remains open: ${gap} [P11.3]`, () => {
      expect(flowing("SECURITY.md")).to.match(pattern);
    });
  }
});
