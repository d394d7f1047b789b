import { expect } from "chai";
import * as fc from "fast-check";

import { CHECKS, STATUSES, VERDICTS, verdictOf } from "../../../../helpers/preflight/preflight_contract.ts";
import type { CheckName, CheckStatus, Verdict } from "../../../../helpers/preflight/preflight_contract.ts";
import { PreflightPolicy } from "../../../guarded-agent/index.ts";
import type {
  AllowableVerdict,
  PolicyDecision,
  PreflightPolicyFields,
} from "../../../guarded-agent/index.ts";

type Bag = Record<PropertyKey, unknown>;

const status = fc.constantFrom(...STATUSES);
const ODD_STATUSES = [undefined, null, true, 0, "", "PROVEN", "proven ", ["proven"], { value: "proven" }];
const oddStatus = fc.constantFrom<unknown>(...ODD_STATUSES, Object("proven"));
const subset = fc.subarray([...CHECKS]);

/** Any policy there is, lenient ones among them. */
const fields: fc.Arbitrary<PreflightPolicyFields> = fc
  .record({
    requiredProven: subset,
    allowedUnknowns: subset,
    allowedFailedChecks: subset,
    allowedVerdicts: fc.subarray<AllowableVerdict>(["delegate_with_caution", "no_failed_checks"]),
  })
  .map(({ requiredProven, ...tolerated }) => ({
    ...tolerated,
    requiredProven: requiredProven.filter(
      (check) => ![...tolerated.allowedUnknowns, ...tolerated.allowedFailedChecks].includes(check),
    ),
  }));

/** Tolerates all that a policy can. */
const MOST_LENIENT = PreflightPolicy.of({
  allowedVerdicts: ["delegate_with_caution", "no_failed_checks"],
  allowedUnknowns: CHECKS,
  allowedFailedChecks: CHECKS,
});

const consistent = fc
  .record(Object.fromEntries(CHECKS.map((check) => [check, status])) as Record<CheckName, typeof status>)
  .map((statuses) => ({ verdict: verdictOf(Object.entries(statuses) as Pairs), statuses }));

type Pairs = [CheckName, CheckStatus][];

/** One way to spoil a member, whatever it says. */
const spoiling = fc.constantFrom<(bag: Bag, name: string) => Bag>(
  (bag, name) => without(bag, name),
  (bag, name) => Object.setPrototypeOf(without(bag, name), { [name]: bag[name] }) as Bag,
  (bag, name) =>
    Object.defineProperty<Bag>(without(bag, name), name, { enumerable: true, get: () => bag[name] }),
  (bag, name) => ({ ...bag, [name]: [bag[name]] }),
  (bag) => new Proxy(bag, { getOwnPropertyDescriptor: () => undefined, ownKeys: () => [] }),
  (bag) => new Proxy(bag, { getOwnPropertyDescriptor: shout, get: shout, has: shout }),
  (bag) => {
    const { proxy, revoke } = Proxy.revocable(bag, {});
    revoke();
    return proxy;
  },
);

function shout(): never {
  throw new Error("a trap");
}

function without(bag: Bag, name: string): Bag {
  return Object.fromEntries(Object.entries(bag).filter(([member]) => member !== name));
}

function decide(policy: PreflightPolicy, found: unknown): PolicyDecision {
  return policy.decide(found as Parameters<PreflightPolicy["decide"]>[0]);
}

/** The rule, said once more and in another way: what a policy allows of whole evidence. */
function isTolerated(policy: PreflightPolicyFields, verdict: Verdict, statuses: Bag): boolean {
  const {
    requiredProven = [],
    allowedVerdicts = [],
    allowedUnknowns = [],
    allowedFailedChecks = [],
  } = policy;
  return (
    allowedVerdicts.some((word) => word === verdict) &&
    CHECKS.every((check) => {
      if (statuses[check] === "proven") return true;
      if (requiredProven.includes(check)) return false;
      return (statuses[check] === "failed" ? allowedFailedChecks : allowedUnknowns).includes(check);
    })
  );
}

