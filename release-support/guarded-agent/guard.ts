import { Slots } from "../slots.ts";
import type { CallDecision, CallDenial, GuardedCall } from "./call_decision.ts";
import type { Network } from "./network.ts";
import type { PreflightObservation } from "./observation.ts";
import type { PreflightPolicy } from "./policy.ts";
import { askGuild } from "./strict_preflight.ts";

/** What the guard needs to decide, and whom it tells. */
export interface GuardSettings {
  readonly policy: PreflightPolicy;
  readonly maxPreflights: number;
  readonly onObservation: (observation: PreflightObservation) => unknown;
  readonly onDecision: (decision: CallDecision) => unknown;
}

/** Decides about a call immediately before it is made: a fresh preflight, then the policy (SPEC G4, G5). */
export class Guard {
  readonly #settings: GuardSettings;
  readonly #network: Network;
  readonly #slots: Slots;

  constructor(settings: GuardSettings, network: Network) {
    this.#settings = settings;
    this.#network = network;
    this.#slots = new Slots(settings.maxPreflights);
  }

  /**
   * Decides about one call, and tells the operator before it returns (SPEC G13).
   *
   * @param call - it names the endpoint of the very tool object that will be called
   * @throws the reason of `signal` when that fires first; nothing else
   */
  async check(call: GuardedCall, signal: AbortSignal): Promise<CallDecision> {
    const observation = await this.#slots.run(() => askGuild(call.endpoint, this.#network, signal), signal);
    notify(this.#settings.onObservation, observation);
    const decision: CallDecision = Object.freeze({
      ...call,
      decidedAt: new Date().toISOString(),
      observation,
      ...this.#judge(observation),
    });
    notify(this.#settings.onDecision, decision);
    return decision;
  }

  #judge(
    observation: PreflightObservation,
  ): Pick<CallDecision, "checks"> &
    ({ decision: "allow"; reason: "not_denied" } | Pick<CallDenial, "decision" | "reason">) {
    if (observation.kind !== "answered")
      return { decision: "deny", reason: "evidence_unavailable", checks: [] };
    const judged = this.#settings.policy.decide(observation);
    if (judged.kind === "allowed") return { decision: "allow", reason: "not_denied", checks: [] };
    return { decision: "deny", reason: judged.reason, checks: Object.freeze(judged.checks) };
  }
}

/** Tells the operator. Whatever the callback does, throw or take its time, decides nothing (SPEC G6, G13). */
function notify<Value>(callback: (value: Value) => unknown, value: Value): void {
  try {
    Promise.resolve(callback(value)).catch(() => undefined);
  } catch {
    // The audit's failure is the audit's.
  }
}
