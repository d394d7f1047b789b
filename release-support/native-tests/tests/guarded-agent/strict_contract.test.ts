import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect } from "chai";

import { PINNED_CONTRACT } from "../../../guarded-agent/index.ts";
import { looksCached } from "../../../guarded-agent/cache_signs.ts";
import { MAX_BODY_BYTES, readStrictAnswer } from "../../../guarded-agent/strict_contract.ts";
import { healthy, preflightBody } from "../../../guild/preflight_bodies.ts";
import { packageRoot } from "../../../packaging/package_root.ts";

const target = "https://mcp.example.com/mcp";

/** What the contract makes of a body: `answer` or the code of the refusal. */
function reading(body: unknown): string {
  const bytes =
    body instanceof Uint8Array ? body : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  const result = readStrictAnswer(bytes, target);
  return result.kind === "answer" ? "answer" : result.error;
}

function padded(bytes: number): string {
  return JSON.stringify(healthy(target)).padEnd(bytes, " ");
}

/** The bodies of case G-22, by letter, those that are text. */
function bodiesOfG22(): Record<string, string> {
  const path = join(packageRoot, "release-support", "native-tests", "cases", "cases.json");
  const cases = JSON.parse(readFileSync(path, "utf8")) as {
    id: string;
    input: { bodies: Record<string, string> };
  }[];
  return cases.find(({ id }) => id === "G-22")?.input.bodies ?? {};
}

