/** An object with its members in the order of the text, whatever their names: `__proto__` and `"1"` are just names. */
export type JsonObject = Map<string, JsonValue>;

/** A value as the emulated framework reads it. Integers that a double cannot hold exactly are bigints. */
export type JsonValue = null | boolean | number | bigint | string | JsonValue[] | JsonObject;

/** What Python's JSON reader made of a text; `not_json` is its syntax error. */
export type PythonJson =
  | { readonly kind: "value"; readonly value: JsonValue }
  | { readonly kind: "not_json" };

// Python stops at 1000 nested calls; its JSON reader spends one a level, and a few belong to whoever called it.
const MAX_DEPTH = 990;

// Python converts no longer integers (`sys.set_int_max_str_digits`); leading zeros count.
const MAX_INTEGER_DIGITS = 4300;

/**
 * Reads JSON as Python's `json.loads` does: `NaN` and infinities are values, the last of repeated members wins,
 * integers are exact (vectors `try_parse`).
 *
 * @param text - any text
 * @throws SyntaxError for an integer of more than 4300 digits and for nesting beyond 990 levels: Python fails there
 *   too, but not with a syntax error
 */
export function readPythonJson(text: string): PythonJson {
  try {
    return { kind: "value", value: new StrictReader(text).document() };
  } catch (error) {
    if (error instanceof NotJson) return { kind: "not_json" };
    throw error;
  }
}

/**
 * What Python's `str.isdigit()` accepts, as the inside of a character class for a pattern with the `u` flag: the
 * decimal digits of all scripts, and superscripts, circled digits and the like, which have no place in a number.
 */
export const DIGIT =
  "\\p{Nd}\\u00b2\\u00b3\\u00b9\\u1369-\\u1371\\u19da\\u2070\\u2074-\\u2079\\u2080-\\u2089\\u2460-\\u2468" +
  "\\u2474-\\u247c\\u2488-\\u2490\\u24ea\\u24f5-\\u24fd\\u24ff\\u2776-\\u277e\\u2780-\\u2788\\u278a-\\u2792" +
  "\\u{10a40}-\\u{10a43}\\u{10e60}-\\u{10e68}\\u{11052}-\\u{1105a}\\u{1f100}-\\u{1f10a}";

const INTEGER = /^[-+]?\d+$/;
const FLOAT = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/;

/**
 * Reads a number as Python's `int` does, or else as its `float` does; digits may be of any script. An integer too
 * long for `int` becomes a float (vectors `dirty_json`, number: 5000 digit int becomes inf).
 *
 * @param text - digits, signs, points and the letter e, in any order
 * @throws SyntaxError when it is no number
 */
export function readPythonNumber(text: string): number | bigint {
  const ascii = toAsciiDigits(text);
  if (INTEGER.test(ascii) && !isLong(ascii)) return toInteger(ascii);
  if (FLOAT.test(ascii)) return Number(ascii);
  throw new SyntaxError("A value begins like a number but is none. Put it in quotes.");
}

/** Replaces the decimal digits of all scripts by those of ASCII, as Python's `int` and `float` do. */
export function toAsciiDigits(text: string): string {
  return text.replace(/[^\0-\x7f]/gu, (char) => (isDecimal(char) ? decimalValue(char) : char));
}

function isDecimal(char: string): boolean {
  return /^\p{Nd}$/u.test(char);
}

function decimalValue(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let first = code;
  // Unicode encodes the digits of a script in order and without a gap, and no digit stands right before a zero but
  // the nine of another ten.
  while (isDecimal(String.fromCodePoint(first - 1))) first -= 1;
  return String((code - first) % 10);
}

function isLong(integer: string): boolean {
  return integer.replace(/^[-+]/, "").length > MAX_INTEGER_DIGITS;
}

function toInteger(text: string): number | bigint {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) return BigInt(text);
  return number === 0 ? 0 : number; // Integers have no negative zero.
}

const WHITE_SPACE = /[ \t\n\r]*/y;
const STRING = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
const WORD = /true|false|null|NaN|-?Infinity/y;
const WORDS: ReadonlyMap<string, JsonValue> = new Map<string, JsonValue>([
  ["true", true],
  ["false", false],
  ["null", null],
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
]);

class NotJson extends Error {}

/** A recursive-descent reader over one text; its depth is bounded, so its recursion is. */
class StrictReader {
  #at = 0;
  #depth = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  document(): JsonValue {
    this.#take(WHITE_SPACE);
    const value = this.#value();
    this.#take(WHITE_SPACE);
    if (this.#at < this.#text.length) throw new NotJson();
    return value;
  }

  #value(): JsonValue {
    const char = this.#text.charAt(this.#at);
    if (char === '"') return this.#string();
    if (char !== "{" && char !== "[") return this.#wordOrNumber();
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) {
      throw new SyntaxError(`The text nests more than ${MAX_DEPTH} levels deep. Nest it less.`);
    }
    const value = char === "{" ? this.#object() : this.#array();
    this.#depth -= 1;
    return value;
  }

  #object(): JsonObject {
    const object: JsonObject = new Map();
    this.#require("{");
    if (this.#skip("}")) return object;
    do {
      const name = this.#string();
      this.#require(":");
      object.set(name, this.#value());
    } while (this.#skip(","));
    this.#require("}");
    return object;
  }

  #array(): JsonValue[] {
    const array: JsonValue[] = [];
    this.#require("[");
    if (this.#skip("]")) return array;
    do array.push(this.#value());
    while (this.#skip(","));
    this.#require("]");
    return array;
  }

  #string(): string {
    const literal = this.#take(STRING);
    if (literal === "") throw new NotJson();
    return JSON.parse(literal) as string;
  }

  #wordOrNumber(): JsonValue {
    const word = WORDS.get(this.#take(WORD));
    if (word !== undefined) return word;
    const number = this.#take(NUMBER);
    if (number === "") throw new NotJson();
    if (!INTEGER.test(number)) return Number(number);
    if (isLong(number)) {
      throw new SyntaxError(`An integer has more than ${MAX_INTEGER_DIGITS} digits. Write a shorter one.`);
    }
    return toInteger(number);
  }

  #require(char: string): void {
    if (!this.#skip(char)) throw new NotJson();
  }

  /** Passes over a character, with the white space on both sides of it, if it is the next one. */
  #skip(char: string): boolean {
    this.#take(WHITE_SPACE);
    if (this.#text.charAt(this.#at) !== char) return false;
    this.#at += 1;
    this.#take(WHITE_SPACE);
    return true;
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const taken = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += taken.length;
    return taken;
  }
}
