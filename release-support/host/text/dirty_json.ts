import { strip } from "../../../helpers/formats/python_text.ts";
import { DIGIT, readPythonJson, readPythonNumber, toAsciiDigits } from "./python_json.ts";
import type { JsonObject, JsonValue } from "./python_json.ts";

export type { JsonObject, JsonValue } from "./python_json.ts";

/** How deep the tolerant reader goes: Python's limit of 1000 calls, of which the framework spends three a level. */
export const MAX_DEPTH = 320;

/** How far one object of a text was read: `closed` says whether its own closing brace was found, just before `end`. */
export interface RootReading {
  readonly closed: boolean;
  readonly end: number;
}

/**
 * Reads text that is meant to be JSON but need not be: prose around it, comments, loose quotes, missing commas, a
 * cut-off end (SPEC H6; vectors `dirty_json`).
 *
 * @param text - any text
 * @returns the value of the first thing that looks like one; null for an empty text
 * @throws SyntaxError where the framework raises: a run of digits and signs that is no number, a text that ends just
 *   behind a bracket of the wrong kind, nesting beyond {@link MAX_DEPTH} levels
 */
export function parseDirtyJson(text: string): JsonValue {
  const start = text.search(/[{["]/);
  return new DirtyReader(new DirtyText(text), Math.max(start, 0)).value();
}

/**
 * Reads JSON as Python does, and anything that is not even that as {@link parseDirtyJson} does (SPEC H6; vectors
 * `try_parse`).
 *
 * @param text - any text
 * @throws SyntaxError as {@link parseDirtyJson} and {@link readPythonJson} do. What the latter refuses is not tried
 *   again: the framework turns to the tolerant reading only where the text is no JSON.
 */
export function tryParse(text: string): JsonValue {
  const strict = readPythonJson(text);
  return strict.kind === "value" ? strict.value : parseDirtyJson(text);
}

/**
 * Reads the object whose opening brace is at a place in a text, to learn where it ends. Never throws.
 *
 * @param source - the text; reading several of its objects from one `DirtyText` shares what was looked up before
 * @param start - index of a `{`
 */
export function readRoot(source: DirtyText, start: number): RootReading {
  const reader = new DirtyReader(source, start);
  try {
    reader.value();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return { closed: reader.closed, end: reader.at };
}

/**
 * Takes over an already parsed value in the form that the tolerant reader gives; the counterpart of {@link toPlain}. What
 * JSON does not have becomes null.
 */
export function fromPlain(value: unknown): JsonValue {
  if (Array.isArray(value)) return value.map(fromPlain);
  if (value instanceof Map)
    return new Map([...value].map(([key, member]) => [String(key), fromPlain(member)]));
  if (typeof value === "object" && value !== null) {
    return new Map(Object.entries(value).map(([key, member]) => [key, fromPlain(member)]));
  }
  const isScalar = ["string", "number", "bigint", "boolean"].includes(typeof value);
  return isScalar ? (value as JsonValue) : null;
}

/**
 * Turns a value into ordinary JavaScript data. Objects get no prototype, and a member `__proto__` is a member like
 * any other; integer-like names move to the front, as JavaScript has it. Bigints stay bigints.
 */
export function toPlain(value: JsonValue): unknown {
  if (Array.isArray(value)) return value.map(toPlain);
  if (!(value instanceof Map)) return value;
  const plain = Object.create(null) as object;
  for (const [name, member] of value) {
    Object.defineProperty(plain, name, {
      value: toPlain(member),
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
  return plain;
}

const NUMBER_START = new RegExp(`[-+${DIGIT}]`, "uy");
const NUMBER_RUN = new RegExp(`[-+.eE${DIGIT}]*`, "uy");
const WORD = /true|false|null|undefined/iy;
const UNQUOTED_VALUE = /[^:,}\]]*/y;
const UNICODE_ESCAPE = /[\p{L}\p{N}]{0,4}/uy;
const STRING_RUN = /[^"'`\\]*/y;
const QUOTES: ReadonlySet<string> = new Set(['"', "'", "`"]);
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ...['"', "'", "\\", "/"].map((char) => [char, char] as const),
  ...([
    ["b", "\b"],
    ["f", "\f"],
    ["n", "\n"],
    ["r", "\r"],
    ["t", "\t"],
  ] as const),
]);
const ENDS_VALUE: ReadonlySet<string> = new Set([",", "}", "]"]);
const ENDS_KEY: ReadonlySet<string> = new Set([":", ",", "}", "]"]);
const ENDS_KEY_SEARCH: ReadonlySet<string> = new Set(["\n", "\r", "{", "}", "[", "]", ","]);

/**
 * A text to read tolerantly, with the answers to "what comes behind the padding here?", which readers ask at every
 * quote. They are worked out once for each place, so that no text makes a reader slow.
 */
export class DirtyText {
  readonly text: string;
  readonly #paddingEnds: Int32Array;
  readonly #keyStarts = new Map<number, boolean>();

  constructor(text: string) {
    this.text = text;
    this.#paddingEnds = findPaddingEnds(text);
  }

  /** The first place from `at` on that is neither white space nor in a comment; the text's length if there is none. */
  skipPadding(at: number): number {
    return this.#paddingEnds[at] ?? this.text.length;
  }

  /** Whether a quoted key and its colon begin at a place, so that a comma is missing before it. */
  startsKey(at: number): boolean {
    let answer = this.#keyStarts.get(at);
    if (answer === undefined) {
      answer = this.#findsKey(at);
      this.#keyStarts.set(at, answer);
    }
    return answer;
  }

  #findsKey(start: number): boolean {
    const quote = this.text.charAt(start);
    if (quote !== '"' && quote !== "'") return false;
    for (let at = start + 1; at < this.text.length; at += 1) {
      const char = this.text.charAt(at);
      if (char === "\\") at += 1;
      else if (char === quote) return this.text.charAt(this.skipPadding(at + 1)) === ":";
      else if (ENDS_KEY_SEARCH.has(char)) return false;
    }
    return false;
  }
}

function findPaddingEnds(text: string): Int32Array {
  const ends = new Int32Array(text.length + 1).fill(text.length);
  let lineEnd = text.length;
  let commentEnd = text.length;
  // Backwards, so that where a piece of padding ends it is known what follows.
  for (let at = text.length - 1; at >= 0; at -= 1) {
    const char = text.charAt(at);
    if (char === "\n") lineEnd = at;
    if (text.startsWith("*/", at + 2)) commentEnd = at + 4;
    if (isSpace(char)) ends[at] = ends[at + 1] ?? text.length;
    else if (text.startsWith("//", at)) ends[at] = ends[lineEnd] ?? text.length;
    else if (text.startsWith("/*", at)) ends[at] = ends[commentEnd] ?? text.length;
    else ends[at] = at;
  }
  return ends;
}

function isSpace(char: string): boolean {
  return strip(char) === "";
}

/** Reads one value of a text, as the framework's tolerant parser does. */
class DirtyReader {
  at: number;
  /** Whether the outermost object was closed by its brace, rather than by the end of the text. */
  closed = false;
  readonly #source: DirtyText;
  readonly #text: string;
  // The objects and arrays being read. A value goes into the innermost one. That matters where the text ends just
  // behind an opening bracket or a member's comma: what ended there stays open, and swallows itself.
  readonly #open: (JsonObject | JsonValue[])[] = [];

  constructor(source: DirtyText, start: number) {
    this.#source = source;
    this.#text = source.text;
    this.at = start;
  }

  value(): JsonValue {
    this.#skipPadding();
    const char = this.#char();
    if (char === "") return null;
    if (char === "{") return this.#object();
    if (char === "[") return this.#array();
    if (QUOTES.has(char)) {
      return this.#text.startsWith(char.repeat(3), this.at) ? this.#tripleQuoted(char) : this.#string(false);
    }
    if (this.#sees(NUMBER_START)) return readPythonNumber(this.#take(NUMBER_RUN));
    return this.#wordOrText();
  }

  #object(): JsonObject {
    const object: JsonObject = new Map();
    // A doubled brace around the whole counts as one. The framework skips a character too many behind it: a quoted
    // first key loses its opening quote.
    if (this.#open.length === 0 && this.#text.startsWith("{{", this.at)) this.at += 2;
    this.at += this.#codePoint().length;
    this.#enter(object);
    while (!this.#isAtEnd()) {
      this.#skipPadding();
      if (this.#char() === "}") {
        this.#closeObject();
        break;
      }
      const isLast = this.#isAtEnd() || this.#member();
      if (isLast) {
        this.#open.pop();
        break;
      }
    }
    return object;
  }

  /** Reads a member and the comma behind it, if any. Only the end of the text tells that there is no next. */
  #member(): boolean {
    const key = this.#key();
    this.#skipPadding();
    // Without a colon the value follows all the same; a separator there is eaten as the end of an empty text.
    if (this.#char() === ":") this.at += 1;
    const value = this.value();
    const target = this.#open.at(-1);
    if (!(target instanceof Map)) throw endsInside();
    target.set(key, value);
    this.#skipPadding();
    if (this.#char() !== ",") return this.#isAtEnd();
    this.at += 1;
    return false;
  }

  #closeObject(): void {
    // The outermost object accepts one surplus brace.
    this.at += this.#open.length === 1 && this.#text.startsWith("}}", this.at) ? 2 : 1;
    this.#open.pop();
    if (this.#open.length === 0) this.closed = true;
  }

  #array(): JsonValue[] {
    const array: JsonValue[] = [];
    this.at += 1;
    this.#enter(array);
    while (!this.#isAtEnd()) {
      this.#skipPadding();
      if (this.#char() === "]") {
        this.at += 1;
        this.#open.pop();
        break;
      }
      const isLast = this.#item();
      if (isLast) {
        this.#open.pop();
        break;
      }
    }
    return array;
  }

  /** Reads an item and what separates it from the next. Without a comma, and with one at the end, there is no next. */
  #item(): boolean {
    const value = this.value();
    const target = this.#open.at(-1);
    if (!Array.isArray(target)) throw endsInside();
    target.push(value);
    this.#skipPadding();
    if (this.#char() === "]") return false;
    if (this.#char() !== ",") return true;
    this.at += 1;
    this.#skipPadding();
    if (this.#char() === "]") {
      this.at += 1;
      return true;
    }
    return this.#isAtEnd();
  }

  #enter(container: JsonObject | JsonValue[]): void {
    if (this.#open.length >= MAX_DEPTH) {
      throw new SyntaxError(`The text nests more than ${MAX_DEPTH} levels deep. Nest it less.`);
    }
    this.#open.push(container);
  }

  #key(): string {
    if (this.#char() === '"' || this.#char() === "'") return this.#string(true);
    const start = this.at;
    while (!this.#isAtEnd() && !ENDS_KEY.has(this.#char()) && !isSpace(this.#char())) this.at += 1;
    return this.#text.slice(start, this.at);
  }

  #string(isKey: boolean): string {
    const quote = this.#char();
    this.at += 1;
    let content = "";
    let copied = this.at;
    while (!this.#isAtEnd()) {
      this.#take(STRING_RUN);
      const char = this.#char();
      if (char === "\\") {
        content += this.#text.slice(copied, this.at);
        const escape = this.#escape();
        content += escape.content;
        if (escape.endsString) return content;
        copied = this.at;
      } else {
        this.at += char.length;
        if (char === quote && this.#wasClosingQuote(isKey)) {
          return content + this.#text.slice(copied, this.at - 1);
        }
      }
    }
    return content + this.#text.slice(copied);
  }

  /** Judges the quote just read by what follows: writers forget to escape quotes within a text. */
  #wasClosingQuote(isKey: boolean): boolean {
    const next = this.#source.skipPadding(this.at);
    const char = this.#text.charAt(next);
    if (char === "") return true;
    if (isKey) return ENDS_KEY.has(char);
    return ENDS_VALUE.has(char) || (this.#open.at(-1) instanceof Map && this.#source.startsKey(next));
  }

  #escape(): { readonly content: string; readonly endsString: boolean } {
    this.at += 1;
    const char = this.#codePoint();
    this.at += char.length;
    // An escape that JSON does not know vanishes, with its character.
    if (char !== "u") return { content: ESCAPES.get(char) ?? "", endsString: false };
    const digits = this.#take(UNICODE_ESCAPE);
    // With fewer than four letters or digits the string ends here, without its quote.
    if (Array.from(digits).length < 4) return { content: `\\u${digits}`, endsString: true };
    const hex = toAsciiDigits(digits);
    const isHex = /^[0-9a-fA-F]{4}$/.test(hex);
    return {
      content: isHex ? String.fromCharCode(Number.parseInt(hex, 16)) : `\\u${digits}`,
      endsString: false,
    };
  }

  #tripleQuoted(quote: string): string {
    const start = this.at + 3;
    const end = this.#text.indexOf(quote.repeat(3), start);
    this.at = end === -1 ? this.#text.length : end + 3;
    return strip(this.#text.slice(start, end === -1 ? undefined : end));
  }

  #wordOrText(): JsonValue {
    const word = this.#take(WORD).toLowerCase();
    if (word === "true" || word === "false") return word === "true";
    if (word !== "") return null;
    const text = this.#take(UNQUOTED_VALUE);
    // The terminator goes too, so `{a: b}` stays open.
    if (!this.#isAtEnd()) this.at += 1;
    return strip(text);
  }

  #char(): string {
    return this.#text.charAt(this.at);
  }

  #codePoint(): string {
    const code = this.#text.codePointAt(this.at);
    return code === undefined ? "" : String.fromCodePoint(code);
  }

  #isAtEnd(): boolean {
    return this.at >= this.#text.length;
  }

  #skipPadding(): void {
    this.at = this.#source.skipPadding(this.at);
  }

  #sees(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    return pattern.test(this.#text);
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const taken = pattern.exec(this.#text)?.[0] ?? "";
    this.at += taken.length;
    return taken;
  }
}

function endsInside(): SyntaxError {
  return new SyntaxError("The text ends just behind an opening bracket or a comma. Complete it.");
}
