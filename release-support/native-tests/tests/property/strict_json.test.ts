import { isDeepStrictEqual } from "node:util";

import { expect } from "chai";
import * as fc from "fast-check";

import { readStrictJson } from "../../../../helpers/formats/strict_json.ts";

/** Texts that are nearly JSON: a JSON text with some characters taken out, put in, or changed. */
const nearlyJson = fc
  .tuple(
    fc.json({ maxDepth: 4 }),
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.constantFrom(
          "",
          '"',
          "{",
          "}",
          "[",
          "]",
          ",",
          ":",
          "\\",
          "0",
          "e",
          "-",
          ".",
          " ",
          "NaN",
          "\u0000",
        ),
      ),
      { maxLength: 3 },
    ),
  )
  .map(([text, edits]) => {
    let edited = text;
    for (const [at, replacement] of edits) {
      const place = at % (edited.length + 1);
      edited = edited.slice(0, place) + replacement + edited.slice(place + 1);
    }
    return edited;
  });

function parse(text: string): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return null;
  }
}

describe("strict JSON, whatever it is given", () => {
  it("reads the JSON of any value back as JSON.parse does [P7.1]", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        const reading = readStrictJson(Buffer.from(text));
        return reading.kind === "value" && isDeepStrictEqual(reading.value, JSON.parse(text));
      }),
      { numRuns: 3000 },
    );
  });

  it("accepts nothing that JSON.parse refuses, and then the same value [P7.1]", () => {
    fc.assert(
      fc.property(nearlyJson, (text) => {
        const reading = readStrictJson(Buffer.from(text));
        if (reading.kind === "refused") return true;
        return isDeepStrictEqual(reading.value, parse(text)?.value);
      }),
      { numRuns: 4000 },
    );
  });

  it("refuses of JSON only repetitions, depth and numbers that are none [P7.2]", () => {
    fc.assert(
      fc.property(nearlyJson, (text) => {
        const reading = readStrictJson(Buffer.from(text));
        if (reading.kind === "value" || parse(text) === null) return true;
        return ["duplicate_member", "depth", "constant", "values"].includes(reading.problem);
      }),
      { numRuns: 3000 },
    );
  });

  it("never throws, whatever the bytes [P7.1]", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(readStrictJson(bytes).kind).to.be.oneOf(["value", "refused"]);
      }),
      { numRuns: 3000 },
    );
  });

  it("leaves Object.prototype as it is, whatever the member names [P7.1]", () => {
    const names = fc.constantFrom("__proto__", "constructor", "prototype", "toString", "a");
    const value = fc.letrec((tie) => ({
      node: fc.oneof(
        { depthSize: "small" },
        fc.integer(),
        fc.array(tie("node"), { maxLength: 3 }),
        tie("object"),
      ),
      object: fc.array(fc.tuple(names, tie("node")), { maxLength: 3 }),
    })).object;
    const before = Object.getOwnPropertyNames(Object.prototype).join();
    const write = (pairs: unknown): string =>
      `{${(pairs as [string, unknown][]).map(([name, one]) => `"${name}":${writeAny(one)}`).join(",")}}`;
    const writeAny = (one: unknown): string =>
      Array.isArray(one) && one.every((pair) => Array.isArray(pair) && typeof pair[0] === "string")
        ? write(one)
        : JSON.stringify(one);
    fc.assert(
      fc.property(value, (pairs) => {
        readStrictJson(Buffer.from(write(pairs)));
        return Object.getOwnPropertyNames(Object.prototype).join() === before && !("polluted" in {});
      }),
      { numRuns: 1000 },
    );
  });
});
