import { scanJson } from "../formats/json_scan.ts";
import type { JsonMember } from "../formats/json_scan.ts";
import { JSON_BOUNDS } from "../formats/strict_json.ts";
import type { JsonValue } from "../formats/strict_json.ts";
import { keepEvidence } from "./kept_evidence.ts";
import type { KeptEvidence, MemberText } from "./kept_evidence.ts";

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

/** The members that matter, to the decision or as evidence. No other one is made a value of. */
const READ: ReadonlySet<string> = new Set([
  "target",
  "verdict",
  "failed",
  "unknowns",
  "scored",
  "checks",
  "method",
  "limits",
]);

/** The most bytes that spell `do_not_delegate` in JSON: each character as an escape, and two quotes. */
const LONGEST_SPELLING = "do_not_delegate".length * 6 + 2;

/** The status of each of the six checks. */
export type Statuses = Readonly<Record<CheckName, CheckStatus>>;

/** A consistent answer of the Guild. `statuses` and `verdict` are our own words. */
export interface PreflightAnswer {
  readonly verdict: Verdict;
  readonly statuses: Statuses;
  /** How many distinct check names outside the six the answer carries (SPEC P10.2). */
  readonly unlisted: number;
  /** What is kept of the answer's own words: remote data that nobody vouches for. */
  readonly untrusted: KeptEvidence;
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
  const answer = new Answer(body);
  const problem = scanJson(body, JSON_BOUNDS, (name, member) => answer.add(name, member));
  const consistent = problem === null ? consistentAnswer(answer, target) : null;
  if (consistent !== null) return { kind: "consistent", answer: consistent };
  return { kind: "inconsistent", saysDoNotDelegate: problem !== "syntax" && answer.saysDoNotDelegate };
}

/** The members of an answer, of which only those are made values that the contract reads. */
class Answer {
  /** Whether any verdict in it is `do_not_delegate`, where it is repeated (SPEC P8.1). */
  saysDoNotDelegate = false;
  readonly #body: Buffer;
  readonly #members = new Map<string, JsonMember>();

  constructor(body: Uint8Array) {
    this.#body = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  }

  add(name: string, member: JsonMember): void {
    if (!READ.has(name)) return;
    this.#members.set(name, member);
    if (name === "verdict") this.saysDoNotDelegate ||= this.#isDoNotDelegate(member);
  }

  /** The value of a member; `undefined` where there is none. */
  value(name: string): JsonValue | undefined {
    const member = this.member(name);
    return member === undefined ? undefined : (JSON.parse(member.text) as JsonValue);
  }

  /** The text of a member, which is strict JSON where the answer is. */
  member(name: string): MemberText | undefined {
    const member = this.#members.get(name);
    if (member === undefined) return undefined;
    const { start, end, values } = member;
    return { text: this.#body.toString("utf8", start, end), bytes: end - start, values };
  }

  #isDoNotDelegate({ start, end, values }: JsonMember): boolean {
    if (values !== 1 || end - start > LONGEST_SPELLING) return false;
    const text = this.#body.toString("utf8", start, end);
    return text.startsWith('"') && JSON.parse(text) === "do_not_delegate";
  }
}

function consistentAnswer(answer: Answer, target: string): PreflightAnswer | null {
  const verdict = VERDICTS.find((word) => word === answer.value("verdict"));
  const found = statusByName(answer.value("checks"));
  if (answer.value("target") !== target || verdict === undefined || found === null) return null;
  const statuses = statusesOfTheSix(found);
  if (statuses === null || !summariesFit(answer, found) || verdict !== verdictOf(found)) return null;
  const shortChecks = CHECKS.map((check) => ({ check, status: statuses[check] }));
  const untrusted = keepEvidence((name) => answer.member(name), shortChecks);
  return { verdict, statuses, unlisted: found.size - CHECKS.length, untrusted };
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
function summariesFit(answer: Answer, found: ReadonlyMap<string, CheckStatus>): boolean {
  const named = (wanted: (status: CheckStatus) => boolean) =>
    new Set([...found].filter(([, status]) => wanted(status)).map(([name]) => name));
  return (
    isListOf(
      answer.value("failed"),
      named((status) => status === "failed"),
    ) &&
    isListOf(
      answer.value("unknowns"),
      named((status) => status === "unknown"),
    ) &&
    isListOf(
      answer.value("scored"),
      named((status) => status !== "unknown"),
    )
  );
}

function isListOf(list: JsonValue | undefined, names: ReadonlySet<string>): boolean {
  if (!Array.isArray(list) || list.length !== names.size) return false;
  const distinct = new Set(list);
  return distinct.size === list.length && list.every((name) => typeof name === "string" && names.has(name));
}

type JsonObject = { readonly [name: string]: JsonValue };

function asObject(value: JsonValue): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
}

/** A member of the object itself: nothing that a prototype lends. */
function own(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
