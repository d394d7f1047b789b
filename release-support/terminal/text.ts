/** How wide output is, in columns: what every terminal shows without breaking a line. */
export const COLUMNS = 80;

// Controls, formatting such as bidirectional overrides, halves of pairs, private and unassigned code points, and the
// separators that end a line.
const UNFIT = /[\p{C}\p{Zl}\p{Zp}]/gu;

/**
 * Makes a text that somebody else wrote fit to be shown: what could move the cursor, hide or reorder characters appears
 * as its code point.
 */
export function shown(text: string): string {
  return text.replace(UNFIT, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** As {@link shown}, at most `width` columns; what is cut off shows as `…`. */
export function clipped(text: string, width: number): string {
  const clean = shown(text);
  if (displayWidth(clean) <= width) return clean;
  const kept = takeColumns(clean, width - 1);
  return displayWidth(kept) < width ? `${kept}…` : "…";
}

// Scripts and symbols that terminals draw two columns wide.
const WIDE =
  /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60]/u;
const COMBINING = /\p{M}/u;

/** How many columns a text takes on a terminal. It holds no colour and nothing that {@link shown} replaces. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const char of text) width += columnsOf(char);
  return width;
}

function columnsOf(char: string): number {
  if (char <= "~") return 1;
  if (WIDE.test(char)) return 2;
  return COMBINING.test(char) ? 0 : 1;
}

/** Fills up with spaces on the right, or on the left for numbers. A longer text stays as it is. */
export function padded(text: string, width: number, side: "left" | "right" = "right"): string {
  const spaces = " ".repeat(Math.max(0, width - displayWidth(text)));
  return side === "right" ? text + spaces : spaces + text;
}

/** How {@link wrap} lays out a paragraph. */
export interface Indents {
  /** What stands before the first line. */
  readonly first?: string;
  /** What stands before every other line; as wide in spaces as `first` unless given. */
  readonly rest?: string;
}

/**
 * Breaks a paragraph into lines of at most {@link COLUMNS} columns, at spaces; a word that is longer than a line is
 * broken behind a slash, or else where the line ends.
 *
 * @param text - one paragraph, fit to be shown
 * @returns at least one line
 */
export function wrap(text: string, { first = "", rest }: Indents = {}): string[] {
  const hanging = rest ?? " ".repeat(displayWidth(first));
  const lines: string[] = [];
  let line = "";
  let indent = first;
  const room = () => COLUMNS - displayWidth(indent);
  const end = () => {
    lines.push(`${indent}${line}`.replace(/ +$/, ""));
    line = "";
    indent = hanging;
  };
  for (let word of text.split(" ").filter((one) => one !== "")) {
    if (line !== "" && displayWidth(line) + 1 + displayWidth(word) > room()) end();
    while (displayWidth(word) > room()) {
      const head = upToSlash(takeColumns(word, room()));
      line = head;
      word = word.slice(head.length);
      end();
    }
    line = line === "" ? word : `${line} ${word}`;
  }
  if (line !== "" || lines.length === 0) end();
  return lines;
}

/** What of a piece of a path or URL may end a line: up to its last slash, if that leaves enough. */
function upToSlash(piece: string): string {
  const end = piece.lastIndexOf("/") + 1;
  return end > piece.length / 2 ? piece.slice(0, end) : piece;
}

/** The longest beginning of a text that takes at most so many columns; at least one character. */
function takeColumns(text: string, columns: number): string {
  let taken = "";
  let width = 0;
  for (const char of text) {
    width += columnsOf(char);
    if (width > columns && taken !== "") break;
    taken += char;
  }
  return taken;
}
