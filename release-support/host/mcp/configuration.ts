import { normalizeServerName } from "../../../helpers/binding/names.ts";
import { strip } from "../../../helpers/formats/python_text.ts";
import { fromPlain, tryParse } from "../text/dirty_json.ts";
import type { JsonValue } from "../text/dirty_json.ts";
import { isTruthy, pythonText } from "../text/python_value.ts";
import { remoteTransport } from "./entry_type.ts";
import { splitStdioCommand } from "./stdio_command.ts";

/** One server as the configuration has it: its keys in their order. */
export type ServerEntry = ReadonlyMap<string, JsonValue>;

/** A usable server. Names are normalised; times are seconds. */
export type McpServer = RemoteMcpServer | LocalMcpServer;

interface CommonServer {
  /** The normalised name, possibly empty; several servers may carry one name. */
  readonly name: string;
  readonly description: string;
  /** Tools that are hidden from listing, lookup and calls, trimmed. */
  readonly disabledTools: readonly string[];
  /** How long connecting and listing may take; more than 0, at most a day. */
  readonly initTimeout: number;
  /** How long one call may take; more than 0, at most a day. */
  readonly toolTimeout: number;
  /** Where the entry stands; `null` when the entry itself says something that is no text. */
  readonly scope: string | null;
  /** The entry that this server was read from: what makes one connection differ from another. */
  readonly entry: ServerEntry;
}

/** A server that is reached over the network. */
export interface RemoteMcpServer extends CommonServer {
  readonly kind: "remote";
  /**
   * The very URL that the transport dials: of `url` and `serverUrl` the one that stands last in the entry, even when
   * it is empty (SPEC P5.7). Empty as well where the entry holds something that is no text.
   */
  readonly url: string;
  readonly transport: "streamable_http" | "sse";
  readonly headers: Readonly<Record<string, string>>;
  /** `false` only where the entry says `false`: then certificates are not checked. */
  readonly verify: boolean;
}

