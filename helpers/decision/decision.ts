import type { PreflightOutcome } from "../preflight/guild_preflight.ts";
import { BINDING_REASONS } from "../binding/mcp_binding.ts";
import type { QualifiedToolName } from "../binding/names.ts";
import type { Policy } from "../settings/settings.ts";

/** Every reason that the gate gives for a decision, allow or deny: a closed list (SPEC P8). */
export const REASONS = [
  "do_not_delegate",
  "evidence_unavailable",
  "required_not_proven",
  "caution",
  "not_denied",
  "configuration_invalid",
  ...BINDING_REASONS,
  "binding_changed",
] as const;

/** A reason code of the gate. */
export type Reason = (typeof REASONS)[number];

/** What the gate decided about one call, and on what grounds. */
export interface Decision {
  readonly decision: "allow" | "deny";
  readonly reason: Reason;
  readonly call: QualifiedToolName;
  readonly endpoint: string;
  readonly policy: Policy;
  /** What the preflight led to; `null` when none was attempted. */
  readonly outcome: PreflightOutcome | null;
  readonly decidedAt: Date;
}
