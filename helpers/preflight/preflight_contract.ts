import { readStrictJson } from "../formats/strict_json.ts";
import type { JsonValue } from "../formats/strict_json.ts";

/** The six checks of the Guild's free preflight, in the order in which the service lists them. */
export const CHECKS = [
  "endpoint_reachable",
  "protocol_handshake",
  "agent_card_resolves",
  "agent_card_signed",
  "payment_claim_holds",
  "independent_evidence",
] as const;

/** The name of one of the six checks. */
export type CheckName = (typeof CHECKS)[number];

/** What a check found. `unknown` is neither failure nor trust (SPEC P7.3). */
export const STATUSES = ["proven", "failed", "unknown"] as const;

/** The status of a check. */
export type CheckStatus = (typeof STATUSES)[number];

/** The verdicts, worst first. */
export const VERDICTS = ["do_not_delegate", "delegate_with_caution", "no_failed_checks"] as const;

/** The verdict of a preflight. */
export type Verdict = (typeof VERDICTS)[number];

/** The checks whose failure alone makes the verdict `do_not_delegate`. */
const BLOCKING: ReadonlySet<string> = new Set<CheckName>(["endpoint_reachable", "protocol_handshake"]);

/** The status of each of the six checks. */
export type Statuses = Readonly<Record<CheckName, CheckStatus>>;

/**
 * A consistent answer of the Guild. `statuses` and `verdict` are our own words; every other member is remote data
 * that nobody vouches for.
 */
export interface PreflightAnswer {
  readonly verdict: Verdict;
  readonly statuses: Statuses;
  /** How many distinct check names outside the six the answer carries (SPEC P10.2). */
  readonly unlisted: number;
  /** The whole answer as received, frozen to its depths: the cache and every record share it. */
  readonly untrusted: Readonly<Record<string, JsonValue>>;
}

/**
 * What the contract makes of the bytes of a 200 JSON answer. An inconsistent one may still say `do_not_delegate`,
 * which denies whatever the policy (SPEC P8.1).
 */
export type ContractReading =
  | { readonly kind: "consistent"; readonly answer: PreflightAnswer }
  | { readonly kind: "inconsistent"; readonly saysDoNotDelegate: boolean };

/**
 * Holds the body of an answer against the contract of the free preflight (SPEC P7; the service's own rules for
 * summaries and verdict).
 *
 * @param body - the bytes of the body
 * @param target - the URL that was asked about, which the answer must name byte for byte
 * @returns a consistent answer, or that there is none. Never throws: the bytes come from a remote side.
 */
export function readPreflightAnswer(body: Uint8Array, target: string): ContractReading {
  const json = readStrictJson(body);
  if (json.kind === "refused") {
    return {
      kind: "inconsistent",
      saysDoNotDelegate: json.members.some(
        ([name, value]) => name === "verdict" && value === "do_not_delegate",
      ),
    };
  }
  const object = asObject(json.value);
  const answer = object === null ? null : consistentAnswer(object, target);
  if (answer !== null) return { kind: "consistent", answer };
  return {
    kind: "inconsistent",
    saysDoNotDelegate: object !== null && own(object, "verdict") === "do_not_delegate",
  };
}

function consistentAnswer(object: JsonObject, target: string): PreflightAnswer | null {
  const verdict = VERDICTS.find((word) => word === own(object, "verdict"));
  const found = statusByName(own(object, "checks"));
  if (own(object, "target") !== target || verdict === undefined || found === null) return null;
  const statuses = statusesOfTheSix(found);
  if (statuses === null || !summariesFit(object, found) || verdict !== verdictOf(found)) return null;
  return { verdict, statuses, unlisted: found.size - CHECKS.length, untrusted: deepFreeze(object) };
}

/**
 * Derives the verdict from the statuses, as the service does: a failed blocking check, else any failed check, else
 * none. Unknowns never enter it.
 *
 * @param statuses - pairs of check name and status, in any order
 */
export function verdictOf(statuses: Iterable<readonly [name: string, status: CheckStatus]>): Verdict {
  const failed = [...statuses].filter(([, status]) => status === "failed").map(([name]) => name);
  if (failed.some((name) => BLOCKING.has(name))) return "do_not_delegate";
  return failed.length > 0 ? "delegate_with_caution" : "no_failed_checks";
}

/** Each check of the list with its status; `null` when the list, an entry, a status or a repetition is not right. */
function statusByName(checks: JsonValue | undefined): Map<string, CheckStatus> | null {
  if (!Array.isArray(checks)) return null;
  const found = new Map<string, CheckStatus>();
  for (const entry of checks) {
    const check = asObject(entry);
    const name = check === null ? undefined : own(check, "check");
    const status = STATUSES.find((word) => check !== null && word === own(check, "status"));
    if (typeof name !== "string" || status === undefined || found.has(name)) return null;
    found.set(name, status);
  }
  return found;
}

function statusesOfTheSix(found: ReadonlyMap<string, CheckStatus>): Statuses | null {
  const entries: [CheckName, CheckStatus][] = [];
  for (const name of CHECKS) {
    const status = found.get(name);
    if (status === undefined) return null;
    entries.push([name, status]);
  }
  return Object.fromEntries(entries) as Record<CheckName, CheckStatus>;
}

/** The three summaries are, as sets without repetition, what the statuses say. The service's own order is not kept. */
function summariesFit(object: JsonObject, found: ReadonlyMap<string, CheckStatus>): boolean {
  const named = (wanted: (status: CheckStatus) => boolean) =>
    new Set([...found].filter(([, status]) => wanted(status)).map(([name]) => name));
  return (
    isListOf(
      own(object, "failed"),
      named((status) => status === "failed"),
    ) &&
    isListOf(
      own(object, "unknowns"),
      named((status) => status === "unknown"),
    ) &&
    isListOf(
      own(object, "scored"),
      named((status) => status !== "unknown"),
    )
  );
}

function isListOf(list: JsonValue | undefined, names: ReadonlySet<string>): boolean {
  if (!Array.isArray(list) || list.length !== names.size) return false;
  const distinct = new Set(list);
  return distinct.size === list.length && list.every((name) => typeof name === "string" && names.has(name));
}

/** Freezes JSON data to its depths, which the strict reader bounds. */
function deepFreeze<Value extends JsonValue | JsonObject>(value: Value): Value {
  if (typeof value === "object" && value !== null) {
    for (const member of Object.values(value) as JsonValue[]) deepFreeze(member);
    Object.freeze(value);
  }
  return value;
}

type JsonObject = { readonly [name: string]: JsonValue };

function asObject(value: JsonValue): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
}

/** A member of the object itself: nothing that a prototype lends. */
function own(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
