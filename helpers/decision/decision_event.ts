import { randomUUID } from "node:crypto";

import type { Statuses, Verdict } from "../preflight/preflight_contract.ts";
import type { PreflightError, PreflightOutcome } from "../preflight/guild_preflight.ts";
import type { QualifiedToolName } from "../binding/names.ts";
import type { GateAgent } from "../host.ts";
import type { Policy, SettingError } from "../settings/settings.ts";
import type { Decision, Reason } from "./decision.ts";
import { redactEndpoint } from "./denial.ts";
import { nameToShow, toPolicyRecord } from "./evidence.ts";
import type { PolicyRecord } from "./evidence.ts";

/** The form of a decision event; another number when what a field means has changed. */
export const EVENT_VERSION = 1;

/**
 * One decision as it is told to subscribers and written to the decision log: our own words, names and enums, and the
 * redacted endpoint; nothing in it was written by a server or the Guild (SPEC P9.5). Deeply frozen.
 */
export interface DecisionEvent {
  readonly v: typeof EVENT_VERSION;
  /** Twelve hexadecimal digits, at random. */
  readonly id: string;
  /** In ISO 8601, UTC. */
  readonly decided_at: string;
  /** How long the gate took, in milliseconds: most of it is the wait for the Guild. */
  readonly took_ms: number;
  readonly decision: "allow" | "deny";
  readonly reason: Reason;
  /** The agent's project and profile; `null` without one. A name of odd characters shows as `<project>`, and so on. */
  readonly project: string | null;
  readonly profile: string | null;
  readonly server: string;
  readonly tool: string;
  /** The approved endpoint, redacted; `null` when it is not eligible or the configuration cannot be used. */
  readonly endpoint: string | null;
  /** The policy applied; `null` when the configuration cannot be used. */
  readonly policy: PolicyRecord | null;
  /** What the preflight led to; `null` when none was attempted. */
  readonly evidence: EvidenceSummary | null;
  /** What is wrong with the configuration, for the reason `configuration_invalid` alone. */
  readonly configuration: UnusableConfiguration | null;
}

/** What a preflight brought, without anybody's prose. After a failure what has no value is `null`. */
export interface EvidenceSummary {
  readonly guild_origin: string;
  readonly verdict: Verdict | null;
  readonly statuses: Statuses | null;
  /** How many checks outside the six the answer has. */
  readonly unlisted: number;
  readonly observed_at: string | null;
  readonly cached: boolean;
  readonly age_seconds: number | null;
  readonly error: PreflightError | null;
}

/** Which configuration file cannot be used, in our own words, and why. */
export interface UnusableConfiguration {
  readonly where: string;
  readonly errors: readonly SettingError[];
  /** How many errors more there are. */
  readonly more: number;
}

/** A denial over a configuration that cannot be used (SPEC P3.2). */
export interface ConfigurationDenial {
  readonly call: QualifiedToolName;
  readonly where: string;
  readonly errors: readonly SettingError[];
}

/** An event holds no more errors of a configuration than this. */
const MAX_ERRORS = 24;

/**
 * Makes the event of a decision about a protected call.
 *
 * @param agent - whose call it was
 * @param decision - the decision
 * @param tookMs - how long it took, in milliseconds
 */
export function decisionEvent(agent: GateAgent, decision: Decision, tookMs: number): DecisionEvent {
  const { reason, call, endpoint, policy, outcome, decidedAt } = decision;
  return eventOf(agent, call, {
    decidedAt,
    tookMs,
    decision: decision.decision,
    reason,
    endpoint: reason === "ineligible_endpoint" ? null : redactEndpoint(endpoint),
    policy: frozenPolicy(policy),
    evidence: outcome === null ? null : Object.freeze(summaryOf(outcome)),
    configuration: null,
  });
}

/**
 * Makes the event of a denial over the configuration.
 *
 * @param agent - whose call it was
 * @param denial - the call, and what is wrong
 * @param tookMs - how long it took, in milliseconds
 */
export function configurationEvent(
  agent: GateAgent,
  { call, where, errors }: ConfigurationDenial,
  tookMs: number,
): DecisionEvent {
  const listed = errors.slice(0, MAX_ERRORS).map((error) => Object.freeze({ ...error }));
  return eventOf(agent, call, {
    decidedAt: new Date(),
    tookMs,
    decision: "deny",
    reason: "configuration_invalid",
    endpoint: null,
    policy: null,
    evidence: null,
    configuration: Object.freeze({
      where,
      errors: Object.freeze(listed),
      more: errors.length - listed.length,
    }),
  });
}

/** What differs from one event to another, apart from whose call it is about. */
interface Told extends Pick<
  DecisionEvent,
  "decision" | "reason" | "endpoint" | "policy" | "evidence" | "configuration"
> {
  readonly decidedAt: Date;
  readonly tookMs: number;
}

function eventOf(agent: GateAgent, call: QualifiedToolName, told: Told): DecisionEvent {
  // Field by field: spreading several objects into one this large takes longer than all the rest.
  return Object.freeze({
    v: EVENT_VERSION,
    // The last group of a random UUID is random throughout.
    id: randomUUID().slice(-12),
    decided_at: told.decidedAt.toISOString(),
    took_ms: Math.round(told.tookMs * 1000) / 1000,
    decision: told.decision,
    reason: told.reason,
    project: nameIfAny(agent.context.getData("project"), "<project>"),
    profile: nameIfAny(agent.config.profile, "<profile>"),
    server: nameToShow(call.server, "<server>"),
    tool: nameToShow(call.tool, "<tool>"),
    endpoint: told.endpoint,
    policy: told.policy,
    evidence: told.evidence,
    configuration: told.configuration,
  });
}

function nameIfAny(name: unknown, otherwise: string): string | null {
  return name === "" || (name ?? null) === null ? null : nameToShow(name, otherwise);
}

function frozenPolicy(policy: Policy): PolicyRecord {
  const record = toPolicyRecord(policy);
  Object.freeze(record.required_proven);
  return Object.freeze(record);
}

function summaryOf(outcome: PreflightOutcome): EvidenceSummary {
  if (outcome.kind === "failure") {
    return {
      guild_origin: outcome.guildOrigin,
      verdict: null,
      statuses: null,
      unlisted: 0,
      observed_at: null,
      cached: false,
      age_seconds: null,
      error: outcome.error,
    };
  }
  const { answer, guildOrigin, observedAt, cached, ageSeconds } = outcome.observation;
  return {
    guild_origin: guildOrigin,
    verdict: answer.verdict,
    statuses: Object.freeze({ ...answer.statuses }),
    unlisted: answer.unlisted,
    observed_at: observedAt.toISOString(),
    cached,
    age_seconds: ageSeconds,
    error: null,
  };
}
