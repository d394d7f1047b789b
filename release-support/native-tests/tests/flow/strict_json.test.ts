import { expect } from "chai";

import { scanJson } from "../../../../helpers/formats/json_scan.ts";
import { JSON_BOUNDS, readStrictJson } from "../../../../helpers/formats/strict_json.ts";

function read(text: string) {
  return readStrictJson(Buffer.from(text));
}

function problemOf(text: string | Uint8Array): string {
  const reading = readStrictJson(typeof text === "string" ? Buffer.from(text) : text);
  return reading.kind === "refused" ? reading.problem : "none";
}

describe("strict JSON", () => {
  it("reads every kind of value as JSON.parse does [P7.1]", () => {
    const text = '{"a":[1,-2.5e3,true,false,null,"\\u00e9\\n\\ud83d\\ude00"],"b":{}} \n';
    expect(read(text)).to.deep.equal({ kind: "value", value: JSON.parse(text) as unknown });
  });

  it("refuses a repeated member, also behind an escape and deep inside [P7.2]", () => {
    expect(problemOf('{"a":1,"a":1}')).to.equal("duplicate_member");
    expect(problemOf('{"a":1,"\\u0061":2}')).to.equal("duplicate_member");
    expect(problemOf('[{"x":{"y":1,"y":2}}]')).to.equal("duplicate_member");
  });

  it("refuses NaN, infinities and numbers that would become one [P7.2]", () => {
    for (const text of ["[NaN]", "Infinity", '{"a":-Infinity}', "1e999", "-1e999"]) {
      expect(problemOf(text), text).to.equal("constant");
    }
  });

  it("accepts 64 levels and refuses 65, the outermost being level 1 [P7.2]", () => {
    expect(problemOf("[".repeat(64) + "]".repeat(64))).to.equal("none");
    expect(problemOf("[".repeat(65) + "]".repeat(65))).to.equal("depth");
    expect(problemOf('{"a":'.repeat(64) + "1" + "}".repeat(64))).to.equal("none");
    expect(problemOf('{"a":'.repeat(65) + "1" + "}".repeat(65))).to.equal("depth");
  });

  it("survives a megabyte of brackets [P7.2]", () => {
    expect(problemOf("[".repeat(1_000_000))).to.equal("syntax");
    expect(problemOf("[".repeat(500_000) + "]".repeat(500_000))).to.equal("depth");
  });

  it("survives a megabyte of one string, closed or not [P7.1]", () => {
    expect(problemOf(`"${"é".repeat(500_000)}"`)).to.equal("none");
    expect(problemOf(`"${"\\n".repeat(500_000)}`)).to.equal("syntax");
  });

  it("refuses bytes that are not UTF-8, overlong forms and surrogates included [P7.1]", () => {
    for (const hex of ["7b2261223a22ff227d", "7b2261223a22c0af227d", "22eda08022"]) {
      expect(problemOf(Buffer.from(hex, "hex")), hex).to.equal("utf8");
    }
  });

  it("refuses a byte order mark, a second document and anything else behind the first [P7.1]", () => {
    for (const text of ["\ufeff{}", "{} {}", "{},", "[1]]", "", "  ", "nul", "truex"]) {
      expect(problemOf(text), JSON.stringify(text)).to.equal("syntax");
    }
  });

  it("refuses what only lenient readers take [P7.1]", () => {
    for (const text of [
      "{'a':1}",
      "{a:1}",
      "[1,]",
      '{"a":1,}',
      "[01]",
      "[.5]",
      "[1.]",
      '"\t"',
      '"\\x41"',
      "[+1]",
    ]) {
      expect(problemOf(text), text).to.equal("syntax");
    }
  });

  it("keeps __proto__ as a member like any other and touches no prototype [P7.1]", () => {
    const reading = read('{"__proto__":{"polluted":true}}');
    if (reading.kind !== "value") throw new Error("refused");
    expect(Object.keys(reading.value as object)).to.deep.equal(["__proto__"]);
    expect(Object.getPrototypeOf(reading.value)).to.equal(Object.prototype);
    expect(({} as Record<string, unknown>)["polluted"]).to.equal(undefined);
  });

  it("tells the outermost members of a refused text, each as often as it occurs [P8.1]", () => {
    const text = '{"verdict":"a","x":{"verdict":"b"},"verdict":"c","n":NaN}';
    const told: [string, string, number][] = [];
    const problem = scanJson(Buffer.from(text), JSON_BOUNDS, (name, { start, end, values }) =>
      told.push([name, text.slice(start, end), values]),
    );
    expect(problem).to.equal("duplicate_member");
    expect(told).to.deep.equal([
      ["verdict", '"a"', 1],
      ["x", '{"verdict":"b"}', 2],
      ["verdict", '"c"', 1],
      ["n", "NaN", 1],
    ]);
  });

  it("takes 20,000 values, lists and objects counted, and refuses one more [P7.1]", () => {
    expect(problemOf(`[${"0,".repeat(19_998)}0]`)).to.equal("none");
    expect(problemOf(`[${"0,".repeat(19_999)}0]`)).to.equal("values");
    expect(problemOf(`[${'{"a":0},'.repeat(9_999)}{}]`)).to.equal("none");
    expect(problemOf(`[${'{"a":0},'.repeat(9_999)}[0]]`)).to.equal("values");
  });

  it("goes on behind the bound on values, to the end and to what is wrong there [P8.1]", () => {
    const told: string[] = [];
    const text = `{"many":[${"0,".repeat(20_000)}0],"verdict":"c"}`;
    expect(scanJson(Buffer.from(text), JSON_BOUNDS, (name) => told.push(name))).to.equal("values");
    expect(told).to.deep.equal(["many", "verdict"]);
    expect(problemOf(text.slice(0, -1))).to.equal("syntax");
  });

  it("does not take names of other levels, or of a closed object, for repeated [P7.2]", () => {
    expect(problemOf('[{"a":{"a":1},"b":[{"a":1},{"a":1}]},{"a":1}]')).to.equal("none");
    expect(problemOf('{"a":[{"b":1}],"c":{"b":1},"b":1}')).to.equal("none");
    expect(problemOf('{"a":{"b":1},"c":1,"a":1}')).to.equal("duplicate_member");
  });

  it("tells names apart that look like a number, a prefix, or a quoted one [P7.2]", () => {
    expect(problemOf('{"1":0,"01":0,"1.0":0,"":0,"\\"1":0,"__proto__":0}')).to.equal("none");
    expect(problemOf('{"1":0,"\\u0031":0}')).to.equal("duplicate_member");
    expect(problemOf('{"":0,"":0}')).to.equal("duplicate_member");
  });
});
