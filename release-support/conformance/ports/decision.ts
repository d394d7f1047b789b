import { decide } from "../../../helpers/decision/policy.ts";
import { CHECKS, verdictOf } from "../../../helpers/preflight/preflight_contract.ts";
import type { Statuses } from "../../../helpers/preflight/preflight_contract.ts";
import { readSettings } from "../../../helpers/settings/settings_schema.ts";
import type { Port } from "../runner.ts";

interface Input {
  readonly policy: unknown;
  readonly statuses: Statuses | null;
}

export default {
  run({ policy, statuses }: Input) {
    const reading = readSettings({ policy });
    if (reading.kind === "invalid") return { error: "invalid policy" };
    if (statuses === null) {
      return decide(reading.settings.policy, { kind: "unavailable", saysDoNotDelegate: false });
    }
    const verdict = verdictOf(CHECKS.map((check) => [check, statuses[check]]));
    return decide(reading.settings.policy, { kind: "observed", verdict, statuses });
  },
} satisfies Port;
