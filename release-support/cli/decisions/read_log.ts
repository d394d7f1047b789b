import { closeSync, fstatSync, openSync, readSync } from "node:fs";

import { logFiles } from "../../../helpers/decision/log_file.ts";
import type { LogPlace } from "../../../helpers/decision/log_file.ts";
import { decisionLine, lostLine } from "../output_schemas.ts";
import type { DecisionLine } from "../output_schemas.ts";

/** What was found in a decision log. */
export interface LogContents {
  /** The oldest first. */
  readonly decisions: DecisionLine[];
  /** How many decisions could not be written. */
  readonly lost: number;
  /** How many lines are none of a decision log. */
  readonly unreadable: number;
}

const NEWLINE = 0x0a;

/**
 * Reads a decision log with the files that were set aside, and then what has come since (SPEC C9). A line without an end
 * is still being written and is left for the next time; a decision that two lines tell, as after a process that ended in
 * the middle of writing, is found once.
 */
export class LogReader {
  readonly #place: LogPlace;
  /** How far each file was read, by what stays the same when it is set aside. */
  readonly #read = new Map<string, number>();
  readonly #known = new Set<string>();

  /** @param place - which log */
  constructor(place: LogPlace) {
    this.#place = place;
  }

  /**
   * Reads what is new since the last time; the first time, everything.
   *
   * @throws LogFileError when the log leads out of the root; a system error when it cannot be read
   */
  next(): LogContents {
    const decisions: DecisionLine[] = [];
    let [lost, unreadable] = [0, 0];
    for (const text of logFiles(this.#place).map((file) => this.#newLines(file))) {
      for (const line of text.split("\n")) {
        if (line === "") continue;
        const reading = readLine(line);
        switch (reading.kind) {
          case "decision":
            if (!this.#known.has(reading.decision.id)) decisions.push(reading.decision);
            this.#known.add(reading.decision.id);
            break;
          case "lost":
            lost += reading.count;
            break;
          case "unreadable":
          default:
            unreadable += 1;
        }
      }
    }
    return { decisions: decisions.toSorted(byTime), lost, unreadable };
  }

  /** The whole lines of a file that were not read before. */
  #newLines(file: string): string {
    const fd = openSync(file, "r");
    try {
      const { dev, ino, size } = fstatSync(fd, { bigint: true });
      const key = `${dev}:${ino}`;
      const from = this.#read.get(key) ?? 0;
      const bytes = Buffer.alloc(Math.max(0, Number(size) - from));
      const read = bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, from));
      const whole = read.subarray(0, read.lastIndexOf(NEWLINE) + 1);
      this.#read.set(key, from + whole.length);
      return whole.toString();
    } finally {
      closeSync(fd);
    }
  }
}

type Line =
  | { readonly kind: "decision"; readonly decision: DecisionLine }
  | { readonly kind: "lost"; readonly count: number }
  | { readonly kind: "unreadable" };

function readLine(text: string): Line {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: "unreadable" };
  }
  const decision = decisionLine.safeParse(value);
  if (decision.success) return { kind: "decision", decision: decision.data };
  const lost = lostLine.safeParse(value);
  return lost.success ? { kind: "lost", count: lost.data.lost } : { kind: "unreadable" };
}

/** Processes that share a log write their lines when it suits them. Times in ISO 8601 sort as text. */
function byTime(one: DecisionLine, other: DecisionLine): number {
  if (one.decided_at === other.decided_at) return 0;
  return one.decided_at < other.decided_at ? -1 : 1;
}
