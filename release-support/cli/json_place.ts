import { MAX_JSON_DEPTH } from "../../helpers/config/scoped_config.ts";

/** A place in a text, for people: both count from 1, columns in UTF-16 units as editors do. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/** Where a text stops being strict JSON, or names a member again. */
export interface JsonPlace extends TextPlace {
  /** The name of the repeated member if it is plain enough to be shown; `null` for every other problem. */
  readonly repeated: string | null;
}

/** Thrown where the text is no JSON, or none that is accepted. */
class Found extends Error {
  readonly at: number;
  readonly repeated: string | null;

  constructor(at: number, repeated: string | null = null) {
    super();
    this.at = at;
    this.repeated = repeated;
  }
}

const TOKEN = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*"/y;
const SPACE = /[ \t\n\r]*/y;
const PLAIN = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Finds what is wrong with a text that the strict reader refused. It runs only when that is to be shown, apart from the
 * reader, which decides.
 *
 * @param text - the text
 * @returns the first place at fault, or `null` when this scan finds none
 */
export function jsonPlace(text: string): JsonPlace | null {
  try {
    new Scan(text).document();
    return null;
  } catch (error) {
    if (!(error instanceof Found)) throw error;
    const before = text.slice(0, error.at).split("\n");
    return { line: before.length, column: (before.at(-1) ?? "").length + 1, repeated: error.repeated };
  }
}

class Scan {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): void {
    this.#value(0);
    this.#space();
    if (this.#at < this.#text.length) throw new Found(this.#at);
  }

  #value(depth: number): void {
    this.#space();
    const opening = this.#text[this.#at];
    if (opening === '"') this.#take(STRING);
    else if (opening !== "{" && opening !== "[") this.#scalar();
    else if (depth === MAX_JSON_DEPTH) throw new Found(this.#at);
    else if (opening === "{") this.#object(depth + 1);
    else this.#list("]", () => this.#value(depth + 1));
  }

  #scalar(): void {
    const start = this.#at;
    const token = this.#take(TOKEN);
    if (!Number.isFinite(Number(token)) && !/^[tfn]/.test(token)) throw new Found(start);
  }

  #object(depth: number): void {
    const names = new Set<string>();
    this.#list("}", () => {
      this.#space();
      const start = this.#at;
      const name = JSON.parse(this.#take(STRING)) as string;
      if (names.has(name)) throw new Found(start, PLAIN.test(name) ? name : "<a name>");
      names.add(name);
      this.#space();
      this.#expect(":");
      this.#value(depth);
    });
  }

  #list(close: string, item: () => void): void {
    this.#at += 1;
    this.#space();
    if (this.#text[this.#at] === close) {
      this.#at += 1;
      return;
    }
    for (;;) {
      item();
      this.#space();
      if (this.#text[this.#at] === close) break;
      this.#expect(",");
    }
    this.#at += 1;
  }

  #space(): void {
    this.#take(SPACE);
  }

  #expect(character: string): void {
    if (this.#text[this.#at] !== character) throw new Found(this.#at);
    this.#at += 1;
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [taken] = pattern.exec(this.#text) ?? [];
    if (taken === undefined) throw new Found(this.#at);
    this.#at += taken.length;
    return taken;
  }
}
