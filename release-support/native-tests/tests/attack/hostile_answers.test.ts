import { expect } from "chai";

import { readPreflightAnswer } from "../../../../helpers/preflight/preflight_contract.ts";
import { HOSTILE_READERS } from "../../../bench/hostile_readers.ts";
import { HOSTILE_JSON } from "../../../fixtures/hostile_json.ts";
import { healthy } from "../../../guild/preflight_bodies.ts";
import { runBounded } from "../../bounded_worker.ts";

const TARGET = "https://pub.example.com/mcp";
const HEALTHY = JSON.stringify(healthy(TARGET));

/** The heap that a reader of 1 MiB may have, in MiB, with all code that it loads: no more than 40 times its bytes. */
const HEAP_OF_A_READER_MB = 40;

/** The same for a whole host with its servers and a scripted Guild, four calls at once. */
const HEAP_OF_A_HOST_MB = 100;

describe("attacks by answers that cost more than their bytes", () => {
  for (const name of Object.keys(HOSTILE_READERS)) {
    it(`costs little memory in ${name} [P7.1]`, async () => {
      const done = await runBounded(
        new URL("../../hostile_reading.js", import.meta.url),
        name,
        HEAP_OF_A_READER_MB,
      );
      expect(done).to.deep.equal(Object.keys(HOSTILE_JSON));
    });
  }

  it("costs a host little memory in calls that ask afresh, and denies them [P7.1, P9.1]", async () => {
    const kinds = await runBounded(new URL("../../hostile_calls.js", import.meta.url), 8, HEAP_OF_A_HOST_MB);
    expect(kinds).to.deep.equal(Array.from({ length: 8 }, () => "denied"));
  });

  const MANY = `[${"0,".repeat(20_000)}0]`;

  it("is inconsistent where there are too many values [P7.1]", () => {
    const body = HEALTHY.replace("{", `{"extra":${MANY},`);
    expect(readPreflightAnswer(Buffer.from(body), TARGET)).to.deep.equal({
      kind: "inconsistent",
      saysDoNotDelegate: false,
    });
  });

  for (const [where, body] of Object.entries({
    before: `{"verdict":"do_not_delegate","extra":${MANY}}`,
    behind: `{"extra":${MANY},"verdict":"do_not_delegate"}`,
    "among a thousand others behind":
      `{"extra":${MANY},${'"verdict":"no_failed_checks",'.repeat(1000)}` +
      `"verdict":"do_not\\u005fdelegate",${'"verdict":[],'.repeat(1000)}"x":0}`,
  })) {
    it(`is heard when it says do_not_delegate ${where} too many values [P8.1]`, () => {
      expect(readPreflightAnswer(Buffer.from(body), TARGET)).to.deep.equal({
        kind: "inconsistent",
        saysDoNotDelegate: true,
      });
    });
  }
});
