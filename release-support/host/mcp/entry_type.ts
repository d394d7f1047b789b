import { pythonText } from "../text/python_value.ts";
import type { JsonValue } from "../text/dirty_json.ts";

type Entry = ReadonlyMap<string, JsonValue>;

const STREAMING_TYPES: ReadonlySet<string> = new Set([
  "http-stream",
  "streaming-http",
  "streamable-http",
  "http-streaming",
  // A decided departure (SPEC H5): most other hosts write it so.
  "http",
]);

/** A server as far as its type matters. */
export interface TypedServer {
  readonly kind: "remote" | "local";
  readonly entry: Entry;
}

/** How other hosts call the key that is `type` here; the framework reads none of them. */
const OTHER_KEYS = ["transport", "transportType", "transport_type"];

/**
 * Tells the transport of a remote entry as the framework does: streamable HTTP for a `type` that it knows as that, SSE
 * for every other one, be it misspelt, missing or no text.
 */
export function remoteTransport(entry: Entry): "streamable_http" | "sse" {
  return STREAMING_TYPES.has(typeWord(entry) ?? "") ? "streamable_http" : "sse";
}

/**
 * Says of an entry whose type the host does not know what becomes of it (SPEC H12): a common spelling of another host
 * would otherwise be taken for another transport without a word.
 *
 * @returns a warning in controlled words, or `null`
 */
export function typeWarning({ kind, entry }: TypedServer): string | null {
  const becomes = kind === "remote" ? "it is dialled as SSE" : "it is started as a local process";
  const type = entry.get("type");
  if (type !== undefined && type !== null && type !== "")
    return isKnown(entry, kind) ? null : `its type is not known: ${becomes}`;
  const other = OTHER_KEYS.find((key) => says(entry, key, kind));
  return other === undefined ? null : `it says ${other}, which is not read: ${becomes}; write type`;
}

function isKnown(entry: Entry, kind: TypedServer["kind"]): boolean {
  const word = typeWord(entry);
  if (word === null) return false;
  return kind === "remote" ? word === "sse" || STREAMING_TYPES.has(word) : word === "stdio";
}

/** Whether a key that is not read says something else than what happens anyway. */
function says(entry: Entry, key: string, kind: TypedServer["kind"]): boolean {
  const value = entry.get(key);
  if (value === undefined || value === null) return false;
  return pythonText(value).toLowerCase() !== (kind === "remote" ? "sse" : "stdio");
}

function typeWord(entry: Entry): string | null {
  const type = entry.get("type");
  return typeof type === "string" ? type.toLowerCase() : null;
}
