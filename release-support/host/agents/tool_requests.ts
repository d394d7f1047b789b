import { strip } from "../../../helpers/formats/python_text.ts";
import { DirtyText, fromPlain, parseDirtyJson, readRoot, toPlain } from "../text/dirty_json.ts";
import type { JsonObject, JsonValue } from "../text/dirty_json.ts";

/** A tool request in its one usual form. */
export interface NamedCall {
  readonly name: string;
  readonly args: JsonObject;
}

/** What a value is as a tool request: the call it asks for, or why it asks for none. */
export type NormalizedRequest =
  | ({ readonly kind: "request" } & NamedCall)
  | { readonly kind: "unusable"; readonly reason: string };

/**
 * What a message is to the dispatcher: a tool request; a malformed attempt at one, which earns a warning; or neither,
 * which makes it the answer.
 */
export type ToolReading =
  | { readonly kind: "request"; readonly name: string; readonly args: Record<string, unknown> }
  | { readonly kind: "misformatted" }
  | { readonly kind: "none" };

/**
 * Reads a model's message (SPEC H6). Whatever the message is, it does not throw, and takes bounded time.
 *
 * @param message - what the model said
 * @returns the request with its arguments as ordinary data, none of which has a prototype; integers beyond 2^53 - 1
 *   are bigints
 */
export function readToolRequest(message: string): ToolReading {
  const normalized = normalizeToolRequest(extractToolRequest(message));
  if (normalized.kind === "request") return toReading(normalized);
  return { kind: isMisformattedToolRequest(message) ? "misformatted" : "none" };
}

/**
 * Reads a tool request that is an object already, such as an entry of a parallel call.
 *
 * @param value - an object as a model's arguments hold it
 * @returns the request, or `none`
 */
export function readToolRequestObject(value: unknown): ToolReading {
  const normalized = normalizeToolRequest(fromPlain(value));
  return normalized.kind === "request" ? toReading(normalized) : { kind: "none" };
}

function toReading({ name, args }: NamedCall): ToolReading {
  return { kind: "request", name, args: toPlain(args) as Record<string, unknown> };
}

/**
 * The tool request that a message consists of (vectors `tool_request`, extract).
 *
 * @returns the object, when the whole trimmed message is one closed object (a surplus brace at its end is allowed)
 *   and a usable request; else null
 */
export function extractToolRequest(message: string): JsonObject | null {
  const text = strip(message);
  if (!text.startsWith("{")) return null;
  const { closed, end } = readRoot(new DirtyText(text), 0);
  if (!closed || end < text.length) return null;
  const object = parseObject(text);
  return object !== null && isUsable(object) ? object : null;
}

/**
 * The object that a message contains, with anything around it (vectors `tool_request`, first_root).
 *
 * @returns the first object that is a usable request, else the first closed object, else null. A message that begins
 *   with `[` has none.
 */
export function firstRootObject(message: string): JsonObject | null {
  return findRootObject(message, new Allowance());
}

/**
 * Whether a message looks like a tool request that went wrong (vectors `tool_request`, misformatted): a usable
 * request in a code fence, or an object whose thoughts swallowed its other fields.
 */
export function isMisformattedToolRequest(message: string): boolean {
  const text = strip(message);
  const allowance = new Allowance();
  for (const fenced of fencedParts(text)) {
    const object = findRootObject(fenced, allowance);
    if (object !== null && isUsable(object)) return true;
  }
  return startsWithThoughts(text) && thoughtsHoldFields(findRootObject(text, allowance));
}

/**
 * Brings a tool request into its one usual form (vectors `tool_request`, normalized).
 *
 * @param request - what was read; of its aliases the first usable one counts
 * @returns the tool's name, and a copy of its arguments, in which `action` may have been added
 */
export function normalizeToolRequest(request: JsonValue): NormalizedRequest {
  if (!(request instanceof Map)) return unusable("The tool request is not an object.");
  const body = unwrapActions(request);
  if (body === null) return unusable("The list of actions in the tool request must hold exactly one object.");
  const isFunction = body.get("type") === "function";
  const name = ["tool_name", "tool", ...(isFunction ? ["name"] : [])]
    .map((key) => body.get(key))
    .find((value): value is string => typeof value === "string" && value !== "");
  if (name === undefined) return unusable("The tool request needs a text tool_name.");
  const args = ["tool_args", "args", ...(isFunction ? ["parameters"] : [])]
    .map((key) => body.get(key))
    .find((value): value is JsonObject => value instanceof Map);
  if (args === undefined) return unusable("The tool request needs an object tool_args.");
  return withAction(name, new Map(args));
}

