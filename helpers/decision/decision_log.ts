import { Buffer } from "node:buffer";
import { close, closeSync, fstatSync, readSync, write, writeSync } from "node:fs";
import { promisify } from "node:util";

import { errorCode } from "../config/file_view.ts";
import { LogFileError, openLog } from "./log_file.ts";
import type { LogBounds, LogPlace } from "./log_file.ts";

const appendTo = promisify(write);

/** What a decision log may hold and keep. */
export interface LogLimits {
  readonly bounds: LogBounds;
  /** How much may wait to be written, in bytes. */
  readonly waiting: number;
  /** How long lines wait for others to be written along with, in milliseconds. */
  readonly gatherMs: number;
  /** How long after a failed write the next one is tried, in milliseconds. */
  readonly retryMs: number;
}

const MIB = 1024 * 1024;

/** Some 150,000 decisions on disk, and some 1,500 in memory. */
export const LOG_LIMITS: LogLimits = {
  bounds: { file: 16 * MIB, total: 128 * MIB },
  waiting: MIB,
  gatherMs: 50,
  retryMs: 1000,
};

/** Called with what is wrong with a log, in our own words. */
type Report = (problem: string) => void;

const nobody: Report = () => undefined;

/** Lines on their way to the disk, while a thread of the system writes them. */
interface Batch {
  readonly fd: number;
  /** How long the file was before. */
  readonly from: number;
  readonly lines: readonly string[];
  readonly bytes: Buffer;
}

/**
 * Appends lines to a file without anybody having to wait: they are gathered for a moment and written behind the caller's
 * back, whole lines in one write, so that several processes can share a file (SPEC P9.5). A write that fails is reported
 * once; what then does not fit into the memory set aside is counted, and the count written as soon as writing works again.
 * What is still waiting when the process exits is written then.
 */
export class DecisionLog {
  static readonly #all = new Map<string, DecisionLog>();

  readonly #place: LogPlace;
  readonly #limits: LogLimits;
  #lines: string[] = [];
  #waiting = 0;
  #isToWrite = false;
  #batch: Batch | null = null;
  #isFailing = false;
  #isReported = false;
  #report: Report = nobody;
  #lost: { count: number; readonly from: string } | null = null;

