import { expect } from "chai";

import { hasOverrides, overrideDefaults } from "../../../../helpers/config/environment.ts";
import { parseYaml11, YamlTimestamp } from "../../../../helpers/formats/yaml_11.ts";

function override(
  yaml: string,
  environment: Record<string, string>,
  floats: readonly string[] = [],
): unknown {
  const done = overrideDefaults("p", parseYaml11(yaml), environment, (path) =>
    floats.includes(path.join(".")),
  );
  return done.kind === "value" ? done.value : { problem: done.problem };
}

describe("environment overrides of defaults", () => {
  const conversions: Array<[why: string, yaml: string, text: string, value: unknown]> = [
    ["a boolean by a word for true", "k: false", " Yes ", true],
    ["a boolean by anything else, which is false", "k: true", "enabled", false],
    ["an integer with a sign and underscores", "k: 1", "-1_000", -1000],
    ["an integer too large for a double, exactly", "k: 1", "12345678901234567890", 12345678901234567890n],
    ["an integer by minus zero, which is zero", "k: 1", "-0", 0],
    ["an integer not by a fraction", "k: 1", "2.5", 1],
    ["an integer not by a word", "k: 1", "many", 1],
    ["an integer not by nothing", "k: 1", "", 1],
    ["an integer not by other notations", "k: 1", "0x10", 1],
    ["a float by a float", "k: 1.5", "2.", 2],
    ["a float by an exponent", "k: 1.5", "1_0e-1", 1],
    ["a float not by a word", "k: 1.5", "many", 1.5],
    ["a text, trimmed as Python trims", "k: a", "\x1f b \u00a0", "b"],
    ["a list by the characters of the text", "k: [1]", "a\u{1f600}", ["a", "\u{1f600}"]],
    ["a set by the characters of the text", "k: !!set {a}", "aba", new Set(["a", "b"])],
    ["a map by a JSON value", "k: {a: 1}", '{"b": [null]}', { b: [null] }],
    ["a map by a JSON value of another type", "k: {a: 1}", "[1]", [1]],
    ["a map not by a broken JSON text", "k: {a: 1}", "{'b': 2}", { a: 1 }],
    ["a map with other keys than text by a JSON value", "k: {1: a}", "{}", {}],
    ["no null", "k:", "v", null],
    ["no date", "k: 2026-01-02", "2027-01-02", new YamlTimestamp("date", "2026-01-02")],
  ];
  for (const [why, yaml, text, value] of conversions) {
    it(`replaces ${why} [vectors config_scope]`, () => {
      expect(override(yaml, { A0_SET_p__k: text })).to.deep.equal({ k: value });
    });
  }

  it("takes a whole number for a float where its text is one [vectors config_scope]", () => {
    expect(override("k: 1.0", { A0_SET_p__k: "2.5" }, ["k"])).to.deep.equal({ k: 2.5 });
    expect(override("k: 1", { A0_SET_p__k: "2.5" }, [])).to.deep.equal({ k: 1 });
  });

  it("reaches nested keys, and keys that an override brought in [vectors config_scope]", () => {
    const environment = { A0_SET_p__a: '{"b": {"c": 1}}', A0_SET_p__a__b__c: "2" };
    expect(override("a: {b: 0}", environment)).to.deep.equal({ a: { b: { c: 2 } } });
  });

  it("prefers the exact name to the one in upper case [vectors config_scope]", () => {
    expect(override("k: 1", { A0_SET_P__K: "3" })).to.deep.equal({ k: 3 });
    expect(override("k: 1", { A0_SET_P__K: "3", A0_SET_p__k: "x" })).to.deep.equal({ k: 1 });
  });

  it("keeps a key named __proto__ a key like any other [P3.1]", () => {
    const value = override("__proto__: 1", { A0_SET_p____proto__: "2" });
    expect(JSON.stringify(value)).to.equal('{"__proto__":2}');
    expect(Object.getPrototypeOf(value)).to.equal(Object.prototype);
  });

  it("refuses NaN and infinities as the file itself would [P2.2]", () => {
    for (const text of ["nan", "-Infinity", "1e999"]) {
      expect(override("k: 1.5", { A0_SET_p__k: text }), text)
        .to.have.property("problem")
        .that.includes("NaN or an infinity");
    }
  });

  it("refuses JSON with a repeated member or NaN as the file itself would [P2.2]", () => {
    for (const text of ['{"a": 1, "a": 2}', '{"a": NaN}']) {
      expect(override("k: {}", { A0_SET_p__k: text }), text)
        .to.have.property("problem")
        .that.includes("repeated member");
    }
  });

  it("refuses defaults that are no map, or have a key that is no text [vectors config_scope]", () => {
    for (const yaml of ["", "- a", "text", "1: a", "a: {2: b}", "k: &k {again: *k}"]) {
      expect(override(yaml, {}), yaml).to.have.property("problem");
    }
  });

  it("lets one anchored map stand in several places [vectors config_scope]", () => {
    expect(override("a: &x {b: 1}\nc: *x", {})).to.deep.equal({ a: { b: 1 }, c: { b: 1 } });
  });

  it("never shows a value in a problem", () => {
    const problem = JSON.stringify(override("k: {}", { A0_SET_p__k: '{"secret": NaN}' }));
    expect(problem).not.to.include("secret");
  });
});

describe("whether the environment overrides anything", () => {
  it("is told from the names of the variables alone [P1.4]", () => {
    expect(hasOverrides("p", {})).to.equal(false);
    expect(hasOverrides("p", { A0_SET_q__k: "1", A0_SET_pp__k: "1", A0_SET_p: "1" })).to.equal(false);
    expect(hasOverrides("p", { A0_SET_p__k: "1" })).to.equal(true);
    expect(hasOverrides("p", { A0_SET_P__K: "1" })).to.equal(true);
  });
});
