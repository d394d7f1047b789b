/** The own members of a JSON object by name: nothing that a prototype lends. */
export type JsonObject = ReadonlyMap<string, unknown>;

/**
 * Reads JSON as the service does: leniently about repeated names, strictly about UTF-8 (a byte order mark aside).
 *
 * @param source - a whole document, as bytes or as text; it comes from anyone
 * @returns its value, or `undefined` when it is no JSON
 */
export function parseJson(source: Uint8Array | string): unknown {
  try {
    const text =
      typeof source === "string" ? source : new TextDecoder("utf-8", { fatal: true }).decode(source);
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @returns the members of a JSON object; `null` for every other value */
export function asObject(value: unknown): JsonObject | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  return new Map<string, unknown>(Object.entries(value));
}
