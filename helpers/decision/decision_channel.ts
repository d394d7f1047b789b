import { channel } from "node:diagnostics_channel";

import type { GateAgent } from "../host.ts";
import type { Decision } from "./decision.ts";
import { configurationEvent, decisionEvent } from "./decision_event.ts";
import type { ConfigurationDenial, DecisionEvent } from "./decision_event.ts";
import { DecisionLog } from "./decision_log.ts";

/** The `node:diagnostics_channel` channel on which every decision of the gate is published (SPEC P9.5). */
export const DECISION_CHANNEL = "agent_guild_preflight.decision";

const decisions = channel(DECISION_CHANNEL);

/** Where one decision is to be told beside the channel, and how long it took. */
export interface Telling {
  /** The decision log, relative to the host root, or `null` for none. */
  readonly logFile: string | null;
  /** In milliseconds. */
  readonly tookMs: number;
}

/**
 * Tells a decision to the subscribers of the channel and to the decision log (SPEC P9.5). Nothing is built while nobody
 * wants to know. What a subscriber throws ends in `uncaughtException` of the process, as Node has it, and not here; what
 * becomes of the log never shows here either.
 */
export function tellDecision(agent: GateAgent, decision: Decision, telling: Telling): void {
  tell(agent, telling, () => decisionEvent(agent, decision, telling.tookMs));
}

/** As {@link tellDecision}, of a call that was denied over a configuration that cannot be used. */
export function tellConfigurationDenial(
  agent: GateAgent,
  denial: ConfigurationDenial,
  telling: Telling,
): void {
  tell(agent, telling, () => configurationEvent(agent, denial, telling.tookMs));
}

function tell(agent: GateAgent, { logFile }: Telling, build: () => DecisionEvent): void {
  if (logFile === null && !decisions.hasSubscribers) return;
  const event = build();
  if (logFile !== null) {
    DecisionLog.of(agent.host.root, logFile).append(JSON.stringify(event), (problem) => warn(agent, problem));
  }
  decisions.publish(event);
}

function warn(agent: GateAgent, problem: string): void {
  agent.context.log.log({
    type: "warning",
    heading: "Agent Guild preflight",
    content: `The decision log cannot be written: ${problem}. No decision depends on it. What is not written is counted.`,
  });
}
