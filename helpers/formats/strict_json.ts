import { scanJson } from "./json_scan.ts";
import type { JsonBounds, JsonProblem } from "./json_scan.ts";

export type { JsonProblem } from "./json_scan.ts";

/** A value as `JSON.parse` would give it. */
export type JsonValue = null | boolean | number | string | JsonValue[] | { [name: string]: JsonValue };

/** What the strict reader made of some bytes. */
export type StrictJson =
  | { readonly kind: "value"; readonly value: JsonValue }
  | { readonly kind: "refused"; readonly problem: JsonProblem };

/** What a document may ask of its reader unless its own reader says otherwise; a preflight's answer needs some dozens. */
export const JSON_BOUNDS: JsonBounds = { maxDepth: 64, maxValues: 20_000 };

/**
 * Reads one JSON document, refusing what readers disagree about: bytes that are not UTF-8, a byte order mark,
 * repeated member names (compared after unescaping), `NaN` and infinities, nesting beyond a bound, anything behind
 * the document; and more values than a bound, before any of them is made (SPEC P2.2, P7.2, G5; RFC 8259).
 *
 * @param bytes - the document
 * @param bounds - those that differ from {@link JSON_BOUNDS}
 * @returns the value, or why there is none. Never throws: the bytes may come from anyone.
 */
export function readStrictJson(bytes: Uint8Array, bounds: Partial<JsonBounds> = {}): StrictJson {
  const problem = scanJson(bytes, { ...JSON_BOUNDS, ...bounds });
  if (problem !== null) return { kind: "refused", problem };
  // Makes a member of its own of every name, `__proto__` too, and a compact object of names that are indexes.
  return { kind: "value", value: JSON.parse(Buffer.from(bytes).toString("utf8")) as JsonValue };
}
