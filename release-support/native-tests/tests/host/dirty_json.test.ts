import { expect } from "chai";

import { MAX_DEPTH, parseDirtyJson, toPlain, tryParse } from "../../../host/text/dirty_json.ts";
import type { JsonValue } from "../../../host/text/dirty_json.ts";

const MEBIBYTE = 1024 * 1024;

describe("tolerant JSON", () => {
  describe("values", () => {
    it("skips the text before the first brace, bracket or double quote [H6]", () => {
      expect(plain("Here: it's {a: 1} there")).to.deep.equal({ a: 1 });
    });

    it("gives null for an empty text [H6]", () => {
      expect(parseDirtyJson("")).to.equal(null);
    });

    it("reads true, false, null and undefined as prefixes in any case [H6]", () => {
      expect(plain("[TRUE, fAlSe, Null, undefined]")).to.deep.equal([true, false, null, null]);
      expect(plain('{"a": trueish}')).to.deep.equal({ a: true, ish: "" });
    });

    it("reads None as a text [H6]", () => {
      expect(plain('{"a": None, "b": 1}')).to.deep.equal({ a: "None", b: 1 });
    });

    it("keeps integers exact [H6]", () => {
      expect(parseDirtyJson("[9007199254740991, 9007199254740993, -99999999999999999999]")).to.deep.equal([
        9007199254740991,
        9007199254740993n,
        -99999999999999999999n,
      ]);
    });

    it("has a negative zero among the floats only [H6]", () => {
      const [integer, float] = parseDirtyJson("[-0, -0.0]") as number[];
      expect(Object.is(integer, 0)).to.equal(true);
      expect(Object.is(float, -0)).to.equal(true);
    });

    it("reads an integer of more than 4300 digits as a float [H6]", () => {
      expect(parseDirtyJson("9".repeat(4300))).to.be.a("bigint");
      expect(parseDirtyJson("9".repeat(4301))).to.equal(Number.POSITIVE_INFINITY);
      expect(parseDirtyJson(`${"0".repeat(4300)}7`)).to.equal(7);
    });

    it("reads the decimal digits of every script [H6]", () => {
      expect(parseDirtyJson("[٣٤, １２, 𝟗𝟘]")).to.deep.equal([34, 12, 90]);
    });

    for (const text of ["2026-01-02", "1.2.3", "-", "1e", "²", "1①"]) {
      it(`refuses ${text}, which begins like a number and is none [H6]`, () => {
        expect(() => parseDirtyJson(`{"a": ${text}}`)).to.throw(SyntaxError);
      });
    }
  });

  describe("strings", () => {
    it("keeps a quote that no separator follows [H6]", () => {
      expect(plain('{"a": "say "hi" now"}')).to.deep.equal({ a: 'say "hi" now' });
    });

    it("closes a string where only the comma before the next key is missing [H6]", () => {
      expect(plain('{"a": "x" "b": 1}')).to.deep.equal({ a: "x", b: 1 });
    });

    it("does not look for a next key within an array [H6]", () => {
      expect(plain('["a" "b": 1]')).to.deep.equal(['a" "b": 1]']);
    });

    it("looks past comments for what follows a quote [H6]", () => {
      expect(plain('{"a": "x" /* c */, "b": 1}')).to.deep.equal({ a: "x", b: 1 });
    });

    it("drops an unknown escape with its character, whatever plane it is from [H6]", () => {
      expect(plain('{"a": "1\\x2\\😀3"}')).to.deep.equal({ a: "123" });
    });

    it("ends a string at a unicode escape that is too short [H6]", () => {
      expect(plain('{"a": "\\u00-x", "b": 2}')).to.deep.equal({ a: "\\u00", '-x"': "", b: 2 });
    });

    it("leaves escapes in triple quotes alone and trims the text [H6]", () => {
      expect(plain('{"a": """\n x\\ny """}')).to.deep.equal({ a: "x\\ny" });
    });

    it("takes a backtick as a quote for values only [H6]", () => {
      expect(plain("{`a`: `b`}")).to.deep.equal({ "`a`": "b" });
    });
  });

  describe("structure", () => {
    it("lets an unquoted value eat what ends it [H6]", () => {
      expect(plain('{"o": {a: hello}, "n": 1}')).to.deep.equal({ o: { a: "hello", n: 1 } });
    });

    it("reads a missing value as an empty text, but as null at the end of the text [H6]", () => {
      expect(plain('{"a": , "b":')).to.deep.equal({ a: "", b: null });
    });

    it("ends an array at an item that no comma follows [H6]", () => {
      expect(plain('{"a": [1 2], "b": 3}')).to.deep.equal({ a: [1], "2": "", b: 3 });
    });

    it("gives what it has of a text that was cut off [H6]", () => {
      expect(plain('{"a": [1, {"b": "x')).to.deep.equal({ a: [1, { b: "x" }] });
    });

    it("loses an object whose opening brace is the end of the text [H6]", () => {
      expect(plain('{"x": 1, "a": {')).to.deep.equal({ x: 1 });
    });

    it("refuses a text that ends just behind a bracket of the other kind [H6]", () => {
      expect(() => parseDirtyJson('{"a": [')).to.throw(SyntaxError);
      expect(() => parseDirtyJson("[{")).to.throw(SyntaxError);
    });

    it("takes doubled braces around the whole, with the framework's slip, and nowhere else [H6]", () => {
      expect(plain('{{"a": 1}}')).to.deep.equal({ 'a"': 1 });
      expect(plain('{"x": {{"a": 1}}}')).to.deep.equal({ x: { '{"a"': 1 } });
    });

    it("knows Python's white space, which a byte order mark is not [H6]", () => {
      expect(plain('{\u001c"a"\u0085:\u30001}')).to.deep.equal({ a: 1 });
      expect(plain('{\ufeff"a": 1}')).to.deep.equal({ '\ufeff"a"': 1 });
    });

    it("keeps members in the order of the text, whatever their names [H6]", () => {
      const object = parseDirtyJson('{"b": 1, "2": 2, "__proto__": 3, "1": 4, "b": 5}') as Map<
        string,
        JsonValue
      >;
      expect([...object]).to.deep.equal([
        ["b", 5],
        ["2", 2],
        ["__proto__", 3],
        ["1", 4],
      ]);
    });
  });

  describe("plain data", () => {
    it("makes __proto__ an ordinary member of an object without prototype [H6]", () => {
      const object = toPlain(parseDirtyJson('{"__proto__": {"polluted": true}}')) as object;
      expect(Object.getPrototypeOf(object)).to.equal(null);
      expect(Object.keys(object)).to.deep.equal(["__proto__"]);
      expect("polluted" in object).to.equal(false);
    });

    it("goes into arrays and objects, and leaves bigints as they are [H6]", () => {
      expect(plain('[{"a": [{"n": 12345678901234567890}]}]')).to.deep.equal([
        { a: [{ n: 12345678901234567890n }] },
      ]);
    });
  });

  describe("strict first", () => {
    it("accepts NaN and infinities where the text is JSON otherwise [H6]", () => {
      expect(tryParse("[NaN, Infinity, -Infinity]")).to.deep.equal([
        Number.NaN,
        Number.POSITIVE_INFINITY,
        Number.NEGATIVE_INFINITY,
      ]);
    });

    it("reads NaN as a text where the text is not JSON [H6]", () => {
      expect(tryParse("[NaN,]")).to.deep.equal(["NaN"]);
    });

    it("lets the last of repeated members win in the place of the first [H6]", () => {
      const object = tryParse('{"a": 1, "b": 2, "a": 3}') as Map<string, JsonValue>;
      expect([...object]).to.deep.equal([
        ["a", 3],
        ["b", 2],
      ]);
    });

    it("turns to the tolerant reading on a syntax error [H6]", () => {
      expect(toPlain(tryParse("{'a': [01, +2,],} x"))).to.deep.equal({ a: [1, 2] });
    });

    for (const text of ['"a\nb"', '"\\x"', "\u00a0[1]", "[1] x", "", "nul", '{"a" 1}', "[1,]"]) {
      it(`is tolerant of ${JSON.stringify(text)} just as the tolerant reading is [H6]`, () => {
        expect(tryParse(text)).to.deep.equal(parseDirtyJson(text));
      });
    }

    it("does not try again after an integer of more than 4300 digits [H6]", () => {
      expect(() => tryParse("9".repeat(4301))).to.throw(SyntaxError);
    });
  });

  describe("hostile texts", () => {
    it("reads nesting up to its limit [H6]", () => {
      expect(parseDirtyJson("[".repeat(MAX_DEPTH) + "]".repeat(MAX_DEPTH))).to.be.an("array");
    });

    it("reads strict JSON deeper than that [H6]", () => {
      expect(tryParse("[".repeat(990) + "]".repeat(990))).to.be.an("array");
    });

    for (const open of ["[", '{"a":', "{a:[", '[{"":']) {
      it(`refuses 100,000 times ${open} with a syntax error [H6]`, () => {
        expect(() => parseDirtyJson(open.repeat(100_000))).to.throw(SyntaxError);
        expect(() => tryParse(open.repeat(100_000))).to.throw(SyntaxError);
      });
    }

    const slow: readonly (readonly [string, string])[] = [
      ["comments that open behind every quote", `{"a":${'"/*'.repeat(MEBIBYTE / 3)}*/x"}`],
      ["a chain of comments behind many quotes", `{"a":${'"/*'.repeat(150_000)}*/${"/**/".repeat(120_000)}x`],
      ["line comments behind every quote", `{"a":${'"//'.repeat(MEBIBYTE / 3)}\nx`],
      ["one far key after many quotes", `{"a":${'"/*'.repeat(150_000)}*/'${"x".repeat(500_000)}"}`],
      ["quotes only", `{"a":${'"'.repeat(MEBIBYTE)}`],
      ["backslashes only", `{"a":"${"\\".repeat(MEBIBYTE)}`],
      ["digits and a point", `[1.${"1".repeat(MEBIBYTE)}`],
      ["separators only", `{${":,".repeat(MEBIBYTE / 2)}`],
    ];
    for (const [what, text] of slow) {
      it(`reads a mebibyte of ${what} at once [H6]`, function () {
        this.timeout(5_000);
        expect(() => tryParse(text)).not.to.throw();
      });
    }
  });
});

function plain(text: string): unknown {
  return toPlain(parseDirtyJson(text));
}
