import { inspect } from "node:util";

import { expect } from "chai";
import * as fc from "fast-check";

import type { JsonValue } from "../../../host/text/dirty_json.ts";
import { splitStdioCommand } from "../../../host/mcp/stdio_command.ts";

describe("command of a local MCP server", () => {
  describe("command text, split as a POSIX shell does [H5]", () => {
    const COMMANDS: ReadonlyArray<readonly [string, readonly string[]]> = [
      ["npx -y @example/x", ["npx", "-y", "@example/x"]],
      ['"/opt/My Tools/run" --fast', ["/opt/My Tools/run", "--fast"]],
      ["/opt/My\\ Tools/run x", ["/opt/My Tools/run", "x"]],
      ["a'b'\"c\"d", ["abcd"]],
      ["'' x", ["", "x"]],
      ['"a\\"b\\c"', ['a"b\\c']],
      ["'a\\b'", ["a\\b"]],
      ["run # $HOME `x` ; y", ["run", "#", "$HOME", "`x`", ";", "y"]],
      ["run\ta\nb\rc", ["run", "a", "b", "c"]],
      ["run\u00a0x", ["run\u00a0x"]],
      ["  padded  ", ["padded"]],
      ['run "open', ['run "open']],
      ["run open\\", ["run open\\"]],
    ];
    for (const [command, [first, ...rest]] of COMMANDS) {
      it(`splits ${JSON.stringify(command)}`, () => {
        expect(splitStdioCommand({ command })).to.deep.equal({ command: first, args: rest });
      });
    }
  });

  describe("what is no text [H5]", () => {
    const COMMANDS: ReadonlyArray<readonly [JsonValue | undefined, string]> = [
      [undefined, ""],
      [null, ""],
      [0, ""],
      [[], ""],
      ["   ", ""],
      [true, "True"],
      [5, "5"],
      [12_345_678_901_234_567_890n, "12345678901234567890"],
    ];
    for (const [command, expected] of COMMANDS) {
      it(`reads the command ${inspect(command)} as ${JSON.stringify(expected)}`, () => {
        expect(splitStdioCommand({ command }).command).to.equal(expected);
      });
    }

    it("writes lists and mappings as Python does", () => {
      const args = [["it's", 1.5, null, true], new Map<string, JsonValue>([["k", 1e-7]])];
      expect(splitStdioCommand({ args }).args).to.deep.equal([`["it's", 1.5, None, True]`, "{'k': 1e-07}"]);
    });
  });

  describe("arguments, one by one [H5]", () => {
    const ARGUMENTS: ReadonlyArray<readonly [string, readonly string[]]> = [
      [" -y ", ["-y"]],
      ["", []],
      ["  ", []],
      ["--port 8080", ["--port", "8080"]],
      ["--port=8080 x", ["--port=8080 x"]],
      ["run -v", ["run", "-v"]],
      ["hello big world", ["hello big world"]],
      ['"a b"', ["a b"]],
      ["''", [""]],
      ["-m it's", ["-m it's"]],
      ["C:\\data dir\\x", ["C:\\data dir\\x"]],
    ];
    for (const [argument, expected] of ARGUMENTS) {
      it(`reads ${JSON.stringify(argument)}`, () => {
        expect(splitStdioCommand({ args: [argument] }).args).to.deep.equal(expected);
      });
    }
  });

  it("puts the words of the command before the listed arguments [H5]", () => {
    expect(splitStdioCommand({ command: "run a", args: ["b"] })).to.deep.equal({
      command: "run",
      args: ["a", "b"],
    });
  });

  it("ignores arguments that are no list [H5]", () => {
    expect(splitStdioCommand({ command: "run", args: "-y" }).args).to.deep.equal([]);
  });

  it("gives quoted words back as they were", () => {
    const quoted = (word: string) => `'${word.replaceAll("'", `'"'"'`)}'`;
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { minLength: 1 }), (words) => {
        const { command, args } = splitStdioCommand({ command: words.map(quoted).join(" ") });
        expect([command, ...args]).to.deep.equal(words);
      }),
    );
  });
});
