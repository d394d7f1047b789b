import type { JsonValue } from "../formats/strict_json.ts";

/** The members of an answer that are kept as evidence (SPEC P9.2), in the order in which they share the bounds. */
const KEPT_MEMBERS = ["failed", "unknowns", "scored", "checks", "method", "limits"] as const;

/** The name of a member that is kept. */
export type KeptMember = (typeof KEPT_MEMBERS)[number];

/** How much of one answer is kept as it came: bytes of text, and values in it. A real answer has some KiB and dozens. */
export const MAX_KEPT_BYTES = 16_384;
export const MAX_KEPT_VALUES = 512;

/** How much of the text of a member is kept that is too long, in UTF-16 code units. */
const SHORTENED_LENGTH = 256;

/**
 * What is kept of an answer's own words: a text, which costs what it is long, whatever it would be as a value. Remote data
 * that nobody vouches for.
 */
export interface KeptEvidence {
  /** A JSON object of the kept members that the answer has. */
  readonly json: string;
  /** The members that were too long: `checks` without what is not contract, of the others the beginning of their text. */
  readonly shortened: readonly KeptMember[];
}

/** The text of a member's value, which is strict JSON. */
export interface MemberText {
  readonly text: string;
  /** How many bytes and values it is. */
  readonly bytes: number;
  readonly values: number;
}

/**
 * Keeps what P9.2 names of an answer, as it came up to {@link MAX_KEPT_BYTES} and {@link MAX_KEPT_VALUES} in all.
 *
 * @param memberOf - finds a member of the answer
 * @param shortChecks - what stands for the checks where they are too long
 */
export function keepEvidence(
  memberOf: (name: KeptMember) => MemberText | undefined,
  shortChecks: JsonValue,
): KeptEvidence {
  let [bytes, values] = [MAX_KEPT_BYTES, MAX_KEPT_VALUES];
  const kept: string[] = [];
  const shortened: KeptMember[] = [];
  for (const name of KEPT_MEMBERS) {
    const member = memberOf(name);
    if (member === undefined) continue;
    if (member.bytes <= bytes && member.values <= values) {
      bytes -= member.bytes;
      values -= member.values;
      kept.push(`"${name}":${member.text}`);
    } else {
      shortened.push(name);
      const short = name === "checks" ? shortChecks : `${member.text.slice(0, SHORTENED_LENGTH)}...`;
      kept.push(`"${name}":${JSON.stringify(short)}`);
    }
  }
  return { json: `{${kept.join(",")}}`, shortened };
}

/** The kept members as values, frozen to their depths; `null` where the answer has none. */
export function readKeptEvidence({ json }: KeptEvidence): Readonly<Record<KeptMember, JsonValue>> {
  const kept = JSON.parse(json) as { [name: string]: JsonValue };
  const entries = KEPT_MEMBERS.map((name) => [name, deepFreeze(kept[name] ?? null)] as const);
  return Object.fromEntries(entries) as Record<KeptMember, JsonValue>;
}

/** Freezes JSON data to its depths, which the strict reader bounds. */
function deepFreeze(value: JsonValue): JsonValue {
  if (typeof value === "object" && value !== null) {
    for (const member of Object.values<JsonValue>(value)) deepFreeze(member);
    Object.freeze(value);
  }
  return value;
}
