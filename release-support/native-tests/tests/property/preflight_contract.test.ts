import { expect } from "chai";
import * as fc from "fast-check";

import {
  CHECKS,
  readPreflightAnswer,
  STATUSES,
  verdictOf,
} from "../../../../helpers/preflight/preflight_contract.ts";
import type { CheckStatus } from "../../../../helpers/preflight/preflight_contract.ts";
import { preflightBody } from "../../../guild/preflight_bodies.ts";

const TARGET = "https://pub.example.com/mcp";
const status = fc.constantFrom(...STATUSES);
const statuses = fc.record(Object.fromEntries(CHECKS.map((check) => [check, status])));
const unlisted = fc.dictionary(fc.stringMatching(/^[a-z_]{1,12}$/), status, { maxKeys: 3 });

/** One change to a consistent body that may or may not leave it consistent. */
const mutation = fc.oneof(
  fc.record({
    kind: fc.constant("set" as const),
    member: fc.constantFrom("target", "verdict", "checks", "failed", "unknowns", "scored"),
    value: fc.jsonValue(),
  }),
  fc.record({
    kind: fc.constant("verdict" as const),
    value: fc.constantFrom("do_not_delegate", "delegate_with_caution", "no_failed_checks"),
  }),
  fc.record({
    kind: fc.constant("drop" as const),
    list: fc.constantFrom("checks", "failed", "unknowns", "scored"),
    at: fc.nat(8),
  }),
  fc.record({
    kind: fc.constant("repeat" as const),
    list: fc.constantFrom("checks", "failed", "unknowns", "scored"),
    at: fc.nat(8),
  }),
  fc.record({ kind: fc.constant("status" as const), at: fc.nat(8), value: status }),
  fc.record({ kind: fc.constant("none" as const) }),
);

type Body = Record<string, unknown>;

function mutate(
  body: Body,
  change: typeof mutation extends fc.Arbitrary<infer Change> ? Change : never,
): Body {
  const copy = structuredClone(body);
  const listAt = (name: string) => copy[name] as unknown[];
  switch (change.kind) {
    case "set":
      copy[change.member] = change.value;
      break;
    case "verdict":
      copy["verdict"] = change.value;
      break;
    case "drop":
      listAt(change.list).splice(change.at, 1);
      break;
    case "repeat":
      listAt(change.list).push(...listAt(change.list).slice(change.at, change.at + 1));
      break;
    case "status": {
      const check = listAt("checks")[change.at] as { status: CheckStatus } | undefined;
      if (check !== undefined) check.status = change.value;
      break;
    }
    default:
  }
  return copy;
}

/** The consistency relation, stated a second time over the plain body. */
function isConsistent(body: Body): boolean {
  const checks = body["checks"] as { check: string; status: CheckStatus }[];
  const names = (wanted: (one: CheckStatus) => boolean) =>
    checks
      .filter((one) => wanted(one.status))
      .map((one) => one.check)
      .toSorted()
      .join();
  const list = (name: string) => [...(body[name] as string[])].toSorted().join();
  return (
    body["target"] === TARGET &&
    CHECKS.every((check) => checks.filter((one) => one.check === check).length === 1) &&
    new Set(checks.map((one) => one.check)).size === checks.length &&
    list("failed") === names((one) => one === "failed") &&
    list("unknowns") === names((one) => one === "unknown") &&
    list("scored") === names((one) => one !== "unknown") &&
    body["verdict"] === verdictOf(checks.map((one) => [one.check, one.status] as const))
  );
}

describe("the response contract, whatever it is given", () => {
  it("accepts every answer that the service can give [P7.1, P7.2]", () => {
    fc.assert(
      fc.property(statuses, unlisted, (found, others) => {
        const body = preflightBody(TARGET, found, { unlisted: others });
        const reading = readPreflightAnswer(Buffer.from(JSON.stringify(body)), TARGET);
        if (reading.kind !== "consistent") throw new Error("refused");
        expect(reading.answer.statuses).to.deep.equal(found);
        expect(reading.answer.verdict).to.equal(body.verdict);
        const outside = Object.keys(others).filter((name) => !(CHECKS as readonly string[]).includes(name));
        expect(reading.answer.unlisted).to.equal(outside.length);
      }),
      { numRuns: 2000 },
    );
  });

  it("accepts of changed answers only those that satisfy the consistency relation [P7.1]", () => {
    fc.assert(
      fc.property(statuses, fc.array(mutation, { minLength: 1, maxLength: 2 }), (found, changes) => {
        let body: Body = { ...preflightBody(TARGET, found) };
        let isReadable = true;
        for (const change of changes) {
          if (change.kind === "set" && typeof change.value !== "string") isReadable = false;
          if (change.kind === "set" && !["target", "verdict"].includes(change.member)) isReadable = false;
          if (isReadable) body = mutate(body, change);
        }
        const reading = readPreflightAnswer(Buffer.from(JSON.stringify(body)), TARGET);
        expect(reading.kind === "consistent").to.equal(isConsistent(body));
      }),
      { numRuns: 4000 },
    );
  });

  it("never throws for a changed answer of any shape, and always knows do_not_delegate [P7.1, P8.1]", () => {
    fc.assert(
      fc.property(statuses, mutation, fc.boolean(), (found, change, says) => {
        const body = {
          ...mutate({ ...preflightBody(TARGET, found) }, change),
          ...(says ? { verdict: "do_not_delegate" } : {}),
        };
        const reading = readPreflightAnswer(Buffer.from(JSON.stringify(body)), TARGET);
        if (body["verdict"] !== "do_not_delegate") return;
        expect(
          reading.kind === "consistent"
            ? reading.answer.verdict === "do_not_delegate"
            : reading.saysDoNotDelegate,
        ).to.equal(true);
      }),
      { numRuns: 2000 },
    );
  });

  it("never throws, whatever the bytes and however they are cut [P7.1]", () => {
    const whole = Buffer.from(JSON.stringify(preflightBody(TARGET)));
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.tuple(fc.nat(whole.length), fc.nat(255)).map(([at, byte]) => {
        const copy = Buffer.from(whole);
        copy[at] = byte;
        return copy;
      }),
      fc.nat(whole.length - 1).map((end) => whole.subarray(0, end)),
    );
    fc.assert(
      fc.property(bytes, (body) => {
        expect(readPreflightAnswer(body, TARGET).kind).to.be.oneOf(["consistent", "inconsistent"]);
      }),
      { numRuns: 3000 },
    );
  });
});
