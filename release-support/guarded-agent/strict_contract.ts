// Shared with the plugin: the strict JSON reader and the contract. Stricter here: 64 KiB, exactly the six checks,
// nothing that looks like a cached answer, and a code of its own for each way to break the contract.
import type { ResponseHeaders } from "../../helpers/guild_request.ts";
import { readPreflightAnswer } from "../../helpers/preflight_contract.ts";
import type { Statuses, Verdict } from "../../helpers/preflight_contract.ts";
import { readStrictJson } from "../../helpers/strict_json.ts";
import type { JsonProblem, JsonValue } from "../../helpers/strict_json.ts";
import type { ContractError } from "./errors.ts";

/**
 * The state of the service's free contract that this client was written for (SPEC G5). A check with a new name, or a
 * summary with another meaning, is refused until someone has reviewed it and moved this pin.
 */
export const PINNED_CONTRACT: {
  readonly file: string;
  readonly commit: string;
  readonly sha256: string;
} = Object.freeze({
  file: "preflight.py",
  commit: "8dae8d2",
  sha256: "bc7e8cdce5395fbf225d704ad82f88819e51863afc5c1aeecd184c9edf03d7c1",
});

/** The largest body that is read, in bytes (SPEC G5). */
export const MAX_BODY_BYTES = 65_536;

/** What the contract makes of a body. */
export type StrictReading =
  | {
      readonly kind: "answer";
      readonly verdict: Verdict;
      readonly statuses: Statuses;
      /** The body as text. Remote data. */
      readonly text: string;
    }
  | { readonly kind: "refused"; readonly error: ContractError };

const JSON_ERRORS: Readonly<Record<JsonProblem, ContractError>> = {
  syntax: "invalid_json",
  constant: "invalid_json",
  utf8: "invalid_utf8",
  duplicate_member: "duplicate_member",
  depth: "too_deep",
};

/**
 * Holds a body against the pinned contract (SPEC G5; vectors `preflight_response`, `guarded_valid`).
 *
 * @param body - the bytes of a 200 JSON answer
 * @param target - the URL that was asked about
 * @returns the answer, or a fixed code. Never throws: the bytes come from a remote side.
 */
export function readStrictAnswer(body: Uint8Array, target: string): StrictReading {
  if (body.byteLength > MAX_BODY_BYTES) return { kind: "refused", error: "too_large" };
  const json = readStrictJson(body);
  if (json.kind === "refused") return { kind: "refused", error: JSON_ERRORS[json.problem] };
  // Reads the few KiB a second time; in return the contract is the plugin's own, and the codes stay apart from it.
  const reading = readPreflightAnswer(body, target);
  if (reading.kind === "inconsistent") {
    return { kind: "refused", error: namesOtherTarget(json.value, target) ? "other_target" : "inconsistent" };
  }
  const { verdict, statuses, unlisted } = reading.answer;
  if (unlisted > 0) return { kind: "refused", error: "unlisted_check" };
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  return { kind: "answer", verdict, statuses: Object.freeze(statuses), text };
}

function namesOtherTarget(value: JsonValue, target: string): boolean {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, "target")) return false;
  return (value as { readonly target: unknown }).target !== target;
}

/** The headers in which caches say what they did. */
const CACHE_REPORTS = ["cache-status", "cf-cache-status", "x-cache", "x-vercel-cache"] as const;

/** What else about caching an operator may want to see. */
const CACHE_HEADERS = [
  ...CACHE_REPORTS,
  "age",
  "cache-control",
  "date",
  "etag",
  "expires",
  "last-modified",
  "pragma",
  "vary",
] as const;

/** A whole word that speaks of a stored answer; words that end in "hit" too, as in `TCP_HIT` and `RefreshHit`. */
const STORED = /(?<![a-z0-9])(?:[a-z0-9]*hit|stale|revalidated|updating)(?![a-z0-9])/i;

/**
 * Whether an answer looks like one from a cache: an `Age` above 0 or one that is no number, or a cache that says so
 * (SPEC G5). `MISS`, `BYPASS`, `DYNAMIC`, `EXPIRED` and no such header at all do not.
 */
export function looksCached(headers: ResponseHeaders): boolean {
  const ages = [headers["age"] ?? []].flat();
  return (
    ages.some((age) => !/^\s*0+\s*$/.test(age)) ||
    CACHE_REPORTS.some((name) => [headers[name] ?? []].flat().some((value) => STORED.test(value)))
  );
}

/** The headers about caching, each in one text. */
export function cacheHeadersOf(headers: ResponseHeaders): Readonly<Record<string, string>> {
  const found = CACHE_HEADERS.flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [[name, [value].flat().join(", ")] as const];
  });
  return Object.freeze(Object.fromEntries(found));
}
