import { expect } from "chai";

import { CHECKS, verdictOf } from "../../../../helpers/preflight/preflight_contract.ts";
import type { CheckName, CheckStatus, Statuses } from "../../../../helpers/preflight/preflight_contract.ts";
import { PreflightPolicy } from "../../../guarded-agent/index.ts";
import type { PreflightPolicyFields } from "../../../guarded-agent/index.ts";

const allProven = Object.fromEntries(CHECKS.map((check) => [check, "proven"])) as Record<
  CheckName,
  CheckStatus
>;

/** What a policy makes of statuses: `allowed`, or the reason with the checks that it is about. */
function answer(fields: PreflightPolicyFields, statuses: Partial<Statuses>): string {
  const all = { ...allProven, ...statuses };
  const verdict = verdictOf(CHECKS.map((check) => [check, all[check]]));
  const decision = PreflightPolicy.of(fields).decide({ verdict, statuses: all });
  return decision.kind === "allowed" ? "allowed" : [decision.reason, ...decision.checks].join(" ");
}

function expectTypeError(fields: unknown, message: string): void {
  expect(() => PreflightPolicy.of(fields as PreflightPolicyFields)).to.throw(TypeError, message);
}

describe("guarded agent: policy", () => {
  it("allows by default only where every check is proven [G4]", () => {
    expect(answer({}, {})).to.equal("allowed");
    for (const check of CHECKS) {
      expect(answer({}, { [check]: "unknown" })).to.equal(`unknown_not_allowed ${check}`);
      expect(answer({}, { [check]: "failed" })).to.match(/^(?:do_not_delegate|verdict_not_allowed)$/);
    }
  });

  it("denies a verdict that is not listed, whatever else is tolerated [G4]", () => {
    const fields: PreflightPolicyFields = { allowedFailedChecks: ["agent_card_signed"] };
    expect(answer(fields, { agent_card_signed: "failed" })).to.equal("verdict_not_allowed");
  });

  it("denies everything under an empty list of verdicts [G4]", () => {
    expect(answer({ allowedVerdicts: [] }, {})).to.equal("verdict_not_allowed");
  });

  it("denies a failed check that is not listed, though the verdict is [G4]", () => {
    const fields: PreflightPolicyFields = {
      allowedVerdicts: ["delegate_with_caution"],
      allowedFailedChecks: ["agent_card_signed"],
    };
    expect(answer(fields, { agent_card_signed: "failed" })).to.equal("allowed");
    expect(answer(fields, { agent_card_resolves: "failed" })).to.equal(
      "failed_not_allowed agent_card_resolves",
    );
  });

  it("denies an unknown check that is not listed, and does not take it for a failed one [G4]", () => {
    const failedOnly: PreflightPolicyFields = { allowedFailedChecks: ["payment_claim_holds"] };
    expect(answer(failedOnly, { payment_claim_holds: "unknown" })).to.equal(
      "unknown_not_allowed payment_claim_holds",
    );
    expect(answer({ allowedUnknowns: ["payment_claim_holds"] }, { payment_claim_holds: "unknown" })).to.equal(
      "allowed",
    );
  });

  it("never allows do_not_delegate, not even where the failed check is tolerated [G4]", () => {
    const fields: PreflightPolicyFields = {
      allowedVerdicts: ["no_failed_checks", "delegate_with_caution"],
      allowedFailedChecks: [...CHECKS],
      allowedUnknowns: [...CHECKS],
    };
    expect(answer(fields, { endpoint_reachable: "failed" })).to.equal("do_not_delegate");
    expect(answer(fields, { protocol_handshake: "failed" })).to.equal("do_not_delegate");
  });

  it("denies where a required check is unknown or failed, and says so before anything else [G4]", () => {
    const fields: PreflightPolicyFields = {
      requiredProven: ["independent_evidence"],
      allowedVerdicts: ["no_failed_checks", "delegate_with_caution"],
    };
    for (const status of ["unknown", "failed"] as const) {
      expect(answer(fields, { independent_evidence: status, agent_card_signed: status })).to.equal(
        "required_not_proven independent_evidence",
      );
    }
  });

  it("denies where statuses say less than they should [G4]", () => {
    const { endpoint_reachable: _left, ...five } = allProven;
    const decision = PreflightPolicy.of({ requiredProven: ["endpoint_reachable"] }).decide({
      verdict: "no_failed_checks",
      statuses: five as Statuses,
    });
    expect(decision.kind).to.equal("denied");
  });

  it("refuses to list do_not_delegate as allowed [G4]", () => {
    expectTypeError({ allowedVerdicts: ["do_not_delegate"] }, "policy.allowedVerdicts: expected only");
  });

  it("refuses unknown names of checks and verdicts [G4]", () => {
    expectTypeError({ requiredProven: ["reachable"] }, "policy.requiredProven: expected only");
    expectTypeError({ allowedUnknowns: ["__proto__"] }, "policy.allowedUnknowns: expected only");
    expectTypeError({ allowedFailedChecks: [7] }, "policy.allowedFailedChecks: expected only");
    expectTypeError({ allowedVerdicts: ["No_Failed_Checks"] }, "policy.allowedVerdicts: expected only");
  });

  it("refuses repetitions [G4]", () => {
    expectTypeError(
      { allowedUnknowns: ["agent_card_signed", "agent_card_signed"] },
      "policy.allowedUnknowns: agent_card_signed is listed twice",
    );
    expectTypeError({ allowedVerdicts: ["no_failed_checks", "no_failed_checks"] }, "listed twice");
  });

  it("refuses a check that is both required and tolerated [G4]", () => {
    for (const tolerated of ["allowedUnknowns", "allowedFailedChecks"]) {
      expectTypeError(
        { requiredProven: ["agent_card_signed"], [tolerated]: ["agent_card_signed"] },
        "policy: agent_card_signed is both required and tolerated",
      );
    }
  });

  it("refuses a misspelt field and what is no list, without repeating it [G4]", () => {
    expectTypeError({ allowedUnknown: [] }, "policy: expected only the members");
    expectTypeError({ allowedUnknowns: "agent_card_signed" }, "policy.allowedUnknowns: expected a list");
    expectTypeError({ allowedUnknowns: null }, "policy.allowedUnknowns: expected a list");
    for (const fields of [null, "strict", []]) expectTypeError(fields, "policy: expected an object");
    expect(() => PreflightPolicy.of({ s3cret: 1 } as PreflightPolicyFields)).to.throw(/^(?!.*s3cret)/);
  });

  it("keeps its lists to itself: changing them later changes nothing [G8]", () => {
    const allowedUnknowns: CheckName[] = [];
    const policy = PreflightPolicy.of({ allowedUnknowns });
    allowedUnknowns.push("payment_claim_holds");
    const statuses = { ...allProven, payment_claim_holds: "unknown" as const };
    expect(policy.decide({ verdict: "no_failed_checks", statuses }).kind).to.equal("denied");
    expect(Object.isFrozen(policy)).to.equal(true);
  });
});
