// Shared with the plugin: the strict JSON reader and the contract. Stricter here: 64 KiB, exactly the six checks, and a
// code of its own for each way to break the contract.
import { readPreflightAnswer } from "../../helpers/preflight/preflight_contract.ts";
import type { Statuses, Verdict } from "../../helpers/preflight/preflight_contract.ts";
import { readStrictJson } from "../../helpers/formats/strict_json.ts";
import type { JsonProblem, JsonValue } from "../../helpers/formats/strict_json.ts";
import type { ContractError } from "./preflight_errors.ts";

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
  values: "too_large",
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
