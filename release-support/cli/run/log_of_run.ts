import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { openSync, writeSync } from "node:fs";

import { errorCode } from "../../../helpers/config/file_view.ts";
import { DECISION_CHANNEL } from "../../../helpers/decision/decision_channel.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { CannotRun } from "../cannot_run.ts";

/** A place to which the decisions of a run go, one line of JSON each. */
export interface LogOfRun {
  /** Stops listening. */
  close(): void;
}

/**
 * Writes what the gate decides from now on, whatever the configuration says about a decision log (SPEC C2, P9.5). The
 * channel is the process's: it brings the decisions of the copy of the plugin that the root has.
 *
 * @param to - a file, which is appended to, or `true` for standard error
 * @param terminal - where else to write
 * @throws CannotRun when the file cannot be opened
 */
export function logOfRun(to: string | true, terminal: Terminal): LogOfRun {
  const write = to === true ? terminal.notice : appenderTo(to, terminal);
  const listener = (event: unknown) => write(JSON.stringify(event));
  subscribe(DECISION_CHANNEL, listener);
  return { close: () => void unsubscribe(DECISION_CHANNEL, listener) };
}

function appenderTo(path: string, terminal: Terminal): (line: string) => void {
  const fd = open(path);
  let isBroken = false;
  return (line) => {
    try {
      if (!isBroken) writeSync(fd, `${line}\n`);
    } catch (error) {
      isBroken = true;
      terminal.notice(`--log: the file cannot be written any more (${errorCode(error)})`);
    }
  };
}

function open(path: string): number {
  try {
    return openSync(path, "a", 0o600);
  } catch (error) {
    throw new CannotRun(`--log: the file cannot be opened (${errorCode(error)})`);
  }
}
