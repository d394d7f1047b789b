import { isUtf8 } from "node:buffer";

/** Why a text is not strict JSON. `syntax` ends the reading; the other problems are noted and the reading goes on. */
export type JsonProblem = "syntax" | "utf8" | "duplicate_member" | "constant" | "depth";

/** A value as `JSON.parse` would give it. */
export type JsonValue = null | boolean | number | string | JsonValue[] | { [name: string]: JsonValue };

/**
 * What the strict reader made of some bytes. A refused text still tells the members of its outermost object, each as
 * often as it occurs, as far as the text is JSON at all (SPEC P8.1 needs them).
 */
export type StrictJson =
  | { readonly kind: "value"; readonly value: JsonValue }
  | {
      readonly kind: "refused";
      readonly problem: JsonProblem;
      readonly members: readonly (readonly [name: string, value: JsonValue])[];
    };

/**
 * Reads one JSON document, refusing what readers disagree about: bytes that are not UTF-8, a byte order mark,
 * repeated member names (compared after unescaping), `NaN` and infinities, nesting beyond a bound, anything behind
 * the document (SPEC P2.2, P7.2, G5; RFC 8259).
 *
 * @param bytes - the document
 * @param maxDepth - how deep arrays and objects may nest; the outermost value is level 1
 * @returns the value, or why there is none. Never throws: the bytes may come from anyone.
 */
export function readStrictJson(bytes: Uint8Array, maxDepth = 64): StrictJson {
  // A byte order mark stays in the text, where it is a syntax error like any other stray character.
  const reader = new Reader(Buffer.from(bytes).toString("utf8"), maxDepth);
  if (!isUtf8(bytes)) reader.note("utf8");
  return reader.document();
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;
const WHITE_SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const CONSTANT = /NaN|-?Infinity/y;

class NotJson extends Error {}

/** A recursive-descent reader over one text; its depth is bounded, so its recursion is. */
class Reader {
  #at = 0;
  #depth = 0;
  #problem: JsonProblem | null = null;
  readonly #members: [string, JsonValue][] = [];
  readonly #text: string;
  readonly #maxDepth: number;

  constructor(text: string, maxDepth: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
  }

  /** Remembers the first problem; the reading goes on. */
  note(problem: JsonProblem): void {
    this.#problem ??= problem;
  }

  document(): StrictJson {
    try {
      const value = this.#value();
      this.#skipWhiteSpace();
      if (this.#at < this.#text.length) throw new NotJson();
      if (this.#problem === null) return { kind: "value", value };
      return { kind: "refused", problem: this.#problem, members: this.#members };
    } catch (error) {
      if (!(error instanceof NotJson)) throw error;
      return { kind: "refused", problem: "syntax", members: [] };
    }
  }

  #value(): JsonValue {
    this.#skipWhiteSpace();
    switch (this.#text[this.#at]) {
      case "{":
        return this.#nested(() => this.#object());
      case "[":
        return this.#nested(() => this.#array());
      case '"':
        return this.#string();
      default:
        return this.#scalar();
    }
  }

  #nested(read: () => JsonValue): JsonValue {
    if (this.#depth === this.#maxDepth) {
      this.note("depth");
      return this.#skipNested();
    }
    this.#depth += 1;
    const value = read();
    this.#depth -= 1;
    return value;
  }

  #object(): JsonValue {
    const object: { [name: string]: JsonValue } = {};
    this.#list("{", "}", () => {
      this.#skipWhiteSpace();
      const name = this.#string();
      this.#skipWhiteSpace();
      this.#expect(":");
      const value = this.#value();
      if (Object.hasOwn(object, name)) this.note("duplicate_member");
      if (this.#depth === 1) this.#members.push([name, value]);
      // Not an assignment: `__proto__` must become a member like any other.
      Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
    });
    return object;
  }

  #array(): JsonValue {
    const items: JsonValue[] = [];
    this.#list("[", "]", () => {
      items.push(this.#value());
    });
    return items;
  }

  #list(open: string, close: string, readItem: () => void): void {
    this.#expect(open);
    this.#skipWhiteSpace();
    if (this.#text[this.#at] === close) {
      this.#at += 1;
      return;
    }
    for (;;) {
      readItem();
      this.#skipWhiteSpace();
      if (this.#text[this.#at] === close) break;
      this.#expect(",");
    }
    this.#at += 1;
  }

  /** Finds the end of a string in a loop, which a string of any length survives, and leaves its escapes to JSON.parse. */
  #string(): string {
    const start = this.#at;
    this.#expect('"');
    for (let code = this.#code(); code !== QUOTE; code = this.#code()) {
      // Behind the end of the text the code is NaN, which is not at least anything.
      if (!(code >= FIRST_PRINTABLE)) throw new NotJson();
      this.#at += code === BACKSLASH ? 2 : 1;
    }
    this.#at += 1;
    try {
      return JSON.parse(this.#text.slice(start, this.#at)) as string;
    } catch {
      throw new NotJson();
    }
  }

  #code(): number {
    return this.#text.charCodeAt(this.#at);
  }

  #scalar(): JsonValue {
    const constant = this.#take(CONSTANT);
    if (constant !== null) {
      this.note("constant");
      return null;
    }
    const scalar = this.#take(NUMBER) ?? this.#take(WORD) ?? this.#fail();
    const value = JSON.parse(scalar) as JsonValue;
    // A number too large for a double would read as an infinity.
    if (typeof value === "number" && !Number.isFinite(value)) this.note("constant");
    return value;
  }

  /** Passes over a value that is nested too deep, by its brackets alone: no recursion, whatever it holds. */
  #skipNested(): null {
    let open = 0;
    do {
      const character = this.#text[this.#at];
      if (character === undefined) throw new NotJson();
      if (character === '"') {
        this.#string();
        continue;
      }
      if (character === "{" || character === "[") open += 1;
      if (character === "}" || character === "]") open -= 1;
      this.#at += 1;
    } while (open > 0);
    return null;
  }

  #skipWhiteSpace(): void {
    this.#take(WHITE_SPACE);
  }

  #expect(character: string): void {
    if (this.#text[this.#at] !== character) throw new NotJson();
    this.#at += 1;
  }

  #take(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return null;
    this.#at += match[0].length;
    return match[0];
  }

  #fail(): never {
    throw new NotJson();
  }
}
