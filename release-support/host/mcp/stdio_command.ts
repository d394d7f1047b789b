import { strip } from "../../../helpers/formats/python_text.ts";
import type { JsonValue } from "../text/dirty_json.ts";
import { isTruthy, pythonText } from "../text/python_value.ts";

/** A program and its arguments, ready to be started without a shell. */
export interface StdioCommand {
  /** Empty when the configuration names no program. */
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * Reads `command` and `args` of a local server as the framework does: the command is split like a POSIX shell would,
 * a single argument only when it looks like flags (vectors `mcp_stdio_command`).
 *
 * @param entry - the two values as configured; absent ones are `undefined`
 */
export function splitStdioCommand(entry: {
  readonly command?: JsonValue | undefined;
  readonly args?: JsonValue | undefined;
}): StdioCommand {
  const [command = "", ...first] = commandWords(entry.command);
  const listed = Array.isArray(entry.args) ? entry.args : [];
  return { command, args: [...first, ...listed.flatMap(argumentWords)] };
}

function commandWords(command: JsonValue | undefined): readonly string[] {
  if (command === undefined || !isTruthy(command)) return [];
  const text = strip(pythonText(command));
  return splitShellWords(text) ?? [text];
}

function argumentWords(argument: JsonValue): readonly string[] {
  const text = strip(pythonText(argument));
  if (text === "") return [];
  const words = splitShellWords(text);
  return words !== null && (words.length === 1 || looksLikeFlags(words)) ? words : [text];
}

/** `--port 8080` and `run -v` are flags, `--port=8080 x` and `hello big world` are one argument. */
function looksLikeFlags([first = "", ...rest]: readonly string[]): boolean {
  const begins = first.startsWith("-") && !first.includes("=");
  return begins || rest.some((word) => word.startsWith("-"));
}

/** White space, a text in single quotes, one in double quotes, an escaped character, any others. */
const SHELL_TOKEN = /([ \t\r\n]+)|'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\([^])|([^ \t\r\n'"\\]+)/gy;

/**
 * Splits a text into words as a POSIX shell does, without comments, expansions and substitutions: `\` escapes any
 * character outside quotes, and only `"` and `\` within double ones.
 *
 * @returns the words, or `null` where a quote or an escape is left open
 */
function splitShellWords(text: string): readonly string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let end = 0;
  for (const match of text.matchAll(SHELL_TOKEN)) {
    const [token, space, single, double, escaped, others] = match;
    end = match.index + token.length;
    if (space === undefined) {
      word = (word ?? "") + (single ?? double?.replace(/\\(["\\])/g, "$1") ?? escaped ?? others ?? "");
    } else {
      if (word !== null) words.push(word);
      word = null;
    }
  }
  if (word !== null) words.push(word);
  return end === text.length ? words : null;
}
