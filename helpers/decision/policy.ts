import type { CheckName, Statuses, Verdict } from "../preflight/preflight_contract.ts";
import type { Policy } from "../settings/settings.ts";

/** Reason codes of the policy (SPEC P8). */
export type PolicyReason =
  | "do_not_delegate"
  | "evidence_unavailable"
  | "required_not_proven"
  | "caution"
  | "not_denied";

/** The evidence as the policy sees it. */
export type Evidence =
  | { readonly kind: "observed"; readonly verdict: Verdict; readonly statuses: Statuses }
  | {
      readonly kind: "unavailable";
      /** An unusable answer that all the same says `do_not_delegate`. */
      readonly saysDoNotDelegate: boolean;
    };

/** What the policy makes of the evidence. `allow` is not approval: the call is only not denied. */
export interface PolicyDecision {
  readonly decision: "allow" | "deny";
  readonly reason: PolicyReason;
}

/**
 * Decides what the evidence leads to under a policy: the first rule of SPEC P8 that applies.
 *
 * @param policy - what the operator wants
 * @param evidence - what is known about the endpoint
 */
export function decide(policy: Policy, evidence: Evidence): PolicyDecision {
  switch (evidence.kind) {
    case "unavailable":
      if (evidence.saysDoNotDelegate) return deny("do_not_delegate");
      return { decision: policy.onUnavailable, reason: "evidence_unavailable" };
    case "observed":
      if (evidence.verdict === "do_not_delegate") return deny("do_not_delegate");
      if (missingProof(policy, evidence.statuses).length > 0) return deny("required_not_proven");
      if (evidence.verdict === "delegate_with_caution" && policy.onCaution !== "allow")
        return deny("caution");
      return { decision: "allow", reason: "not_denied" };
    default:
      return deny("evidence_unavailable");
  }
}

/**
 * Lists the required checks that keep a call from going on: those that failed, and those unknown unless the policy
 * tolerates it (SPEC P8.3).
 */
export function missingProof(policy: Policy, statuses: Statuses): CheckName[] {
  return policy.requiredProven.filter((check) => {
    const status = statuses[check];
    return status !== "proven" && !(status === "unknown" && policy.tolerateUnknownRequired);
  });
}

function deny(reason: PolicyReason): PolicyDecision {
  return { decision: "deny", reason };
}