describe("property: the guarded agent's policy", () => {
  it("allows of whole evidence exactly what it tolerates [G4]", () => {
    fc.assert(
      fc.property(fields, consistent, (given, found) => {
        const expected = isTolerated(given, found.verdict, found.statuses) ? "allowed" : "denied";
        expect(decide(PreflightPolicy.of(given), found).kind).to.equal(expected);
      }),
    );
  });

  it("denies evidence with a status that is absent, odd, inherited, made by a getter or kept by a proxy, however lenient [G13]", () => {
    fc.assert(
      fc.property(consistent, fc.constantFrom(...CHECKS), spoiling, (found, check, spoil) => {
        const statuses = spoil(found.statuses, check);
        expect(decide(MOST_LENIENT, { ...found, statuses }).kind).to.equal("denied");
      }),
    );
    fc.assert(
      fc.property(consistent, fc.constantFrom(...CHECKS), oddStatus, (found, check, odd) => {
        const decision = decide(MOST_LENIENT, { ...found, statuses: { ...found.statuses, [check]: odd } });
        expect(decision.kind).to.equal("denied");
      }),
    );
  });

  it("denies evidence whose verdict or statuses are absent, odd or not its own, however lenient [G13]", () => {
    fc.assert(
      fc.property(consistent, fc.constantFrom("verdict", "statuses"), spoiling, (found, member, spoil) => {
        expect(decide(MOST_LENIENT, spoil(found, member)).kind).to.equal("denied");
      }),
    );
  });

  it("denies a verdict that does not follow from the statuses [G13]", () => {
    fc.assert(
      fc.property(consistent, fc.constantFrom(...VERDICTS), ({ verdict, statuses }, other) => {
        fc.pre(other !== verdict);
        expect(decide(MOST_LENIENT, { verdict: other, statuses }).kind).to.equal("denied");
      }),
    );
  });

  it("denies anything else, and never throws [G13]", () => {
    const anything = fc.anything({ withNullPrototype: true, withMap: true, withBoxedValues: true });
    fc.assert(
      fc.property(anything, fc.constantFrom(...VERDICTS), (value, verdict) => {
        expect(decide(MOST_LENIENT, value).kind).to.equal("denied");
        expect(decide(MOST_LENIENT, { verdict, statuses: value }).kind).to.equal("denied");
      }),
    );
  });

  it("takes nothing from a polluted prototype, neither evidence nor leniency [G13]", () => {
    const lent = {
      verdict: "no_failed_checks",
      statuses: Object.fromEntries(CHECKS.map((check) => [check, "proven"])),
      value: "proven",
      ...Object.fromEntries(CHECKS.map((check) => [check, "proven"])),
      allowedVerdicts: ["no_failed_checks"],
      allowedUnknowns: CHECKS,
    };
    const getters = Object.fromEntries(CHECKS.map((check) => [check, { get: () => "proven" }]));
    const made: unknown = Object.defineProperties({}, getters);
    const unknown = Object.fromEntries(CHECKS.map((check) => [check, "unknown"]));
    const pollute = (members: Bag) => Object.assign(Object.prototype, members);
    pollute(lent);
    try {
      const evidence = [
        {},
        { verdict: "no_failed_checks" },
        { verdict: "no_failed_checks", statuses: {} },
        { verdict: "no_failed_checks", statuses: made },
      ];
      const kinds = evidence.map((found) => decide(MOST_LENIENT, found).kind);
      const strict = decide(PreflightPolicy.of({}), { verdict: "no_failed_checks", statuses: unknown }).kind;
      for (const name of Object.keys(lent)) delete (Object.prototype as Bag)[name];
      expect([...kinds, strict]).to.deep.equal(["denied", "denied", "denied", "denied", "denied"]);
    } finally {
      for (const name of Object.keys(lent)) delete (Object.prototype as Bag)[name];
    }
  });
});
