import { isDeepStrictEqual } from "node:util";

import { expect } from "chai";
import * as fc from "fast-check";

import { parseDirtyJson, toPlain, tryParse } from "../../../host/text/dirty_json.ts";
import type { JsonValue } from "../../../host/text/dirty_json.ts";
import { firstRootObject, readToolRequest } from "../../../host/agents/tool_requests.ts";

// What the tolerant reader has a rule for, so that random texts reach its corners.
const pieces = (
  '{ } {{ }} [ ] : , " \' ` \\ / - + . """ ```json // /* */ \\u \\u00 \\ud83d \n \u0085 \u00a0 \ufeff ² ٣ 😀 ' +
  'key "k": "v" 1 1e9 true NULL undefined NaN 12345678901234567890 "__proto__": __proto__: constructor tool args ' +
  '"tool_name":"a" "tool_args":{ "actions":[ "thoughts":['
).split(" ");
const dirtyText = fc.oneof(
  fc.array(fc.constantFrom(...pieces), { maxLength: 60 }).map((parts) => parts.join("")),
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.tuple(fc.json(), fc.nat(), fc.constantFrom(...pieces)).map(([json, place, piece]) => {
    const at = place % (json.length + 1);
    return json.slice(0, at) + piece + json.slice(at);
  }),
);

describe("tolerant JSON, for any text", () => {
  it("gives a value or a syntax error [H6]", () => {
    fc.assert(
      fc.property(dirtyText, (text) => {
        for (const read of [parseDirtyJson, tryParse]) {
          try {
            expect(isJsonValue(read(text))).to.equal(true);
          } catch (error) {
            if (!(error instanceof SyntaxError)) throw error;
          }
        }
      }),
      { numRuns: 3000 },
    );
  });

  it("agrees with JSON.parse on JSON [H6]", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const expected: unknown = withoutPrototypes(JSON.parse(text));
        expect(isDeepStrictEqual(withoutBigints(readPlain(parseDirtyJson, text)), expected)).to.equal(true);
        expect(isDeepStrictEqual(withoutBigints(readPlain(tryParse, text)), expected)).to.equal(true);
      }),
      { numRuns: 2000 },
    );
  });

  it("reads JSON in any layout alike [H6]", () => {
    const space = fc.constantFrom(0, 1, 4, "\t", "\n\r");
    fc.assert(
      fc.property(fc.jsonValue(), space, (value, layout) => {
        const text = JSON.stringify(value);
        const spread = JSON.stringify(value, null, layout);
        expect(isDeepStrictEqual(parseDirtyJson(spread), parseDirtyJson(text))).to.equal(true);
      }),
      { numRuns: 500 },
    );
  });

  it("keeps every integer exact [H6]", () => {
    fc.assert(
      fc.property(fc.bigInt(), (integer) => {
        for (const read of [parseDirtyJson, tryParse]) {
          const value = read(String(integer));
          expect(BigInt(value as bigint | number)).to.equal(integer);
          expect(typeof value === "number").to.equal(Number.isSafeInteger(Number(integer)));
        }
      }),
    );
  });

  it("never reaches a prototype [H6]", () => {
    const before = Reflect.ownKeys(Object.prototype);
    fc.assert(
      fc.property(dirtyText, (text) => {
        for (const read of [parseDirtyJson, tryParse]) readPlain(read, text);
        readToolRequest(text);
        toPlain(firstRootObject(text));
        expect(Reflect.ownKeys(Object.prototype)).to.deep.equal(before);
        expect(Object.getPrototypeOf(Object.prototype)).to.equal(null);
      }),
      { numRuns: 2000 },
    );
  });

  it("finds a tool request exactly where the whole message is one [H6]", () => {
    const args = fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true, maxKeys: 4 });
    fc.assert(
      fc.property(args, fc.constantFrom("", "x", "x ", "\n"), (given, around) => {
        const call = JSON.stringify({ tool_name: "a", tool_args: given });
        const expected = around.trim() === "" ? "request" : "none";
        expect(readToolRequest(`${around}${call}`).kind).to.equal(expected);
        expect(readToolRequest(`${call}${around}`).kind).to.equal(expected);
      }),
      { numRuns: 500 },
    );
  });
});

function readPlain(read: (text: string) => JsonValue, text: string): unknown {
  try {
    return toPlain(read(text));
  } catch (error) {
    if (error instanceof SyntaxError) return error.name;
    throw error;
  }
}

function isJsonValue(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isJsonValue);
  if (value instanceof Map) {
    return [...value].every(([name, member]) => typeof name === "string" && isJsonValue(member));
  }
  return value === null || ["boolean", "number", "bigint", "string"].includes(typeof value);
}

/** What `JSON.parse` gave, in the form that `toPlain` gives. It has a negative zero among the integers; Python not. */
function withoutPrototypes(value: unknown): unknown {
  return Object.is(value, -0) ? 0 : mapMembers(value, withoutPrototypes);
}

/** Integers as `JSON.parse` gives them. */
function withoutBigints(value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : mapMembers(value, withoutBigints);
}

function mapMembers(value: unknown, change: (member: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(change);
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.create(null) as object;
  for (const [name, member] of Object.entries(value)) {
    Object.defineProperty(copy, name, {
      value: change(member),
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
  return copy;
}
