import { shown } from "../../terminal/text.ts";

/** A piece of a page that is ready to be written. Only this module makes any, so that no text gets in unescaped. */
export class Markup {
  readonly #html: string;

  private constructor(text: string) {
    this.#html = text;
  }

  toString(): string {
    return this.#html;
  }

  /** Joins pieces: {@link html} escapes what is no piece already. */
  static join(strings: readonly string[], values: readonly MarkupValue[]): Markup {
    const rest = strings.slice(1).map((text, index) => asHtml(values[index] ?? "") + text);
    return new Markup(`${strings[0] ?? ""}${rest.join("")}`);
  }
}

/** What a template takes: texts and numbers are escaped, pieces and lists of them stay. */
export type MarkupValue = string | number | Markup | readonly Markup[];

/**
 * A template of a page. A text in it is shown as text whatever it holds: it can neither end an element or an attribute
 * nor reorder what stands around it.
 */
export function html(strings: TemplateStringsArray, ...values: readonly MarkupValue[]): Markup {
  return Markup.join(strings, values);
}

/** Nothing. */
export const nothing: Markup = html``;

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function asHtml(value: MarkupValue): string {
  if (value instanceof Markup) return value.toString();
  if (typeof value === "object") return value.map(String).join("");
  const text = String(value);
  // Line feeds may stay: what is quoted keeps its lines.
  const lines = text.split("\n").map((line) => shown(line));
  return lines.join("\n").replace(/[&<>"']/g, (char) => ENTITIES[char] ?? "");
}