/** A server that runs as a process on this machine. */
export interface LocalMcpServer extends CommonServer {
  readonly kind: "local";
  readonly transport: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** An entry that is no usable server, and why, in controlled words. */
export interface DisconnectedServer {
  readonly kind: "disconnected";
  /** The normalised name; `unnamed_server` where the entry has none; what is no text as the framework writes it. */
  readonly name: string;
  readonly reason: string;
  readonly entry: ServerEntry;
}

/** A configuration over which the framework stumbles as a whole: none of its servers can be used. */
export interface UnusableConfiguration {
  readonly kind: "unusable";
  readonly reason: string;
}

/** What {@link mergeServerEntries} made of two scopes. */
export type MergedEntries =
  | { readonly kind: "merged"; readonly entries: readonly ServerEntry[] }
  | UnusableConfiguration;

/** What {@link classifyServers} made of the entries. */
export type ClassifiedServers =
  | {
      readonly kind: "classified";
      /** In lookup order. */
      readonly servers: readonly McpServer[];
      readonly disconnected: readonly DisconnectedServer[];
    }
  | UnusableConfiguration;

/** The framework's own defaults, in seconds. */
const INIT_TIMEOUT = 10;
const TOOL_TIMEOUT = 120;
/** A day: what a timer can still hold. */
const MAX_TIMEOUT = 86_400;

const UNNAMED = "unnamed_server";
/** The framework's own mark of a missing name: a server of this very name counts as one without. */
const NO_NAME = "__not__found__";

/**
 * Reads the entries of one scope: `{"mcpServers": {name: {...}}}`, `{"mcpServers": [{name, ...}]}`, a bare list or a
 * bare single entry (vectors `mcp_config`). What is no object is left out; a text that cannot be read has no entries.
 *
 * @param config - the configuration as text, read as JSON and else tolerantly, or an already parsed JSON value
 * @returns the entries in order; under `mcpServers` named by their keys
 */
export function parseServerEntries(config: unknown): readonly ServerEntry[] {
  const value = typeof config === "string" ? readText(config) : fromPlain(config);
  if (Array.isArray(value)) return value.filter(isEntry);
  if (!isEntry(value)) return [];
  const servers = value.get("mcpServers");
  if (servers === undefined) return [value];
  if (Array.isArray(servers)) return servers.filter(isEntry);
  if (!isEntry(servers)) return [];
  return [...servers].flatMap(([name, server]) => (isEntry(server) ? [withKeys(server, { name })] : []));
}

function readText(text: string): JsonValue {
  try {
    return tryParse(text);
  } catch (error) {
    // As in the framework, a text that even the tolerant reader gives up on configures nothing.
    if (!(error instanceof SyntaxError)) throw error;
    return null;
  }
}

function isEntry(value: JsonValue): value is Map<string, JsonValue> {
  return value instanceof Map;
}

function withKeys(entry: ServerEntry, keys: Readonly<Record<string, string>>): ServerEntry {
  return new Map([...entry, ...Object.entries(keys)]);
}

/**
 * Merges the entries of the global scope and a project's (vectors `mcp_config_merge`): a project's entry replaces the
 * global one of the same normalised name entirely but keeps its place; entries without a name come first and are
 * never merged. Each comes out with its `scope` set, its `name` normalised.
 */
export function mergeServerEntries(
  globalEntries: readonly ServerEntry[],
  projectEntries: readonly ServerEntry[],
): MergedEntries {
  const unnamed: ServerEntry[] = [];
  const named = new Map<string, ServerEntry>();
  const scoped = [
    ...globalEntries.map((entry) => withKeys(entry, { scope: "global" })),
    ...projectEntries.map((entry) => withKeys(entry, { scope: "project" })),
  ];
  for (const entry of scoped) {
    const name = entry.get("name");
    if (typeof name === "object" && name !== null && !isTruthy(name)) {
      return { kind: "unusable", reason: "a server's name is an empty list or object" };
    }
    const key = mergeName(name);
    if (key === null) unnamed.push(entry);
    else named.set(key, withKeys(entry, { name: key }));
  }
  return { kind: "merged", entries: [...unnamed, ...named.values()] };
}

/** The name under which an entry is merged, or `null` for one that counts as unnamed. */
function mergeName(name: JsonValue | undefined): string | null {
  if (name === undefined || !isTruthy(name)) return null;
  const text = pythonText(name);
  return strip(text) === "" ? null : normalizeServerName(text);
}

/**
 * Tells the names that are ambiguous whatever is merged: those that two or more entries of one scope carry, not
 * counting disabled ones (SPEC P5.1). A project's entry that replaces one global entry is no collision.
 */
export function collidingNames(
  globalEntries: readonly ServerEntry[],
  projectEntries: readonly ServerEntry[],
): ReadonlySet<string> {
  return new Set([globalEntries, projectEntries].flatMap(repeatedNames));
}

function repeatedNames(entries: readonly ServerEntry[]): string[] {
  const seen = new Set<string>();
  const repeated: string[] = [];
  for (const entry of entries) {
    const name = isTruthy(entry.get("disabled")) ? null : mergeName(entry.get("name"));
    if (name === null) continue;
    if (seen.has(name)) repeated.push(name);
    seen.add(name);
  }
  return repeated;
}

/**
 * Sorts entries into usable servers and refused ones (vectors `mcp_config`). Whether a server is remote depends only
 * on a true `url` or `serverUrl`, never on its `type`. Servers that end up with one name are all kept.
 *
 * @param entries - those of one scope, or merged ones
 */
export function classifyServers(entries: readonly ServerEntry[]): ClassifiedServers {
  const read = entries.map(readEntry);
  const unusable = read.find((one) => one.kind === "unusable");
  if (unusable !== undefined) return unusable;
  return {
    kind: "classified",
    servers: read.filter((one) => one.kind === "remote" || one.kind === "local"),
    disconnected: read.filter((one) => one.kind === "disconnected"),
  };
}

function readEntry(entry: ServerEntry): McpServer | DisconnectedServer | UnusableConfiguration {
  const name = entry.get("name");
  const disconnected = (shownName: string, reason: string) =>
    ({ kind: "disconnected", name: shownName, reason, entry }) as const;
  if (isTruthy(entry.get("disabled"))) {
    if (name === undefined) return disconnected(UNNAMED, "Disabled in config");
    if (typeof name === "string") return disconnected(normalizeServerName(name), "Disabled in config");
    return { kind: "unusable", reason: "the name of a disabled server is not a text" };
  }
  if (name === undefined || name === NO_NAME) return disconnected(UNNAMED, "server_name is required");
  if (typeof name !== "string") return disconnected(pythonText(name), "the name is not a text");
  return readServer(entry, normalizeServerName(name));
}

function readServer(entry: ServerEntry, name: string): McpServer {
  const common = {
    name,
    description: textOr(entry.get("description"), ""),
    disabledTools: toolNames(entry.get("disabled_tools")),
    initTimeout: seconds(entry.get("init_timeout"), INIT_TIMEOUT),
    toolTimeout: seconds(entry.get("tool_timeout"), TOOL_TIMEOUT),
    scope: scopeOf(entry),
    entry,
  };
  if (isTruthy(entry.get("url")) || isTruthy(entry.get("serverUrl"))) {
    return {
      ...common,
      kind: "remote",
      url: textOr(dialledUrl(entry), ""),
      transport: remoteTransport(entry),
      headers: textMembers(entry.get("headers")),
      verify: entry.get("verify") !== false,
    };
  }
  const { command, args } = splitStdioCommand({ command: entry.get("command"), args: entry.get("args") });
  return { ...common, kind: "local", transport: "stdio", command, args, env: textMembers(entry.get("env")) };
}

/** Gives the value that the framework dials: `url` and `serverUrl` overwrite each other in the order of their keys. */
export function dialledUrl(entry: ServerEntry): JsonValue | undefined {
  return [...entry].findLast(([key]) => key === "url" || key === "serverUrl")?.[1];
}

function scopeOf(entry: ServerEntry): string | null {
  const scope = entry.get("scope") ?? (entry.has("scope") ? null : "global");
  return typeof scope === "string" ? scope : null;
}

function toolNames(value: JsonValue | undefined): string[] {
  if (!Array.isArray(value)) return [];
  return value.map((name) => strip(pythonText(name))).filter((name) => name !== "");
}

function seconds(value: JsonValue | undefined, fallback: number): number {
  const isPositive = (typeof value === "number" || typeof value === "bigint") && value > 0;
  return isPositive ? Math.min(Number(value), MAX_TIMEOUT) : fallback;
}

function textOr(value: JsonValue | undefined, fallback: string): string {
  return typeof value === "string" ? value : fallback;
}

/** The members that can stand in a header or an environment variable: texts, and numbers and booleans as texts. */
function textMembers(value: JsonValue | undefined): Record<string, string> {
  const members = value instanceof Map ? [...value] : [];
  return Object.fromEntries(
    members
      .filter(([, member]) => member !== null && typeof member !== "object")
      .map(([name, member]) => [name, pythonText(member)]),
  );
}