function unusable(reason: string): NormalizedRequest {
  return { kind: "unusable", reason };
}

/** The request itself, or what its `actions` wrap; null when they do not hold exactly one object. */
function unwrapActions(request: JsonObject): JsonObject | null {
  const isNamed = isTruthy(request.get("tool_name")) || isTruthy(request.get("tool"));
  const actions = request.get("actions");
  if (isNamed || actions === undefined) return request;
  if (!Array.isArray(actions) || actions.length !== 1) return null;
  return actions[0] instanceof Map ? actions[0] : null;
}

/** Python's notion of truth; no bigint is zero here. */
function isTruthy(value: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Map) return value.size > 0;
  return Number.isNaN(value) || Boolean(value);
}

/** `tool:action` names an action, and so does an argument `method`; an argument `action`, even null, comes first. */
function withAction(fullName: string, args: JsonObject): NormalizedRequest {
  const colon = fullName.indexOf(":");
  const name = colon === -1 ? fullName : fullName.slice(0, colon);
  const action = colon === -1 ? args.get("method") : fullName.slice(colon + 1);
  if (name === "" || (colon !== -1 && action === "")) {
    return unusable("A tool_name with a colon needs a tool before it and an action behind it.");
  }
  if (typeof action === "string" && action !== "" && !args.has("action")) args.set("action", action);
  return { kind: "request", name, args };
}

function isUsable(request: JsonObject): boolean {
  return normalizeToolRequest(request).kind === "request";
}

function parseObject(text: string): JsonObject | null {
  try {
    const value = parseDirtyJson(text);
    return value instanceof Map ? value : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/**
 * How much the search for objects may still read. Every `{` of a message may begin an object that runs on to the end,
 * so an unbounded search takes quadratic time; the framework's does. A message of a few thousand characters never gets
 * there. A search that does finds nothing more, so that no tool runs.
 */
class Allowance {
  #characters = 8 * 1024 * 1024;

  spend(characters: number): void {
    this.#characters -= characters;
  }

  get isSpent(): boolean {
    return this.#characters <= 0;
  }
}

function findRootObject(message: string, allowance: Allowance): JsonObject | null {
  let first: JsonObject | null = null;
  for (const root of closedRoots(strip(message), allowance)) {
    const object = parseObject(root);
    if (object !== null && isUsable(object)) return object;
    first ??= object;
  }
  return first;
}

/** The texts of the objects that are closed by their own brace, as far as the allowance goes. */
function* closedRoots(text: string, allowance: Allowance): Generator<string> {
  if (text.startsWith("[")) return;
  const source = new DirtyText(text);
  for (const start of rootStarts(text)) {
    if (allowance.isSpent) return;
    const { closed, end } = readRoot(source, start);
    allowance.spend(end - start);
    if (!closed) continue;
    allowance.spend(end - start); // It is going to be read once more.
    yield text.slice(start, end);
  }
}

/** The places of the braces outside all other brackets, and outside the quotes within brackets. */
function* rootStarts(text: string): Generator<number> {
  let depth = 0;
  let quote: string | null = null;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (quote !== null) {
      if (char === "\\") at += 1;
      else if (char === quote) quote = null;
    } else if (depth > 0 && (char === '"' || char === "'" || char === "`")) {
      quote = char;
    } else if (char === "{") {
      if (depth === 0) yield at;
      depth += 1;
    } else if (depth > 0 && char === "[") {
      depth += 1;
    } else if (depth > 0 && (char === "}" || char === "]")) {
      depth -= 1;
    }
  }
}

/** What stands between each opening code fence, with or without the word json, and the next fence. */
function* fencedParts(text: string): Generator<string> {
  let end = 0;
  for (;;) {
    const open = text.indexOf("```", end);
    const close = open === -1 ? -1 : text.indexOf("```", open + 3);
    if (close === -1) return;
    yield text.slice(open + 3, close).replace(/^json/iu, "");
    end = close + 3;
  }
}

function startsWithThoughts(text: string): boolean {
  const key = '"thoughts"';
  if (!text.startsWith("{") || !text.endsWith("}")) return false;
  const inside = strip(text.slice(1));
  return inside.startsWith(key) && strip(inside.slice(key.length)).startsWith(":");
}

function thoughtsHoldFields(object: JsonObject | null): boolean {
  const thoughts = object?.get("thoughts");
  if (!Array.isArray(thoughts)) return false;
  const text = thoughts.filter((thought) => typeof thought === "string").join("\n");
  return ["headline", "tool_name", "tool_args"].every((field) => text.includes(`${field}":`));
}