  /** The log of a file: one in each process, for as long as it lasts. */
  static of(root: string, file: string): DecisionLog {
    const key = `${root}\0${file}`;
    const known = DecisionLog.#all.get(key);
    if (known !== undefined) return known;
    if (DecisionLog.#all.size === 0) process.on("exit", DecisionLog.#finish);
    const log = new DecisionLog({ root, file });
    DecisionLog.#all.set(key, log);
    return log;
  }

  static #finish(this: void): void {
    for (const log of DecisionLog.#all.values()) log.finish();
  }

  /** Use {@link of}; tests give limits of their own. */
  constructor(place: LogPlace, limits: LogLimits = LOG_LIMITS) {
    this.#place = place;
    this.#limits = limits;
  }

  /**
   * Takes a line to be written. Never throws.
   *
   * @param line - JSON, without the end of the line
   * @param report - called at most once in the life of this log, with what is wrong, in our own words
   */
  append(line: string, report: Report): void {
    this.#report = report;
    const bytes = Buffer.byteLength(line) + 1;
    // A process that gives the event loop no turn must not lose lines for it.
    if (this.#waiting + bytes > this.#limits.waiting && !this.#isFailing) this.#writeAll();
    if (this.#waiting + bytes > this.#limits.waiting) {
      this.#lost ??= { count: 0, from: new Date().toISOString() };
      this.#lost.count += 1;
      return;
    }
    this.#lines.push(line);
    this.#waiting += bytes;
    this.#wake(this.#limits.gatherMs);
  }

  /** Writes what is waiting before this returns: what has to be done when the process exits. Never throws. */
  finish(): void {
    if (this.#batch !== null && !hasArrived(this.#batch)) this.#putBack(this.#batch.lines);
    this.#batch = null;
    this.#writeAll();
  }

  /** A timer that keeps no process from ending: then it is {@link finish} that writes. */
  #wake(ms: number): void {
    if (this.#isToWrite) return;
    this.#isToWrite = true;
    setTimeout(() => {
      this.#isToWrite = false;
      void this.#writeBehind();
    }, ms).unref();
  }

  async #writeBehind(): Promise<void> {
    if (this.#batch !== null || this.#lines.length === 0) return;
    const batch = this.#open();
    if (batch === null) return;
    this.#batch = batch;
    try {
      const { bytesWritten } = await appendTo(batch.fd, batch.bytes);
      this.#settle(batch, bytesWritten);
    } catch (error) {
      this.#putBack(batch.lines);
      this.#fail(error);
    } finally {
      this.#batch = null;
      close(batch.fd);
    }
    if (this.#lines.length > 0) this.#wake(this.#isFailing ? this.#limits.retryMs : this.#limits.gatherMs);
  }

  #writeAll(): void {
    while (this.#lines.length > 0) {
      const batch = this.#open();
      if (batch === null) return;
      try {
        this.#settle(batch, writeSync(batch.fd, batch.bytes));
      } catch (error) {
        this.#putBack(batch.lines);
        this.#fail(error);
      } finally {
        closeSync(batch.fd);
      }
      if (this.#isFailing) return;
    }
  }

  /** Takes all lines and opens the file for them; `null` when that fails, and they go on waiting. */
  #open(): Batch | null {
    try {
      const text = `${this.#lines.join("\n")}\n`;
      const { fd, size, isTorn } = openLog(this.#place, this.#waiting, this.#limits.bounds);
      const batch = { fd, from: size, lines: this.#lines, bytes: Buffer.from(isTorn ? `\n${text}` : text) };
      this.#lines = [];
      this.#waiting = 0;
      return batch;
    } catch (error) {
      this.#fail(error);
      return null;
    }
  }

  /** What of a batch was not written, as on a disk that is full, waits again; a line that broke off does so whole. */
  #settle({ lines, bytes }: Batch, written: number): void {
    if (written < bytes.length) {
      const ends = bytes.subarray(0, written).filter((byte) => byte === NEWLINE).length;
      this.#putBack(lines.slice(bytes[0] === NEWLINE ? Math.max(0, ends - 1) : ends));
      this.#fail(new LogFileError("there is no room for whole lines"));
      return;
    }
    this.#isFailing = false;
    // Whoever would be told is not kept alive for it.
    if (this.#lines.length === 0) this.#report = nobody;
    if (this.#lost === null) return;
    const { count, from } = this.#lost;
    this.#lost = null;
    this.#putBack([JSON.stringify({ v: 1, lost: count, from, to: new Date().toISOString() })]);
  }

  #putBack(lines: readonly string[]): void {
    this.#lines = [...lines, ...this.#lines];
    this.#waiting += lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
  }

  #fail(error: unknown): void {
    this.#isFailing = true;
    this.#wake(this.#limits.retryMs);
    if (this.#isReported) return;
    this.#isReported = true;
    try {
      this.#report(error instanceof LogFileError ? error.message : errorCode(error));
    } catch {
      // A host whose chat log fails has nowhere else to be told.
    }
  }
}

const NEWLINE = 0x0a;

/** How often and for how long to look whether a write that is under way has arrived, in milliseconds. */
const LOOK_MS = 5;
const LOOKS = 40;

/**
 * Waits until what a thread of the system is writing is in the file: the process exits, and will not hear of it. Where it
 * does not arrive in time it is written again; readers tell by the ids.
 */
function hasArrived({ fd, from, bytes }: Batch): boolean {
  const clock = new Int32Array(new SharedArrayBuffer(4));
  for (let look = 0; look < LOOKS; look += 1) {
    if (holds(fd, from, bytes)) return true;
    Atomics.wait(clock, 0, 0, LOOK_MS);
  }
  return false;
}

function holds(fd: number, from: number, bytes: Buffer): boolean {
  try {
    const since = Buffer.alloc(Math.max(0, fstatSync(fd).size - from));
    return since.subarray(0, readSync(fd, since, 0, since.length, from)).includes(bytes);
  } catch {
    return false;
  }
}
