import { isObject } from "./texts.ts";

/** Members whose pieces make one text. Of every other text the last one counts: some providers repeat them each time. */
const IN_PIECES: ReadonlySet<string> = new Set([
  "arguments",
  "content",
  "reasoning",
  "reasoning_content",
  "refusal",
  "summary",
  "text",
  "thinking",
]);

/**
 * Adds a piece of a streamed message to what there is. Members that chat completions do not prescribe, such as the
 * reasoning of other providers and its signatures, are gathered in the same way, so that they go back as they came.
 *
 * @param whole - what there is; it is changed
 * @param piece - the `delta` of a chunk: remote data
 */
export function mergeDelta(whole: Record<string, unknown>, piece: unknown): void {
  if (!isObject(piece)) return;
  for (const [name, value] of Object.entries(piece)) {
    if (value === undefined || (value === null && Object.hasOwn(whole, name))) continue;
    define(whole, name, merged(name, Object.hasOwn(whole, name) ? whole[name] : undefined, value));
  }
}

function merged(name: string, before: unknown, value: unknown): unknown {
  if (typeof value === "string") {
    if (typeof before !== "string") return value;
    return IN_PIECES.has(name) ? before + value : value === "" ? before : value;
  }
  if (Array.isArray(value)) return mergedList(Array.isArray(before) ? (before as unknown[]) : [], value);
  if (!isObject(value)) return value;
  const object = isObject(before) ? { ...before } : {};
  mergeDelta(object, value);
  return object;
}

/** Items with a position belong to the item of that position; others come behind. */
function mergedList(before: readonly unknown[], pieces: readonly unknown[]): unknown[] {
  const items = [...before];
  for (const piece of pieces) {
    const index = isObject(piece) ? piece["index"] : undefined;
    const at = items.findIndex((item) => isObject(item) && index !== undefined && item["index"] === index);
    if (at === -1) items.push(merged("", undefined, piece));
    else items[at] = merged("", items[at], piece);
  }
  return items;
}

/** Not an assignment: `__proto__` becomes a member like any other. */
function define(object: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}