describe("guarded agent: the pinned contract", () => {
  it("names the state of the contract that it was written for [G5]", () => {
    expect(PINNED_CONTRACT).to.deep.equal({
      file: "preflight.py",
      commit: "8dae8d2",
      sha256: "bc7e8cdce5395fbf225d704ad82f88819e51863afc5c1aeecd184c9edf03d7c1",
    });
    expect(Object.isFrozen(PINNED_CONTRACT)).to.equal(true);
  });

  it("takes a consistent answer with the statuses as they are [G5, G6]", () => {
    const result = readStrictAnswer(Buffer.from(JSON.stringify(healthy(target))), target);
    if (result.kind !== "answer") expect.fail(result.error);
    expect(result.verdict).to.equal("no_failed_checks");
    expect(result.statuses).to.include({ protocol_handshake: "proven", agent_card_signed: "unknown" });
    expect(result.text).to.equal(JSON.stringify(healthy(target)));
  });

  it("refuses a check outside the six, listed or not: the contract changed [G5]", () => {
    for (const status of ["proven", "unknown"] as const) {
      expect(reading(preflightBody(target, {}, { unlisted: { carbon_neutral: status } }))).to.equal(
        "unlisted_check",
      );
    }
  });

  it("refuses a missing check, a repeated one and a status of another word [G5]", () => {
    const { checks, ...rest } = healthy(target);
    const [first, ...others] = checks;
    expect(reading({ ...rest, checks: others })).to.equal("inconsistent");
    expect(reading({ ...rest, checks: [first, first, ...others] })).to.equal("inconsistent");
    expect(reading({ ...rest, checks: [{ ...first, status: "passed" }, ...others] })).to.equal(
      "inconsistent",
    );
  });

  it("refuses summaries and a verdict that do not follow from the statuses [G5]", () => {
    const body = healthy(target);
    expect(reading({ ...body, verdict: "delegate_with_caution" })).to.equal("inconsistent");
    expect(reading({ ...body, verdict: "fine" })).to.equal("inconsistent");
    for (const summary of ["failed", "unknowns", "scored"]) {
      expect(reading({ ...body, [summary]: ["agent_card_resolves"] }), summary).to.equal("inconsistent");
    }
  });

  it("refuses an answer about another URL, if only by a slash [G5]", () => {
    expect(reading(healthy(`${target}/`))).to.equal("other_target");
    expect(reading({ ...healthy(target), target: null })).to.equal("other_target");
    const { target: _left, ...rest } = healthy(target);
    expect(reading(rest)).to.equal("inconsistent");
  });

  it("refuses what is no object [G5]", () => {
    for (const body of ["null", "[]", '"no_failed_checks"', "7"]) {
      expect(reading(body)).to.equal("inconsistent");
    }
    for (const body of ["", "{", "no", '{"a":NaN}']) expect(reading(body)).to.equal("invalid_json");
  });

  it("takes nesting of 64 levels and refuses 65 [G5]", () => {
    // The outermost object is level 1.
    const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
    const body = JSON.stringify(healthy(target)).slice(0, -1);
    expect(reading(`${body},"x":${nested(63)}}`)).to.equal("answer");
    expect(reading(`${body},"x":${nested(64)}}`)).to.equal("too_deep");
  });

  it("takes 65,536 bytes and refuses 65,537, counted in bytes and not in characters (G-22 e, h, i) [G5]", () => {
    expect(reading(padded(MAX_BODY_BYTES))).to.equal("answer");
    expect(reading(padded(MAX_BODY_BYTES + 1))).to.equal("too_large");
    expect(reading(JSON.stringify({ a: "\u00e9".repeat(40_000) }))).to.equal("too_large");
  });

  it("refuses repeated members, compared after unescaping (G-22 a, b) [G5]", () => {
    const { a, b } = bodiesOfG22();
    expect(reading(a)).to.equal("duplicate_member");
    expect(reading(b)).to.equal("duplicate_member");
    const body = JSON.stringify(healthy(target)).slice(0, -1);
    expect(reading(`${body},"ver\\u0064ict":"no_failed_checks"}`)).to.equal("duplicate_member");
  });

  it("refuses bytes that are not UTF-8 (G-22 c, d) [G5]", () => {
    expect(reading(Buffer.from("7b2261223a22ff227d", "hex"))).to.equal("invalid_utf8");
    expect(reading(Buffer.from("7b2261223a22c0af227d", "hex"))).to.equal("invalid_utf8");
  });

  it("refuses deep nesting without recursing into it (G-22 f) [G5]", () => {
    expect(reading(`${"[".repeat(10_000)}${"]".repeat(10_000)}`)).to.equal("too_deep");
  });

  it("lets no __proto__ member lend anything (G-22 g) [G5]", () => {
    expect(reading(bodiesOfG22()["g"])).to.equal("inconsistent");
    const { verdict: _left, ...rest } = healthy(target);
    const body = JSON.stringify(rest).slice(0, -1);
    expect(reading(`${body},"__proto__":{"verdict":"no_failed_checks"}}`)).to.equal("inconsistent");
    expect(Object.hasOwn(Object.prototype, "isError")).to.equal(false);
    expect(Object.hasOwn(Object.prototype, "verdict")).to.equal(false);
  });

  it("refuses a second document behind the first (G-22 j) [G5]", () => {
    expect(reading(bodiesOfG22()["j"])).to.equal("invalid_json");
    expect(reading(`${JSON.stringify(healthy(target))} {"x":1}`)).to.equal("invalid_json");
  });

  describe("signs of a cached answer", () => {
    const reports = ["cache-status", "cf-cache-status", "x-cache", "x-vercel-cache"];

    it("sees an Age above 0, and one that is no number [G5]", () => {
      for (const age of ["1", "300", " 7 ", "-1", "x", "", "0, 5", ["0", "1"]]) {
        expect(looksCached({ age }), String(age)).to.equal(true);
      }
      for (const age of ["0", "00", ["0", "0"], undefined]) {
        expect(looksCached({ age }), String(age)).to.equal(false);
      }
    });

    const stored = ["hit", "stale", "revalidated", "updating"];
    for (const word of stored) {
      it(`sees ${word} in every report of a cache, whatever its case [G5]`, () => {
        for (const name of reports) {
          const values = [word, word.toUpperCase(), `edge; ${word}; ttl=3`, `MISS, ${word}`, `TCP_${word}`];
          for (const value of values) {
            expect(looksCached({ [name]: value }), `${name}: ${value}`).to.equal(true);
          }
          expect(looksCached({ [name]: ["MISS", word] }), name).to.equal(true);
        }
      });
    }

    it("sees what a content network calls a hit [G5]", () => {
      for (const value of ["Hit from cloudfront", "RefreshHit from cloudfront", "TCP_MEM_HIT", "HIT, MISS"]) {
        expect(looksCached({ "x-cache": value }), value).to.equal(true);
      }
    });

    it("lets MISS, BYPASS, DYNAMIC, EXPIRED and absence pass [G5]", () => {
      expect(looksCached({})).to.equal(false);
      for (const name of reports) {
        for (const value of [
          "MISS",
          "BYPASS",
          "DYNAMIC",
          "EXPIRED",
          "Miss from cloudfront",
          "edge; fwd=miss",
        ]) {
          expect(looksCached({ [name]: value }), `${name}: ${value}`).to.equal(false);
        }
      }
    });

    it("does not find a word inside another one [G5]", () => {
      expect(looksCached({ "x-cache": "MISS from whitehouse" })).to.equal(false);
    });
  });
});
