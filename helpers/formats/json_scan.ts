import { isUtf8 } from "node:buffer";

/**
 * Why a text is not strict JSON. `syntax` ends the reading; the other problems are noted, the first of them counts, and the
 * reading goes on.
 */
export type JsonProblem = "syntax" | "utf8" | "duplicate_member" | "constant" | "depth" | "values";

/** How much a text may ask of its reader, beside its length. */
export interface JsonBounds {
  /** How deep arrays and objects may nest; the outermost value is level 1. */
  readonly maxDepth: number;
  /** How many values there may be, those in arrays and objects and these themselves counted. */
  readonly maxValues: number;
}

/** Where a member of the outermost object has its value. */
export interface JsonMember {
  /** The first byte of the value and the one behind it. */
  readonly start: number;
  readonly end: number;
  /** How many values it is, itself counted. */
  readonly values: number;
}

/**
 * Holds a text against strict JSON without making a value of it: what it costs is a pass over its bytes and, until a
 * problem is found, the names of the objects that are open (SPEC P2.2, P7.2, G5; RFC 8259).
 *
 * @param bytes - one JSON document, of anyone
 * @param onMember - is told each member of the outermost object, as often as it occurs and whatever problem was noted
 *   (SPEC P8.1 needs them); of no meaning when the result is `syntax`
 * @returns what is wrong with the text, or `null`; never throws by itself
 */
export function scanJson(
  bytes: Uint8Array,
  bounds: JsonBounds,
  onMember: (name: string, member: JsonMember) => void = () => undefined,
): JsonProblem | null {
  return new Scanner(bytes, bounds, onMember).document();
}

const [TAB, LINE_FEED, RETURN, SPACE] = [0x09, 0x0a, 0x0d, 0x20];
const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const [PLUS, MINUS, POINT, ZERO, NINE] = [0x2b, 0x2d, 0x2e, 0x30, 0x39];
const [UPPER_E, UPPER_I, UPPER_N, LOWER_E, LOWER_U] = [0x45, 0x49, 0x4e, 0x65, 0x75];
const ESCAPES: ReadonlySet<number | undefined> = new Set(Buffer.from('"\\/bfnrt'));
/** The words by their first byte, and the constants, which other readers take for numbers. */
const WORDS = new Map(["true", "false", "null"].map((word) => [word.charCodeAt(0), Buffer.from(word)]));
const CONSTANTS = ["NaN", "Infinity", "-Infinity"].map((word) => Buffer.from(word));

/** A shorter number without exponent is finite. */
const MAX_FINITE_DIGITS = 308;

class NotJson extends Error {}

/**
 * A recursive descent over bytes; its depth is bounded, so its recursion is. A byte order mark and whatever else is not
 * ASCII is a syntax error outside of a string like any other stray byte.
 */
class Scanner {
  #at = 0;
  #depth = 0;
  #values = 0;
  #problem: JsonProblem | null;
  readonly #bytes: Buffer;
  readonly #bounds: JsonBounds;
  readonly #onMember: (name: string, member: JsonMember) => void;
  /** The names of the open objects, by their level. */
  readonly #names: Set<string>[] = [];

