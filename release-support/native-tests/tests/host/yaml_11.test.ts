import { expect } from "chai";
import * as fc from "fast-check";

import { parseYaml11, YamlError, YamlTimestamp } from "../../../../helpers/formats/yaml_11.ts";

const LAUGHS = [
  "a: &a [1,1,1,1,1,1,1,1,1]",
  "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]",
  "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]",
  "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]",
  "protected_servers: [*d,*d,*d,*d,*d,*d,*d,*d,*d]",
].join("\n");

describe("YAML 1.1 reader", () => {
  describe("plain values, as PyYAML resolves them [P2.2]", () => {
    const VALUES: ReadonlyArray<readonly [string, unknown]> = [
      ["yes", true],
      ["Off", false],
      ["y", "y"],
      ["N", "N"],
      ["010", 8],
      ["08", "08"],
      ["0o10", "0o10"],
      ["0x1F", 31],
      ["0b101", 5],
      ["1_000", 1000],
      ["1:30", 90],
      ["1:30.5", 90.5],
      ["1:60", "1:60"],
      ["-0", 0],
      ["-0.0", -0],
      ["1e3", "1e3"],
      ["1.0e+3", 1000],
      ["-.5", "-.5"],
      ["~", null],
      ["none", "none"],
      ["9007199254740993", 9_007_199_254_740_993n],
      ["2026-01-02", new YamlTimestamp("date", "2026-01-02")],
      ["2026-1-2 3:04:05.25 +1:30", new YamlTimestamp("datetime", "2026-01-02T03:04:05.250000+01:30")],
      ["2026-01-02T03:04:05Z", new YamlTimestamp("datetime", "2026-01-02T03:04:05+00:00")],
      ["2026-01-02 03:04:05 -0:30", new YamlTimestamp("datetime", "2026-01-02T03:04:05-00:30")],
      ["2026-01-02 03:04:05 -00:00", new YamlTimestamp("datetime", "2026-01-02T03:04:05+00:00")],
      ["2026-01-02 3:04:05.1234567", new YamlTimestamp("datetime", "2026-01-02T03:04:05.123456")],
      ["2028-02-29", new YamlTimestamp("date", "2028-02-29")],
    ];
    for (const [text, value] of VALUES) {
      it(`reads ${text}`, () => {
        expect(parseYaml11(text)).to.deep.equal(value);
        expect(parseYaml11(`"${text}"`)).to.equal(text);
      });
    }
  });

  describe("tags", () => {
    it("reads the types of YAML 1.1 (yaml_loads)", () => {
      expect(parseYaml11("!!str 1")).to.equal("1");
      expect(parseYaml11('!!int "1_0"')).to.equal(10);
      expect(parseYaml11("!!binary aGk=")).to.deep.equal(new Uint8Array([104, 105]));
      expect(parseYaml11("!!set {a, 1}")).to.deep.equal(new Set(["a", 1]));
      expect(parseYaml11("!!pairs [a: 1, a: 2]")).to.deep.equal([
        ["a", 1],
        ["a", 2],
      ]);
    });

    const READ: ReadonlyArray<readonly [text: string, value: unknown]> = [
      ["!!bool yes", true],
      ["!!float 0", 0],
      ["!!binary a=Gk=", new Uint8Array([104, 105])],
      ["!!binary =", new Uint8Array()],
      ["!<tag:yaml.org,2002:int> 5", 5],
      ["a: !!null\nb: ''", { a: null, b: "" }],
    ];
    for (const [text, value] of READ) {
      it(`reads ${text} as PyYAML does (yaml_loads)`, () => expect(parseYaml11(text)).to.deep.equal(value));
    }

    const REFUSED: Readonly<Record<string, string>> = {
      "!!python/name:os.system x": "an unknown tag",
      "!!python/object/apply:os.system [x]": "a tag that does not fit a list",
      "!own x": "an unknown tag",
      "!!int x": "not an integer of a usable size",
      "!!int ''": "not an integer of a usable size",
      "!!bool x": "not a boolean",
      "!!timestamp x": "not a date",
      "!!binary é": "binary data with a character outside base64",
      "!!binary aGk": "binary data that ends in the middle of a group",
      "!!merge x": "a merge sign << is only a key",
      "k: <<": "a merge sign << is only a key",
      "!!str [a]": "a tag that does not fit a list",
      "!!seq {a: 1}": "a tag that does not fit a mapping",
      "!!pairs [a]": "not a mapping of one pair",
      "!!pairs [{}]": "not a mapping of one pair",
      "!!omap [{a: 1, b: 2}]": "not a mapping of one pair",
    };
    for (const [text, what] of Object.entries(REFUSED)) {
      it(`refuses ${text} (yaml_loads)`, () => expectError(text, what));
    }
  });

  describe("mappings", () => {
    it("keeps __proto__ and constructor as properties of their own [P3.1]", () => {
      const value = parseYaml11("__proto__: {polluted: yes}\nconstructor: 1\n");
      expect(value).to.have.all.keys("__proto__", "constructor");
      expect(Object.getPrototypeOf(value)).to.equal(Object.prototype);
      expect({}).to.not.have.property("polluted");
    });

    it("becomes a Map where a key is no text (config_scope)", () => {
      expect(parseYaml11("on: 1\nb: 2\n")).to.deep.equal(
        new Map<unknown, unknown>([
          [true, 1],
          ["b", 2],
        ]),
      );
    });

    it("takes keys that are no text apart by type and value (yaml_loads)", () => {
      const keys = ["1.5", "2026-01-02", "2026-01-03", "!!binary aGk=", "~", "no", "2"];
      const value = parseYaml11(keys.map((key) => `${key}: x`).join("\n"));
      expect(value).to.be.instanceOf(Map).with.property("size", keys.length);
    });

    it("merges with <<, the first source winning and own keys over both (yaml_loads)", () => {
      const text = "x: &x {a: 1, b: 2}\nz:\n  <<: [*x, {a: 9, c: 4}]\n  b: 3\n";
      expect(parseYaml11(text)).to.deep.equal({ x: { a: 1, b: 2 }, z: { a: 1, b: 3, c: 4 } });
    });

    it("takes a quoted << as any other key", () => {
      expect(parseYaml11('"<<": {a: 1}')).to.deep.equal({ "<<": { a: 1 } });
    });

    const REPEATED = [
      "a: 1\na: 2",
      "{a: 1, 'a': 2}",
      "1: a\ntrue: b",
      "10: a\n0xa: b",
      "<<: {a: 1}\n<<: {b: 1}",
    ];
    for (const text of REPEATED) {
      it(`refuses the repeated key of ${JSON.stringify(text)} [P2.2]`, () =>
        expectError(text, "a repeated key"));
    }

    it("refuses a list as a key (yaml_loads)", () =>
      expectError("? [a, b]\n: c", "a key that is a list or a mapping"));
  });

  describe("what the framework's reader refuses", () => {
    const REFUSED: Readonly<Record<string, string>> = {
      "a tab between tokens": "a:\t1",
      "a tab as indentation": "a:\n\tb: 1",
      "a second document": "a: 1\n---\nb: 2",
      "an unclosed list": "a: [1, 2",
      "an unclosed quote": 'a: "b',
      "a quote closed by an escaped one": '"a\\"',
      "a mapping in a value": "a: b: c",
      "a reserved character": "a: @b",
      "a control character": "a: \u007f",
      "half a surrogate pair": "a: \ud800",
      "a lone =": "a: =",
      "a date that does not exist": "2026-02-29",
      "a second byte order mark": "\ufeff\ufeffa",
      "the year 0": "0000-01-01",
      "an hour that does not exist": "2026-01-02 24:00:00",
      "a minute that does not exist": "2026-01-02 3:60:00",
      "a time zone of a whole day": "2026-01-02 03:04:05 +24:00",
      "the end of a document that has not begun": "...\n",
      "a directive after the document": "--- a\n...\n%YAML 1.1\n",
      "a merge of nothing": "{a: 1, <<: }",
      "a merge of a number": "<<: [1]",
      "a key over several lines": "[a\n: b]",
      "a key that is too long": `${"x".repeat(1025)}: 1`,
      "an anchor before an alias": "a: &x *x",
      "an alias without anchor": "a: *b",
      "a repeated anchor": "a: &x 1\nb: &x 2",
      "an empty item": "[a, , b]",
      "a value without a key": ": a",
      "text after a key": "? 'a' b",
      "a directive without a document": "%YAML 1.1",
      "YAML 2": "%YAML 2.0\n---\na: 1",
    };
    for (const [what, text] of Object.entries(REFUSED)) {
      it(`refuses ${what} (yaml_loads)`, () => expectError(text));
    }

    for (const text of [".nan", "-.INF", "1.0e+999", '!!float "inf"']) {
      it(`refuses ${text}, no finite number [P2.2]`, () => expectError(text, "not a finite number"));
    }
  });

  describe("block scalars", () => {
    const VALUES: ReadonlyArray<readonly [string, string]> = [
      ["|\n  a\n   b\n\n  c\n", "a\n b\n\nc\n"],
      [">\n  a\n  b\n\n  c\n", "a b\nc\n"],
      [">-\n  a\n    b\n  c\n", "a\n  b\nc"],
      ["|+\n  a\n\n", "a\n\n"],
      ["|2\n    a\n", "  a\n"],
      ["|\n  a", "a"],
    ];
    for (const [text, value] of VALUES) {
      it(`reads ${JSON.stringify(text)} as PyYAML does (yaml_loads)`, () =>
        expect(parseYaml11(text)).to.equal(value));
    }
  });

  it("does not take the next item for more of a text that a comment precedes", () => {
    expectError("-\n#comment\n one\n- two\n", "wrong indentation");
  });

  describe("bounds", () => {
    it("refuses an alias bomb (case G-09)", () =>
      expectError(LAUGHS, "too many values, or aliases that stand for too many"));

    it("refuses a bomb of merges", () => {
      const sources = Array.from({ length: 200 }, () => "*a").join(", ");
      const keys = Array.from({ length: 100 }, (_, index) => `k${index}: 1`).join(", ");
      expectError(`a: &a {${keys}}\nb: {<<: [${sources}]}`);
    });

    for (const open of ["[", "{a: ", "- ", "? "]) {
      it(`survives ${JSON.stringify(open)} over and over`, () => expectError(open.repeat(20_000)));
    }

    it("refuses a text that is too long", () => expectError("# ".repeat(70_000), "the text is too long"));

    it("gives a value that refers to itself as it is (yaml_loads)", () => {
      const value = parseYaml11("&a [1, *a]");
      expect(value).to.have.property("1", value);
    });
  });

  describe("errors", () => {
    it("say where", () => {
      const error = errorOf("a: 1\nb:\n  c: [\n");
      expect([error.line, error.column]).to.deep.equal([4, 1]);
      expect(error.message).to.match(/^line 4, column 1: /);
    });

    it("never quote the text", () => {
      const parts = [
        "hunter2",
        "hunter2: ",
        "*hunter2",
        "&hunter2 ",
        "!hunter2 ",
        "%hunter2\n",
        '"\\hunter2',
        "\n",
        "- ",
      ];
      fc.assert(
        fc.property(fc.array(fc.constantFrom(...parts, "[", "{", "'", " ")), (chosen) => {
          const text = chosen.join("");
          try {
            parseYaml11(text);
          } catch (error) {
            expect(error).to.be.instanceOf(YamlError);
            expect(String(error)).to.not.contain("hunter2");
          }
        }),
      );
    });
  });

  it("reads JSON as JSON is read", () => {
    const text = fc.string({ unit: "grapheme-ascii" });
    const leaf = fc.oneof(text, fc.maxSafeInteger(), fc.boolean(), fc.constant(null));
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof({ depthSize: "small" }, leaf, fc.array(tie("tree")), fc.dictionary(text, tie("tree"))),
    }));
    fc.assert(
      fc.property(tree, fc.constantFrom(0, 2), (value, space) => {
        const json = JSON.stringify(value, null, space);
        expect(parseYaml11(json)).to.deep.equal(JSON.parse(json));
      }),
    );
  });

  it("throws nothing but its own error, whatever the text", () => {
    const part = fc.constantFrom(
      ...":-?,[]{}#&*!|>'\"%@`<= \t\n\r\\0aé\u0085\u2028\ufeff".split(""),
      "<<: ",
      "!!",
      "\n  ",
      "---\n",
    );
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        try {
          parseYaml11(parts.join(""));
        } catch (error) {
          expect(error).to.be.instanceOf(YamlError);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("refuses what is no string", () => {
    // @ts-expect-error A caller's mistake.
    expect(() => parseYaml11(undefined)).to.throw(TypeError);
  });
});

function errorOf(text: string): YamlError {
  try {
    parseYaml11(text);
  } catch (error) {
    if (error instanceof YamlError) return error;
    throw error;
  }
  throw new Error("the text was read");
}

function expectError(text: string, what = ""): void {
  expect(errorOf(text).message).to.contain(what);
}
