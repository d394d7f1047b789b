import type { JsonValue } from "./dirty_json.ts";

/**
 * Tells what the emulated framework takes for true: everything but null, false, zero, and an empty text, list or
 * mapping (Python's truth value).
 */
export function isTruthy(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false || value === "") return false;
  if (typeof value === "number" || typeof value === "bigint") return value != 0;
  if (Array.isArray(value)) return value.length > 0;
  return value instanceof Map ? value.size > 0 : true;
}

/**
 * Writes a JSON value as the emulated framework does where it needs a text (Python's `str`): a text stays, `true`
 * becomes `True`, lists and mappings are written with single quotes. A number that came as `1.0` cannot be told from
 * `1` and is written `1`.
 */
export function pythonText(value: JsonValue): string {
  return typeof value === "string" ? value : representation(value, 0);
}

/** Deeper than any value that means something as a text; what lies below is left out. */
const MAX_DEPTH = 100;

function representation(value: JsonValue, depth: number): string {
  if (depth > MAX_DEPTH) return "...";
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number") return numberText(value);
  if (typeof value === "string") return quoted(value);
  const inside = (member: JsonValue) => representation(member, depth + 1);
  if (Array.isArray(value)) return `[${value.map(inside).join(", ")}]`;
  const members = [...value].map(([name, member]) => `${quoted(name)}: ${inside(member)}`);
  return `{${members.join(", ")}}`;
}

function numberText(number: number): string {
  if (Number.isNaN(number)) return "nan";
  if (!Number.isFinite(number)) return number > 0 ? "inf" : "-inf";
  if (Object.is(number, -0)) return "-0.0";
  if (Number.isSafeInteger(number)) return String(number);
  const size = Math.abs(number);
  if (size >= 1e-4 && size < 1e16) return Number.isInteger(number) ? `${number}.0` : String(number);
  return number.toExponential().replace(/e([-+])(\d)$/, "e$10$2");
}

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const inside = text.replace(/[\\'"]|(?! )[\p{C}\p{Z}]/gu, (char) => escaped(char, quote));
  return quote + inside + quote;
}

function escaped(char: string, quote: string): string {
  if (char === '"' || char === "'") return char === quote ? `\\${char}` : char;
  const named = NAMED_ESCAPES.get(char);
  if (named !== undefined) return named;
  const code = (char.codePointAt(0) ?? 0).toString(16);
  if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
  return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
}

const NAMED_ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\\", "\\\\"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
]);
