/**
 * Copies JSON data and freezes the copy to its depths, so that nobody who gets it can change what others see.
 *
 * @param value - JSON data; what JSON cannot hold is left out, as `JSON.stringify` does
 * @throws TypeError for a value without a JSON form, such as a cycle or a bigint
 */
export function frozenJson(value: unknown): unknown {
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError("expected JSON data");
  return JSON.parse(text, (_name, member: unknown) => Object.freeze(member)) as unknown;
}
