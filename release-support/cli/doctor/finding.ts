import type { Finding } from "../output_schemas.ts";

/**
 * A finding for which the exit code is 1.
 *
 * @param code - for programs
 * @param words - what is wrong, in a sentence
 * @param remedy - what to do, without a full stop
 */
export function problem(code: string, words: string, remedy: string): Finding {
  return { level: "problem", code, words, remedy };
}

/** A finding that leaves the exit code as it is; see {@link problem}. */
export function warning(code: string, words: string, remedy: string): Finding {
  return { level: "warning", code, words, remedy };
}