  constructor(bytes: Uint8Array, bounds: JsonBounds, onMember: (name: string, member: JsonMember) => void) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#bounds = bounds;
    this.#onMember = onMember;
    this.#problem = isUtf8(bytes) ? null : "utf8";
  }

  document(): JsonProblem | null {
    try {
      this.#value();
      this.#skipWhiteSpace();
      if (this.#at < this.#bytes.length) throw new NotJson();
      return this.#problem;
    } catch (error) {
      if (!(error instanceof NotJson)) throw error;
      return "syntax";
    }
  }

  #value(): void {
    this.#skipWhiteSpace();
    this.#values += 1;
    if (this.#values > this.#bounds.maxValues) this.#problem ??= "values";
    switch (this.#bytes[this.#at]) {
      case OPEN_OBJECT:
        return this.#isTooDeep() ? this.#skipNested() : this.#object();
      case OPEN_ARRAY:
        return this.#isTooDeep() ? this.#skipNested() : this.#array();
      case QUOTE:
        this.#string();
        return;
      default:
        return this.#scalar();
    }
  }

  #isTooDeep(): boolean {
    if (this.#depth < this.#bounds.maxDepth) return false;
    this.#problem ??= "depth";
    return true;
  }

  #object(): void {
    this.#at += 1;
    this.#depth += 1;
    this.#skipWhiteSpace();
    if (this.#bytes[this.#at] !== CLOSE_OBJECT) {
      do this.#member();
      while (this.#goesOn(CLOSE_OBJECT));
      this.#names[this.#depth]?.clear();
    } else this.#at += 1;
    this.#depth -= 1;
  }

  #array(): void {
    this.#at += 1;
    this.#depth += 1;
    this.#skipWhiteSpace();
    if (this.#bytes[this.#at] !== CLOSE_ARRAY) {
      do this.#value();
      while (this.#goesOn(CLOSE_ARRAY));
    } else this.#at += 1;
    this.#depth -= 1;
  }

  /** Passes over what stands behind an item: a comma, or the end of the list. */
  #goesOn(close: number): boolean {
    this.#skipWhiteSpace();
    const byte = this.#bytes[this.#at];
    if (byte !== COMMA && byte !== close) throw new NotJson();
    this.#at += 1;
    return byte === COMMA;
  }

  #member(): void {
    this.#skipWhiteSpace();
    const nameStart = this.#at;
    const escaped = this.#string();
    const isOutermost = this.#depth === 1;
    const name = isOutermost || this.#problem === null ? this.#quotedName(nameStart, escaped) : "";
    if (this.#problem === null) this.#noteName(name);
    this.#skipWhiteSpace();
    if (this.#bytes[this.#at] !== COLON) throw new NotJson();
    this.#at += 1;
    this.#skipWhiteSpace();
    const [start, before] = [this.#at, this.#values];
    this.#value();
    if (isOutermost) this.#onMember(name.slice(1), { start, end: this.#at, values: this.#values - before });
  }

  /**
   * The name behind its opening quote, which makes it a text that never looks like a number: numbers as texts have hashes
   * that anyone can make collide.
   */
  #quotedName(start: number, escaped: boolean): string {
    if (!escaped) return this.#bytes.toString("utf8", start, this.#at - 1);
    return `"${JSON.parse(this.#bytes.toString("utf8", start, this.#at)) as string}`;
  }

  #noteName(name: string): void {
    const names = (this.#names[this.#depth] ??= new Set());
    if (names.has(name)) this.#problem ??= "duplicate_member";
    names.add(name);
  }

  /** @returns whether the string has escapes */
  #string(): boolean {
    if (this.#bytes[this.#at] !== QUOTE) throw new NotJson();
    let at = this.#at + 1;
    let escaped = false;
    for (let byte = this.#bytes[at]; byte !== QUOTE; byte = this.#bytes[at]) {
      if (byte === undefined || byte < SPACE) throw new NotJson();
      if (byte === BACKSLASH) {
        escaped = true;
        at = this.#escapeEnd(at + 1);
      } else at += 1;
    }
    this.#at = at + 1;
    return escaped;
  }

  #escapeEnd(at: number): number {
    const byte = this.#bytes[at];
    if (ESCAPES.has(byte)) return at + 1;
    if (byte !== LOWER_U) throw new NotJson();
    for (let digit = at + 1; digit <= at + 4; digit += 1) {
      if (!isHexDigit(this.#bytes[digit])) throw new NotJson();
    }
    return at + 5;
  }

  #scalar(): void {
    const first = this.#bytes[this.#at];
    if (first === MINUS || isDigit(first)) return this.#number();
    if (first === UPPER_N || first === UPPER_I) return this.#constant();
    const word = first === undefined ? undefined : WORDS.get(first);
    if (word === undefined || !this.#takes(word)) throw new NotJson();
  }

  #constant(): void {
    if (!CONSTANTS.some((word) => this.#takes(word))) throw new NotJson();
    this.#problem ??= "constant";
  }

  #number(): void {
    const start = this.#at;
    if (this.#bytes[start] === MINUS) {
      if (this.#bytes[start + 1] === UPPER_I) return this.#constant();
      this.#at += 1;
    }
    if (this.#bytes[this.#at] === ZERO) this.#at += 1;
    else this.#digits();
    if (this.#bytes[this.#at] === POINT) {
      this.#at += 1;
      this.#digits();
    }
    const letter = this.#bytes[this.#at];
    const hasExponent = letter === LOWER_E || letter === UPPER_E;
    if (hasExponent) {
      this.#at += 1;
      const sign = this.#bytes[this.#at];
      if (sign === PLUS || sign === MINUS) this.#at += 1;
      this.#digits();
    }
    if (this.#problem !== null || !(hasExponent || this.#at - start > MAX_FINITE_DIGITS)) return;
    // A number too large for a double would read as an infinity.
    if (!Number.isFinite(Number(this.#bytes.toString("latin1", start, this.#at)))) this.#problem = "constant";
  }

  #digits(): void {
    const start = this.#at;
    for (let byte = this.#bytes[start]; isDigit(byte); byte = this.#bytes[this.#at]) this.#at += 1;
    if (this.#at === start) throw new NotJson();
  }

  #takes(word: Buffer): boolean {
    for (let index = 0; index < word.length; index += 1) {
      if (this.#bytes[this.#at + index] !== word[index]) return false;
    }
    this.#at += word.length;
    return true;
  }

  /** Passes over a value that is nested too deep, by its brackets alone: no recursion, whatever it holds. */
  #skipNested(): void {
    let open = 0;
    do {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) throw new NotJson();
      if (byte === QUOTE) {
        this.#string();
        continue;
      }
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) open += 1;
      if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) open -= 1;
      this.#at += 1;
    } while (open > 0);
  }

  #skipWhiteSpace(): void {
    let byte = this.#bytes[this.#at];
    while (byte === SPACE || byte === LINE_FEED || byte === RETURN || byte === TAB) {
      this.#at += 1;
      byte = this.#bytes[this.#at];
    }
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

function isHexDigit(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  const letter = byte | 0x20;
  return isDigit(byte) || (letter >= 0x61 && letter <= 0x66);
}
