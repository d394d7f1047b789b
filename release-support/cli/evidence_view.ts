import type { ObservationRecord, PolicyRecord } from "../../helpers/decision/evidence.ts";
import type { PreflightOutcome } from "../../helpers/preflight/guild_preflight.ts";
import { CHECKS, STATUSES } from "../../helpers/preflight/preflight_contract.ts";
import type { CheckStatus, Statuses } from "../../helpers/preflight/preflight_contract.ts";
import type { Policy } from "../../helpers/settings/settings.ts";
import type { JsonValue } from "../../helpers/formats/strict_json.ts";
import type { EvidenceDocument, PolicyDocument } from "./output_schemas.ts";

/**
 * What a preflight brought, in controlled values: of a remote answer only the statuses, the verdict and counts are left
 * (SPEC P10).
 */
export function evidenceOf(outcome: PreflightOutcome): EvidenceDocument {
  if (outcome.kind === "failure") return noEvidence(outcome.guildOrigin, outcome.error);
  const { answer, guildOrigin, observedAt, cached, ageSeconds } = outcome.observation;
  return {
    guild_origin: guildOrigin,
    verdict: answer.verdict,
    statuses: { ...answer.statuses },
    unlisted: answer.unlisted,
    observed_at: observedAt.toISOString(),
    cached,
    age_seconds: ageSeconds,
    error: null,
  };
}

/** As {@link evidenceOf}, from what the gate has stored (SPEC P9.2). */
export function evidenceIn(record: ObservationRecord): EvidenceDocument {
  const { guild_origin, verdict, observed_at, cached, age_seconds, error, shortened } = record;
  const found = statusByName(record.checks);
  if (error !== null || verdict === null) return noEvidence(guild_origin, error);
  return {
    guild_origin,
    verdict,
    statuses: theSix(found),
    unlisted: shortened?.unlisted ?? unlistedIn(found),
    observed_at,
    cached,
    age_seconds,
    error,
  };
}

/** The policy in the words of the configuration. */
export function policyOf(policy: Policy): PolicyDocument {
  return {
    required_proven: [...policy.requiredProven],
    tolerate_unknown_required: policy.tolerateUnknownRequired,
    on_caution: policy.onCaution,
    on_unavailable: policy.onUnavailable,
  };
}

/** As {@link policyOf}, from what the gate has stored. */
export function policyIn(record: PolicyRecord): PolicyDocument {
  const known = (name: string) => CHECKS.find((check) => check === name);
  return { ...record, required_proven: record.required_proven.flatMap((name) => known(name) ?? []) };
}

function noEvidence(guildOrigin: string, error: EvidenceDocument["error"]): EvidenceDocument {
  return {
    guild_origin: guildOrigin,
    verdict: null,
    statuses: null,
    unlisted: 0,
    observed_at: null,
    cached: false,
    age_seconds: null,
    error,
  };
}

function statusByName(checks: JsonValue): Map<string, CheckStatus> {
  const found = new Map<string, CheckStatus>();
  for (const entry of Array.isArray(checks) ? checks : []) {
    if (typeof entry !== "object" || entry === null || Array.isArray(entry)) continue;
    const { check, status } = entry;
    const known = STATUSES.find((word) => word === status);
    if (typeof check === "string" && known !== undefined) found.set(check, known);
  }
  return found;
}

function unlistedIn(found: ReadonlyMap<string, CheckStatus>): number {
  return [...found.keys()].filter((name) => !CHECKS.some((check) => check === name)).length;
}

/** The gate stores consistent answers alone, which have all six; what is missing all the same is not known. */
function theSix(found: ReadonlyMap<string, CheckStatus>): Statuses {
  const entries = CHECKS.map((check) => [check, found.get(check) ?? "unknown"] as const);
  return Object.fromEntries(entries) as Record<(typeof CHECKS)[number], CheckStatus>;
}
