import { isDeepStrictEqual } from "node:util";

import type { JsonValue } from "../../host/text/dirty_json.ts";
import { classifyServers, dialledUrl, parseServerEntries } from "../../host/mcp/configuration.ts";
import type { DisconnectedServer, McpServer, ServerEntry } from "../../host/mcp/configuration.ts";
import { mark } from "./dirty_json.ts";
import { isSameAnswer } from "../runner.ts";
import type { Port } from "../runner.ts";

interface Refusal {
  readonly name: unknown;
  readonly error: unknown;
}

interface Answer {
  readonly parsed: unknown;
  readonly determined_types: unknown;
  readonly servers: unknown;
  readonly disconnected: readonly Refusal[] | { readonly error: unknown };
}

export default {
  run({ config }: { config: unknown }): Answer {
    const entries = parseServerEntries(config);
    const classified = classifyServers(entries);
    const isUsable = classified.kind === "classified";
    return {
      parsed: entries.map((entry) => mark(new Map(entry))),
      determined_types: entries.map(guessedType),
      servers: isUsable ? classified.servers.map(shownServer) : { error: classified.reason },
      disconnected: isUsable ? classified.disconnected.map(shownRefusal) : { error: classified.reason },
    };
  },
  // The comparison of the runner takes any object with an `error` for an error, so refusals are looked at here.
  agrees(got, expected: Answer) {
    return (
      isSameAnswer(got, expected) && areSameRefusals((got as Answer).disconnected, expected.disconnected)
    );
  },
} satisfies Port;

function areSameRefusals(got: Answer["disconnected"], expected: Answer["disconnected"]): boolean {
  if (!isList(got) || !isList(expected)) return true;
  return expected.every(({ name, error }, index) => {
    const other = got[index];
    return isDeepStrictEqual(other?.name, name) && (error === true || other?.error === error);
  });
}

function isList(refusals: Answer["disconnected"]): refusals is readonly Refusal[] {
  return Array.isArray(refusals);
}

/** The vectors show type, URL and scope as the entry has them, whatever their JSON type. */
function shownServer({ kind, name, disabledTools, entry }: McpServer): unknown {
  const url = kind === "remote" ? (dialledUrl(entry) ?? null) : null;
  return {
    name,
    class: kind,
    type: mark(valueOr(entry, "type", kind === "remote" ? "sse" : "stdio")),
    url: mark(url),
    scope: mark(valueOr(entry, "scope", "global")),
    disabled_tools: disabledTools,
  };
}

/** So do they with a name that is no text. */
function shownRefusal({ name, reason, entry }: DisconnectedServer): Refusal {
  const configured = entry.get("name") ?? null;
  const isText = typeof configured === "string" || !entry.has("name");
  return { name: isText ? name : mark(configured), error: reason };
}

function valueOr(entry: ServerEntry, key: string, fallback: string): JsonValue {
  return entry.has(key) ? (entry.get(key) ?? null) : fallback;
}

/** The framework's separate guess by `type`, which its own classification does not use, nor anything here. */
function guessedType(entry: ServerEntry): unknown {
  const type = valueOr(entry, "type", "");
  if (typeof type !== "string") return { error: "the type is not a text" };
  if (/^(?:sse|http-stream|streaming-http|streamable-http|http-streaming)$/i.test(type))
    return "MCPServerRemote";
  if (/^stdio$/i.test(type)) return "MCPServerLocal";
  return entry.has("url") || entry.has("serverUrl") ? "MCPServerRemote" : "MCPServerLocal";
}
