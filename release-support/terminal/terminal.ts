import { styleText } from "node:util";

/** What a piece of output means; how that looks is the terminal's matter. */
export type Tone = "good" | "bad" | "warn" | "dim" | "bold";

/** Marks a text, which stays as wide as it is. */
export type Paint = (tone: Tone, text: string) => string;

/** Where a command writes: what it found on standard output, what it is doing on standard error (SPEC C). */
export interface Terminal {
  /** Writes whole lines of results. */
  readonly result: (text: string) => void;
  /** Writes whole lines that are no results: progress, notices. */
  readonly notice: (text: string) => void;
  readonly paint: Paint;
}

/** What decides whether output is coloured. */
export interface ColourFacts {
  /** Whether `--no-color` was given. */
  readonly refused: boolean;
  readonly isTerminal: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Whether to colour: only on a terminal that can, and nobody said no (SPEC C; no-color.org). */
export function wantsColour({ refused, isTerminal, environment }: ColourFacts): boolean {
  const saysNo = (environment["NO_COLOR"] ?? "") !== "";
  return !refused && isTerminal && !saysNo && environment["TERM"] !== "dumb";
}

const STYLES = {
  good: "green",
  bad: "red",
  warn: "yellow",
  dim: "dim",
  bold: "bold",
} as const satisfies Record<Tone, Parameters<typeof styleText>[0]>;

/** Marks nothing: for files, pipes and who wants no colours. */
export const plain: Paint = (_tone, text) => text;

/** Marks with the terminal's own colours. */
export const coloured: Paint = (tone, text) => styleText(STYLES[tone], text);

/** The terminal of this process. */
export function processTerminal(options: { readonly color: boolean }): Terminal {
  const { stdout, stderr, env } = process;
  const colour = wantsColour({ refused: !options.color, isTerminal: stdout.isTTY, environment: env });
  return {
    result: (text) => void stdout.write(`${text}\n`),
    notice: (text) => void stderr.write(`${text}\n`),
    paint: colour ? coloured : plain,
  };
}

/** How long something may take before it is announced, in milliseconds. */
const PATIENCE_MS = 500;

/**
 * Awaits something and says on standard error what is being waited for, once it takes more than half a second.
 *
 * @param terminal - where to say so
 * @param what - what is going on, as "Asking the Guild"
 * @param work - what is awaited
 */
export async function announced<Result>(
  terminal: Terminal,
  what: string,
  work: Promise<Result>,
): Promise<Result> {
  const timer = setTimeout(() => terminal.notice(`${what} ...`), PATIENCE_MS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}
