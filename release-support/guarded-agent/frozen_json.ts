import { readJson, writeJson } from "../exact_json.ts";

/**
 * Copies JSON data and freezes the copy to its depths, so that nobody who gets it can change what others see. Integers
 * stay exact: those that a double cannot hold are bigints (SPEC H11).
 *
 * @param value - JSON data; what JSON cannot hold is left out, as `JSON.stringify` does
 * @throws TypeError for a value without a JSON form, such as a cycle or a number that is infinite; RangeError for one
 * that is nested too deeply
 */
export function frozenJson(value: unknown): unknown {
  const text = writeJson(value);
  if (text === undefined) throw new TypeError("expected JSON data");
  return freeze(readJson(text));
}

function freeze(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  for (const member of Object.values(value)) freeze(member);
  return Object.freeze(value);
}
