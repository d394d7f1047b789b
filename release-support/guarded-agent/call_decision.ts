import type { CheckName } from "../../helpers/preflight/preflight_contract.ts";
import type { PreflightObservation } from "./observation.ts";
import type { PolicyDenial } from "./policy.ts";

/** Every reason for which the guard denies a call: a closed list. */
export type DenialReason = PolicyDenial | "evidence_unavailable";

/** The call that is decided about. */
export interface GuardedCall {
  /** Made by the agent for each run. */
  readonly runId: string;
  /** The model's own name for the call; a model may give one name to several. */
  readonly callId: string;
  /** The URL of the endpoint whose tool it is. */
  readonly endpoint: string;
  /** The tool's name, which its server chose. */
  readonly tool: string;
}

/**
 * What the guard decided about one call, and on what grounds (SPEC G13). `allow` is no approval: nothing denied the
 * call. The observation holds untrusted data: never put it into a prompt.
 */
export type CallDecision = GuardedCall & {
  /** By this client's clock: ISO 8601, UTC. */
  readonly decidedAt: string;
  /** The checks that the reason is about; empty where it is about none of them. */
  readonly checks: readonly CheckName[];
  readonly observation: PreflightObservation;
} & (
    | { readonly decision: "allow"; readonly reason: "not_denied" }
    | { readonly decision: "deny"; readonly reason: DenialReason }
  );

/** A decision that keeps its call from being sent. */
export type CallDenial = Extract<CallDecision, { decision: "deny" }>;
