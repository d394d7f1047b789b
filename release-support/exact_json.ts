import { randomUUID } from "node:crypto";

/** Marks a text that stands for a number while JSON of this process cannot hold it. Never sent, hence never guessed. */
const MARK = randomUUID();
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, "g");

/** A string, which is passed over, or a number with all that belongs to it. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/gs;
/** Fewer digits than these fit into a double. */
const LONG_INTEGER = /^-?\d{16,}$/;

/**
 * Writes a value as JSON in which a bigint stands with its very digits (SPEC H11).
 *
 * @param value - anything
 * @returns the text; `undefined` for what JSON leaves out, as a function
 * @throws TypeError for what JSON cannot hold: a cycle, a number that is infinite or none. Not a null in its place: who
 *   reads that was never told.
 */
export function writeJson(value: unknown): string | undefined {
  let isMarked = false;
  // The types of the library do not tell that there may be no text.
  const text = JSON.stringify(value, (_, member: unknown) => {
    if (typeof member === "bigint") {
      isMarked = true;
      return `${MARK}${member}`;
    }
    if (typeof member === "number" && !Number.isFinite(member)) {
      throw new TypeError("JSON has no form for a number that is infinite or none");
    }
    return member;
  }) as string | undefined;
  return isMarked ? text?.replace(MARKED, "$1") : text;
}

/**
 * Reads JSON as `JSON.parse` does, but for integers that a double cannot hold exactly: these are bigints (SPEC H11).
 *
 * @throws SyntaxError when the text is no JSON
 */
export function readJson(text: string): unknown {
  const value = JSON.parse(text) as unknown;
  if (!/\d{16}/.test(text)) return value;
  try {
    const marked = text.replace(TOKEN, (token) => (isInexact(token) ? `"${MARK}${token}"` : token));
    return JSON.parse(marked, (_, member: unknown) =>
      typeof member === "string" && member.startsWith(MARK) ? BigInt(member.slice(MARK.length)) : member,
    );
  } catch (error) {
    // Nested so deep that only the reading without a look at each member survives it.
    if (error instanceof RangeError) return value;
    throw error;
  }
}

function isInexact(token: string): boolean {
  return LONG_INTEGER.test(token) && !Number.isSafeInteger(Number(token));
}
