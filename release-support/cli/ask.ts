import { GuildPreflight } from "../../helpers/preflight/guild_preflight.ts";
import type { PreflightOutcome } from "../../helpers/preflight/guild_preflight.ts";
import { decide } from "../../helpers/decision/policy.ts";
import type { PolicyDecision } from "../../helpers/decision/policy.ts";
import type { Policy } from "../../helpers/settings/settings.ts";

/**
 * Asks a Guild about one URL, afresh: the very request that the gate makes (SPEC P6).
 *
 * @param origin - whom to ask
 * @param url - an eligible URL: it is disclosed
 * @param timeoutSeconds - the deadline
 */
export function askGuild(origin: string, url: string, timeoutSeconds: number): Promise<PreflightOutcome> {
  const signal = new AbortController().signal;
  return new GuildPreflight().ask({ origin, url, timeoutSeconds, cacheTtlSeconds: 0, signal });
}

/** What the policy makes of an answer, by the gate's own rules (SPEC P8). */
export function decisionOn(policy: Policy, outcome: PreflightOutcome): PolicyDecision {
  if (outcome.kind === "failure") {
    return decide(policy, { kind: "unavailable", saysDoNotDelegate: outcome.saysDoNotDelegate });
  }
  const { verdict, statuses } = outcome.observation.answer;
  return decide(policy, { kind: "observed", verdict, statuses });
}
