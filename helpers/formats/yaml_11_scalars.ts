import { strip } from "./python_text.ts";

/** A date, or a date with a time, as YAML 1.1's `timestamp` gives it. */
export class YamlTimestamp {
  readonly kind: "date" | "datetime";
  /** ISO 8601: `2026-01-02`, `2026-01-02T03:04:05`, with `.ffffff` and `+hh:mm` where the text had them. */
  readonly iso: string;

  constructor(kind: "date" | "datetime", iso: string) {
    this.kind = kind;
    this.iso = iso;
  }
}

/** What a scalar of a YAML 1.1 text can stand for. Integers beyond 2^53 - 1 are bigints, binary data bytes. */
export type YamlScalar = null | boolean | number | bigint | string | YamlTimestamp | Uint8Array;

/** What became of a scalar's text. `wrong` says what is wrong with it in controlled words. */
export type ScalarReading =
  | { readonly kind: "value"; readonly value: YamlScalar }
  | { readonly kind: "wrong"; readonly what: string };

/** What an untagged scalar may turn out to be, by the last part of the type's tag. */
export type PlainType = "null" | "bool" | "int" | "float" | "str" | "timestamp" | "merge" | "value";

const IMPLICIT: ReadonlyArray<readonly [PlainType, RegExp]> = [
  ["bool", /^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$/],
  [
    "float",
    /^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/,
  ],
  [
    "int",
    /^(?:[-+]?0b[01_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$/,
  ],
  ["merge", /^<<$/],
  ["null", /^(?:~|null|Null|NULL|)$/],
  [
    "timestamp",
    /^(?:\d{4}-\d\d-\d\d|\d{4}-\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?)$/,
  ],
  ["value", /^=$/],
];

const TIMESTAMP =
  /^(?<year>\d{4})-(?<month>\d\d?)-(?<day>\d\d?)(?:(?:[Tt]|[ \t]+)(?<hour>\d\d?):(?<minute>\d\d):(?<second>\d\d)(?:\.(?<fraction>\d*))?(?:[ \t]*(?<zone>Z|(?<zoneSign>[-+])(?<zoneHour>\d\d?)(?::(?<zoneMinute>\d\d))?))?)?$/;

/** Python refuses to read longer decimal numbers; past it conversion takes noticeable time. */
const MAX_DIGITS = 4300;

/**
 * Tells what type an unquoted, untagged scalar has under YAML 1.1 as PyYAML resolves it: `y` and `n` are text,
 * `1e3` too, `1.0e+3` is not (vectors `yaml_loads`).
 *
 * @param text - the scalar's value
 */
export function plainScalarType(text: string): PlainType {
  return IMPLICIT.find(([, pattern]) => pattern.test(text))?.[0] ?? "str";
}

/**
 * Reads a scalar of a known type as PyYAML's safe constructor does, with NaN and infinities refused (SPEC P2.2).
 *
 * @param type - its type, resolved or from an explicit tag: the last part of a YAML 1.1 tag; any other is wrong
 * @param text - its value
 */
export function readScalar(type: string, text: string): ScalarReading {
  switch (type) {
    case "str":
      return value(text);
    case "null":
      return value(null);
    case "bool":
      return readBoolean(text);
    case "int":
      return readInteger(text);
    case "float":
      return readFloat(text);
    case "timestamp":
      return readTimestamp(text);
    case "binary":
      return readBinary(text);
    case "merge":
      return wrong("a merge sign << is only a key");
    case "value":
      return wrong("a lone = has no value; quote it");
    default:
      return wrong("an unknown tag");
  }
}

function value(read: YamlScalar): ScalarReading {
  return { kind: "value", value: read };
}

function wrong(what: string): ScalarReading {
  return { kind: "wrong", what };
}

function readBoolean(text: string): ScalarReading {
  if (/^(?:yes|true|on)$/i.test(text)) return value(true);
  if (/^(?:no|false|off)$/i.test(text)) return value(false);
  return wrong("not a boolean");
}

function readInteger(text: string): ScalarReading {
  const { negative, size: digits } = splitSign(text);
  const size = digits.length > MAX_DIGITS ? null : readUnsigned(digits);
  if (size === null) return wrong("not an integer of a usable size");
  return value(narrow(negative ? -size : size));
}

function splitSign(text: string): { readonly negative: boolean; readonly size: string } {
  const number = strip(text.replaceAll("_", ""));
  return { negative: number.startsWith("-"), size: number.replace(/^[-+]/, "") };
}

function readUnsigned(digits: string): bigint | null {
  if (/^0b[01]+$|^0x[0-9a-fA-F]+$/.test(digits)) return BigInt(digits);
  if (/^0o?[0-7]+$/i.test(digits)) return BigInt(`0o${digits.replace(/^0o?/i, "")}`);
  if (/^0$|^[1-9]\d*$/.test(digits)) return BigInt(digits);
  if (!/^[1-9]\d*(?::\d+)+$/.test(digits)) return null;
  return digits.split(":").reduce((total, part) => total * 60n + BigInt(part), 0n);
}

function narrow(integer: bigint): number | bigint {
  const number = Number(integer);
  return Number.isSafeInteger(number) ? number : integer;
}

function readFloat(text: string): ScalarReading {
  const { negative, size } = splitSign(text.toLowerCase());
  const parts = size.split(":");
  if (!parts.every((part) => /^(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?$/.test(part))) {
    return wrong("not a finite number");
  }
  // Least significant part first: the order in which the rounding of the framework happens.
  const number = parts.reduceRight(
    (total, part, index) => total + Number(part) * 60 ** (parts.length - 1 - index),
    0,
  );
  if (!Number.isFinite(number)) return wrong("not a finite number");
  return value(negative ? -number : number);
}

function readTimestamp(text: string): ScalarReading {
  const groups = TIMESTAMP.exec(text)?.groups;
  if (groups === undefined) return wrong("not a date");
  const { year = "", month = "", day = "", hour, minute = "", second = "" } = groups;
  if (!isDay(Number(year), Number(month), Number(day))) return wrong("a date that does not exist");
  const date = `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`;
  if (hour === undefined) return value(new YamlTimestamp("date", date));
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59)
    return wrong("a time that does not exist");
  const zone = zoneOffset(groups);
  if (zone === null) return wrong("a time zone that does not exist");
  const fraction = (groups["fraction"] ?? "").slice(0, 6).padEnd(6, "0");
  const time = `${hour.padStart(2, "0")}:${minute}:${second}${fraction === "000000" ? "" : `.${fraction}`}`;
  return value(new YamlTimestamp("datetime", `${date}T${time}${zone}`));
}

function isDay(year: number, month: number, day: number): boolean {
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  const lastDay = new Date(0);
  lastDay.setUTCFullYear(year, month, 0);
  return day <= lastDay.getUTCDate();
}

/** Gives `+hh:mm`, nothing where the text names no zone, null where the offset reaches a day. */
function zoneOffset(groups: Readonly<Record<string, string | undefined>>): string | null {
  if (groups["zone"] === undefined) return "";
  const minutes = Number(groups["zoneHour"] ?? 0) * 60 + Number(groups["zoneMinute"] ?? 0);
  if (minutes >= 24 * 60) return null;
  const sign = groups["zoneSign"] === "-" && minutes > 0 ? "-" : "+";
  return `${sign}${twoDigits(Math.trunc(minutes / 60))}:${twoDigits(minutes % 60)}`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}

/** Base64 as Python's lenient decoder reads it: foreign characters are skipped, padding must be complete. */
function readBinary(text: string): ScalarReading {
  // oxlint-disable-next-line no-control-regex
  if (!/^[\x00-\x7f]*$/.test(text)) return wrong("binary data with a character outside base64");
  let digits = "";
  let padding = 0;
  for (const char of text.replace(/[^A-Za-z0-9+/=]/g, "")) {
    const inGroup = digits.length % 4;
    if (char !== "=") {
      digits += char;
      padding = 0;
    } else if (inGroup >= 2) {
      padding += 1;
      if (inGroup + padding >= 4) return value(new Uint8Array(Buffer.from(digits, "base64")));
    }
  }
  if (digits.length % 4 !== 0) return wrong("binary data that ends in the middle of a group");
  return value(new Uint8Array(Buffer.from(digits, "base64")));
}

/** What a block scalar (`|` or `>`) holds, and the index after its last line. */
export interface BlockScalar {
  readonly text: string;
  readonly end: number;
}

/**
 * Reads the lines of a block scalar as PyYAML's scanner does: indentation, folding and end are its own, and where the
 * text ends without a line feed, so does the scalar.
 *
 * @param header - the indicators, such as `|`, `>-` or `|2+`
 * @param source - a text whose line breaks are line feeds
 * @param begin - index of the line after the header
 * @param parentIndent - the column of the collection that the scalar stands in, 0 where there is none
 */
export function readBlockScalar(
  header: string,
  source: string,
  begin: number,
  parentIndent: number,
): BlockScalar {
  const step = /[1-9]/.exec(header)?.[0];
  const indent =
    step === undefined ? blockIndent(source, begin, parentIndent + 1) : parentIndent + Number(step);
  const isFolded = header.startsWith(">");
  let text = "";
  let end = begin;
  let emptyLines = 0;
  let previous: Line | null = null;
  for (const line of linesFrom(source, begin)) {
    const isEmpty = line.indent === line.text.length && line.indent <= indent;
    if (isEmpty ? !line.isClosed : line.indent < indent) break;
    end = line.end;
    if (isEmpty) {
      emptyLines += 1;
      continue;
    }
    const content = line.text.slice(indent);
    const isJoined =
      isFolded && !startsWithSpace(content) && !startsWithSpace(previous?.text.slice(indent) ?? "");
    if (previous !== null && !isJoined) text += "\n";
    if (previous !== null && isJoined && emptyLines === 0) text += " ";
    text += "\n".repeat(emptyLines) + content;
    previous = line;
    emptyLines = 0;
  }
  if (previous?.isClosed === true && !header.includes("-")) text += "\n";
  if (header.includes("+")) text += "\n".repeat(emptyLines);
  return { text, end };
}

/** The deepest of the leading empty lines and the first other line sets the indentation. */
function blockIndent(source: string, begin: number, least: number): number {
  let indent = least;
  for (const line of linesFrom(source, begin)) {
    indent = Math.max(indent, line.indent);
    if (line.indent < line.text.length) break;
  }
  return indent;
}

interface Line {
  readonly text: string;
  /** How many spaces it begins with. */
  readonly indent: number;
  /** Whether a line feed ends it. */
  readonly isClosed: boolean;
  /** The index after it and its line feed. */
  readonly end: number;
}

function* linesFrom(source: string, begin: number): Generator<Line> {
  for (let at = begin; at < source.length;) {
    const lineFeed = source.indexOf("\n", at);
    const isClosed = lineFeed !== -1;
    const text = source.slice(at, isClosed ? lineFeed : source.length);
    const end = at + text.length + (isClosed ? 1 : 0);
    yield { text, indent: /^ */.exec(text)?.[0].length ?? 0, isClosed, end };
    at = end;
  }
}

function startsWithSpace(text: string): boolean {
  return text.startsWith(" ") || text.startsWith("\t");
}
