import { expect } from "chai";

import { parseDirtyJson, toPlain } from "../../../host/text/dirty_json.ts";
import {
  extractToolRequest,
  firstRootObject,
  isMisformattedToolRequest,
  normalizeToolRequest,
  readToolRequest,
} from "../../../host/agents/tool_requests.ts";

const MEBIBYTE = 1024 * 1024;
const CALL = '{"tool_name": "search", "tool_args": {"q": "x"}}';

describe("tool requests in text", () => {
  describe("reading a message", () => {
    it("takes a message that is one request [H6]", () => {
      expectCall(`\n ${CALL}\u00a0`, "search", { q: "x" });
    });

    for (const message of [
      `Sure: ${CALL}`,
      `${CALL} done`,
      `${CALL}${CALL}`,
      `[${CALL}]`,
      "Hello",
      "",
      "{}",
    ]) {
      it(`takes ${JSON.stringify(message)} as an answer [H6]`, () => {
        expect(readToolRequest(message)).to.deep.equal({ kind: "none" });
      });
    }

    it("accepts one surplus brace at the end, not two [H6]", () => {
      expect(readToolRequest(`${CALL}}`).kind).to.equal("request");
      expect(readToolRequest(`${CALL}}}`).kind).to.equal("none");
    });

    it("does not take an object that is not closed [H6]", () => {
      expect(readToolRequest(CALL.slice(0, -1)).kind).to.equal("none");
    });

    it("takes a request in a code fence as misformatted [H6]", () => {
      expect(readToolRequest(`Calling:\n\`\`\`json\n${CALL}\n\`\`\``)).to.deep.equal({
        kind: "misformatted",
      });
    });

    it("takes a request whose thoughts quote its fields as a request [H6]", () => {
      const thoughts = String.raw`"\"headline\": 1, \"tool_name\": 2, \"tool_args\": 3"`;
      const message = `{"thoughts": [${thoughts}], ${CALL.slice(1)}`;
      expect(isMisformattedToolRequest(message)).to.equal(true);
      expect(readToolRequest(message).kind).to.equal("request");
    });

    it("gives arguments without prototypes, whatever they are called [H6]", () => {
      const reading = readToolRequest(
        '{"tool": "a", "args": {"__proto__": {"x": 1}, "constructor": {"y": 2}}}',
      );
      if (reading.kind !== "request") throw new Error("expected a request");
      expect(Object.keys(reading.args)).to.deep.equal(["__proto__", "constructor"]);
      expect(Object.getPrototypeOf(reading.args)).to.equal(null);
      expect(Object.getPrototypeOf(reading.args["constructor"])).to.equal(null);
      expect("x" in {}).to.equal(false);
    });

    it("keeps large integers exact [H6]", () => {
      expectCall('{"tool": "a", "args": {"n": 12345678901234567890}}', "a", { n: 12345678901234567890n });
    });
  });

  describe("names and arguments", () => {
    it("prefers tool_name and tool_args to their aliases [H6]", () => {
      expectCall('{"tool": "b", "args": {"y": 2}, "tool_name": "a", "tool_args": {"x": 1}}', "a", { x: 1 });
    });

    it("turns to the alias where the first choice has the wrong type [H6]", () => {
      expectCall('{"tool_name": ["x"], "tool": "b", "tool_args": "{}", "args": {"y": 2}}', "b", { y: 2 });
    });

    it("takes name and parameters with the type function only [H6]", () => {
      expectCall('{"type": "function", "name": "a", "parameters": {"x": 1}}', "a", { x: 1 });
      expect(readToolRequest('{"type": "Function", "name": "a", "parameters": {}}').kind).to.equal("none");
      expect(readToolRequest('{"tool_name": "a", "parameters": {}}').kind).to.equal("none");
    });

    it("unwraps exactly one action [H6]", () => {
      expectCall(`{"actions": [${CALL}]}`, "search", { q: "x" });
      expect(readToolRequest(`{"actions": [${CALL}, ${CALL}]}`).kind).to.equal("none");
      expect(readToolRequest(`{"actions": [{"actions": [${CALL}]}]}`).kind).to.equal("none");
    });

    it("does not unwrap actions behind a name that Python holds for true [H6]", () => {
      expect(readToolRequest(`{"tool_name": 7, "actions": [${CALL}]}`).kind).to.equal("none");
      expect(readToolRequest(`{"tool_name": {}, "tool": 0.0, "actions": [${CALL}]}`).kind).to.equal(
        "request",
      );
    });

    it("takes what follows the first colon of a name as the action [H6]", () => {
      expectCall('{"tool": "a:b:c", "args": {}}', "a", { action: "b:c" });
    });

    it("leaves an action that is there, even null [H6]", () => {
      expectCall('{"tool": "a:b", "args": {"action": null}}', "a", { action: null });
    });

    it("takes a text argument method as the action [H6]", () => {
      expectCall('{"tool": "a", "args": {"method": "m"}}', "a", { method: "m", action: "m" });
      expectCall('{"tool": "a:b", "args": {"method": "m"}}', "a", { method: "m", action: "b" });
      expectCall('{"tool": "a", "args": {"method": 3}}', "a", { method: 3 });
    });

    for (const name of [":b", "a:", ":"]) {
      it(`refuses the name ${name} [H6]`, () => {
        expect(readToolRequest(`{"tool": "${name}", "args": {}}`).kind).to.equal("none");
      });
    }

    it("does not change the request it normalizes [H6]", () => {
      const request = parseDirtyJson('{"tool": "a:b", "args": {"x": 1}}');
      normalizeToolRequest(request);
      expect(toPlain(request)).to.deep.equal({ tool: "a:b", args: { x: 1 } });
    });

    it("says why a value is no request, without repeating it [H6]", () => {
      for (const value of [null, [], new Map([["tool_name", "secret"]])]) {
        const normalized = normalizeToolRequest(value);
        if (normalized.kind !== "unusable") throw new Error("expected none");
        expect(normalized.reason)
          .to.match(/^[A-Z].*\.$/)
          .and.not.include("secret");
      }
    });
  });

  describe("looking for objects", () => {
    it("finds the first usable request among objects [H6]", () => {
      expect(toPlain(firstRootObject(`{"a": 1} then ${CALL}`))).to.deep.equal(JSON.parse(CALL));
    });

    it("finds the first closed object where no request is [H6]", () => {
      expect(toPlain(firstRootObject('see {"a": 1}\n{"b": 2}'))).to.deep.equal({ a: 1 });
    });

    it("finds nothing in a message that begins with a bracket, or behind an open brace [H6]", () => {
      expect(firstRootObject(`[note] ${CALL}`)).to.equal(null);
      expect(firstRootObject(`an open { brace ${CALL}`)).to.equal(null);
    });

    it("looks into every fence, also one of four backticks [H6]", () => {
      expect(isMisformattedToolRequest(`\`\`\`\n{"a": 1}\n\`\`\`\n\`\`\`\`JSON\n${CALL}\n\`\`\`\``)).to.equal(
        true,
      );
    });

    it("does not look into a fence that is not closed, or outside the fences [H6]", () => {
      expect(isMisformattedToolRequest(`\`\`\`json\n${CALL}`)).to.equal(false);
      expect(isMisformattedToolRequest(`\`\`\`\nls\n\`\`\`\n${CALL}`)).to.equal(false);
    });

    it("passes over the word json before the brackets of an array, and no other word [H6]", () => {
      expect(isMisformattedToolRequest(`\`\`\`json\n[${CALL}]\n\`\`\``)).to.equal(false);
      expect(isMisformattedToolRequest(`\`\`\`json5\n[${CALL}]\n\`\`\``)).to.equal(true);
    });

    it("takes thoughts that swallowed the other fields as misformatted [H6]", () => {
      const fields = [
        String.raw`"\"headline\": 1"`,
        String.raw`"\"tool_name\": 2"`,
        String.raw`"\"tool_args\": 3"`,
      ];
      expect(isMisformattedToolRequest(` { "thoughts" : [1, ${fields.join(", ")}]}`)).to.equal(true);
      expect(isMisformattedToolRequest(`{"thoughts": [${fields.slice(1).join(", ")}]}`)).to.equal(false);
      expect(isMisformattedToolRequest(`{"x": 1, "thoughts": [${fields.join(", ")}]}`)).to.equal(false);
    });
  });

  describe("hostile messages", () => {
    const hostile: readonly (readonly [string, string])[] = [
      ["objects that stay open", "{a:b}".repeat(MEBIBYTE / 5)],
      ["objects that all end at the end", `${"{a:b}".repeat(MEBIBYTE / 5)},}`],
      ["strings that stay open", '{"k":"" x}'.repeat(MEBIBYTE / 10)],
      ["nests that stay open", "{k:{a:b}x:{c:d}}".repeat(MEBIBYTE / 16)],
      ["fences", "```".repeat(MEBIBYTE / 3)],
      ["objects in fences", "```{a:b}".repeat(MEBIBYTE / 8)],
      ["objects in one fence", `\`\`\`${"{a:b}".repeat(MEBIBYTE / 5)}\`\`\``],
      ["objects behind thoughts", `{"thoughts":["a"],${"{a:b}".repeat(MEBIBYTE / 5)}}`],
      ["open brackets", `{"tool_name": "a", "tool_args": ${"[".repeat(MEBIBYTE)}`],
    ];
    for (const [what, message] of hostile) {
      it(`finds no request in a mebibyte of ${what}, and soon [H6]`, function () {
        this.timeout(10_000);
        expect(readToolRequest(message).kind).to.equal("none");
      });
    }

    it("gives up the search for objects in a mebibyte of strings that stay open [H6]", function () {
      this.timeout(10_000);
      expect(firstRootObject('{"k":"" x}'.repeat(MEBIBYTE / 10))).to.equal(null);
    });

    it("still reads a request with a mebibyte of argument [H6]", () => {
      const text = "y".repeat(MEBIBYTE);
      const reading = readToolRequest(`{"tool": "a", "args": {"x": "${text}"}}`);
      expect(reading.kind === "request" && reading.args["x"] === text).to.equal(true);
    });

    it("has no request where the nesting is too deep [H6]", () => {
      const deep = "[".repeat(100_000) + "]".repeat(100_000);
      expect(extractToolRequest(`{"tool": "a", "args": {"x": ${deep}}}`)).to.equal(null);
    });
  });
});

function expectCall(message: string, name: string, args: object): void {
  expect(readToolRequest(message)).to.deep.equal({ kind: "request", name, args });
}
