import { ERROR_WORDS } from "../../helpers/decision/denial.ts";
import { CHECKS } from "../../helpers/preflight/preflight_contract.ts";
import type { CheckStatus, Verdict } from "../../helpers/preflight/preflight_contract.ts";
import type { EvidenceDocument, PolicyDocument } from "./output_schemas.ts";
import type { Paint, Tone } from "../terminal/terminal.ts";
import { padded, wrap } from "../terminal/text.ts";

const STATUS_TONES: Readonly<Record<CheckStatus, Tone>> = { proven: "good", failed: "bad", unknown: "warn" };

const VERDICT_TONES: Readonly<Record<Verdict, Tone>> = {
  do_not_delegate: "bad",
  delegate_with_caution: "warn",
  no_failed_checks: "good",
};

/** The widest name of a check. */
const NAME_COLUMNS = Math.max(...CHECKS.map((check) => check.length));

/** The six checks as a table, with those marked that the policy requires. */
export function checkTable(
  { statuses, unlisted }: EvidenceDocument,
  policy: PolicyDocument | null,
  paint: Paint,
  indent = "",
): string[] {
  if (statuses === null) return [];
  const rows = CHECKS.map((check) => {
    const status = statuses[check];
    const required = policy?.required_proven.includes(check) === true ? "  required" : "";
    return `${indent}  ${padded(check, NAME_COLUMNS)}  ${paint(STATUS_TONES[status], padded(status, 7))}${required}`.trimEnd();
  });
  return [
    ...rows,
    ...(unlisted === 0 ? [] : [`${indent}  +${unlisted} checks outside the six, which prove nothing`]),
  ];
}

/** The verdict with when it was observed, or why there is none. */
export function verdictLines(evidence: EvidenceDocument, paint: Paint, indent = ""): string[] {
  const { verdict, observed_at: observedAt, error } = evidence;
  if (verdict === null) {
    const words = error === null ? "no verdict" : `${ERROR_WORDS[error]} (${error})`;
    return wrap(words, { first: `${indent}Evidence: none, `, rest: `${indent}  ` });
  }
  const line = `${indent}Verdict: ${paint(VERDICT_TONES[verdict], verdict)}`;
  return [line, `${indent}  observed ${observedAt ?? "at an unknown time"}, ${ageOf(evidence)}`];
}

function ageOf({ cached, age_seconds: age }: EvidenceDocument): string {
  return cached ? `from the cache, ${Math.floor(age ?? 0)} s old` : "asked afresh";
}
