import { CHECKS, verdictOf } from "../../../helpers/preflight/preflight_contract.ts";
import type { Statuses } from "../../../helpers/preflight/preflight_contract.ts";
import { PreflightPolicy } from "../../guarded-agent/policy.ts";
import type { PreflightPolicyFields } from "../../guarded-agent/policy.ts";
import type { Port } from "../runner.ts";

interface Input {
  readonly policy: PreflightPolicyFields;
  readonly statuses: Statuses;
}

export default {
  run({ policy, statuses }: Input) {
    const verdict = verdictOf(CHECKS.map((check) => [check, statuses[check]]));
    const { kind } = PreflightPolicy.of(policy).decide({ verdict, statuses });
    return { decision: kind === "allowed" ? "allow" : "deny" };
  },
} satisfies Port;
