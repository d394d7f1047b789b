import type { Network } from "./network.ts";
import type { PreflightObservation } from "./observation.ts";
import type { PolicyDenial, PreflightPolicy } from "./policy.ts";
import { askGuild } from "./strict_preflight.ts";

/** Every reason for which the guard denies a call: a closed list. */
export type DenialReason = PolicyDenial | "evidence_unavailable";

/** What the guard decided about one call. */
export type GuardDecision =
  | { readonly kind: "allowed" }
  | {
      readonly kind: "denied";
      readonly reason: DenialReason;
      readonly checks: Extract<ReturnType<PreflightPolicy["decide"]>, { kind: "denied" }>["checks"];
      readonly observation: PreflightObservation;
    };

/** What the guard hands observations to. */
export type ObservationCallback = (observation: PreflightObservation) => unknown;

/** Decides about a call immediately before it is made: a fresh preflight, then the policy (SPEC G4, G5). */
export class Guard {
  readonly #policy: PreflightPolicy;
  readonly #network: Network;
  readonly #onObservation: ObservationCallback;

  constructor(policy: PreflightPolicy, network: Network, onObservation: ObservationCallback) {
    this.#policy = policy;
    this.#network = network;
    this.#onObservation = onObservation;
  }

  /**
   * @param endpoint - the endpoint of the very tool object that will be called
   * @throws the reason of `signal` when that fires first; nothing else
   */
  async check(endpoint: string, signal: AbortSignal): Promise<GuardDecision> {
    const observation = await askGuild(endpoint, this.#network, signal);
    notify(this.#onObservation, observation);
    switch (observation.kind) {
      case "answered": {
        const decision = this.#policy.decide(observation);
        return decision.kind === "allowed" ? decision : { ...decision, observation };
      }
      default:
        return { kind: "denied", reason: "evidence_unavailable", checks: [], observation };
    }
  }
}

/** Tells the operator. Whatever the callback does, throw or take its time, decides nothing (SPEC G6). */
function notify(callback: ObservationCallback, observation: PreflightObservation): void {
  try {
    Promise.resolve(callback(observation)).catch(() => undefined);
  } catch {
    // The audit's failure is the audit's.
  }
}
