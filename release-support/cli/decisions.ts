import { setTimeout as delay } from "node:timers/promises";

import type { Command } from "commander";

import { errorCode } from "../../helpers/config/file_view.ts";
import { LogFileError } from "../../helpers/decision/log_file.ts";
import { PLUGIN_NAME, settingsIn } from "../../helpers/settings/current_settings.ts";
import { processTerminal } from "../terminal/terminal.ts";
import { shown } from "../terminal/text.ts";
import { CannotRun } from "./cannot_run.ts";
import { addCommand, jsonFlag } from "./command.ts";
import type { CommonFlags } from "./command.ts";
import { decidesFor } from "./config/config_files.ts";
import type { LogContents, LogReader } from "./decisions/read_log.ts";
import type { DecisionLine, DecisionsDocument } from "./output_schemas.ts";
import { rootScope, withRootFlags } from "./root_flags.ts";
import type { RootFlags, RootScope } from "./root_flags.ts";

interface DecisionsFlags extends RootFlags, CommonFlags {
  readonly last?: string;
  readonly follow?: boolean;
  readonly why?: string;
  readonly json?: boolean;
}

/** Adds the command `decisions` (SPEC C9). */
export function addDecisions(program: Command): void {
  const command = addCommand(program, {
    name: "decisions",
    summary: "say what the gate decided in a host root, when and why, from its decision log",
    examples: [
      "decisions --root ~/host --last 20",
      "decisions --root ~/host --why 3fa9c01b22de",
      "decisions --root ~/host --why 2026-12-07T12:03:20.845Z",
      "decisions --root ~/host --project shop --follow",
      "decisions --root ~/host --json",
    ],
  });
  withRootFlags(command)
    .option("--last <count>", "no more than so many, the newest")
    .option("--follow", "go on with what is decided from now on, until Ctrl-C")
    .option("--why <id>", "explain one: its id, or as much of it as is needed, or the time in a denial")
    .addOption(jsonFlag())
    .addHelpText(
      "after",
      `
The decision log is the file that the setting decision_log names in the
configuration that counts; the newest decision comes last. With --follow --json
each decision is one line of JSON. Exit code 1 when decisions could not be
written, or lines cannot be read.`,
    )
    .action(async (flags: DecisionsFlags) => {
      process.exitCode = await decisions(flags);
    });
}

/** Shows a decision log (SPEC C9). */
async function decisions({ json = false, color, ...flags }: DecisionsFlags): Promise<0 | 1> {
  const { follow = false, why } = flags;
  const last = flags.last === undefined ? Number.POSITIVE_INFINITY : wholeNumber("--last", flags.last);
  if (why !== undefined && follow) throw new CannotRun("--why and --follow exclude each other");
  const terminal = processTerminal({ color });
  const scope = rootScope(flags);
  const place = { root: scope.root, file: await logOf(scope) };
  const [{ LogReader }, text] = await Promise.all([
    import("./decisions/read_log.ts"),
    import("./decisions/decisions_text.ts"),
  ]);
  const reader = new LogReader(place);
  const { decisions: all, lost, unreadable } = readOf(reader);
  const show = (one: DecisionLine) =>
    terminal.result(json ? JSON.stringify(one) : text.decisionText(one, terminal.paint));

  if (follow) {
    all.slice(-last).forEach(show);
    terminal.notice(`Following ${shown(place.file)} until Ctrl-C ...`);
    for await (const _ of everySoOften(interrupted())) readOf(reader).decisions.forEach(show);
    return 0;
  }
  const found = why === undefined ? all.slice(-last) : named(all, why);
  const ok = lost === 0 && unreadable === 0;
  const document: DecisionsDocument = { ok, ...place, decisions: found, lost, unreadable };
  if (json) terminal.result(JSON.stringify(document));
  else if (why === undefined) terminal.result(text.listText(document, terminal.paint));
  else terminal.result(found.map((one) => text.whyText(one, terminal.paint)).join("\n"));
  if (!json && !ok) terminal.notice(text.noticeText(document));
  return ok ? 0 : 1;
}

/** The setting `decision_log` that counts, also of a configuration that is wrong elsewhere. */
async function logOf(scope: RootScope): Promise<string> {
  const reading = await settingsIn({ ...scope, plugin: PLUGIN_NAME });
  const file = reading.kind === "valid" ? reading.settings.decisionLog : reading.decisionLog;
  if (file !== null) return file;
  const decides = decidesFor(scope);
  const where =
    decides === null
      ? "the root has no configuration of the plugin"
      : `${decides} counts here and names no decision log`;
  throw new CannotRun(
    `${where}; set decision_log there to a path below the root, such as "usr/decisions.jsonl", or name another --project or --profile`,
  );
}

function readOf(reader: LogReader): LogContents {
  try {
    return reader.next();
  } catch (error) {
    const words = error instanceof LogFileError ? error.message : `it cannot be read (${errorCode(error)})`;
    throw new CannotRun(`the decision log: ${words}`);
  }
}

/** The decisions with an id that begins so, or of a time. */
function named(all: readonly DecisionLine[], why: string): DecisionLine[] {
  const found = all.filter(({ id, decided_at: time }) => time === why || (why !== "" && id.startsWith(why)));
  if (found.length > 0) return found;
  throw new CannotRun(
    "--why: the log has no decision of this id or time; decisions without --why lists those it has",
  );
}

/** How often a log that is followed is looked at, in milliseconds. */
const LOOK_MS = 200;

async function* everySoOften(until: AbortSignal): AsyncGenerator<void> {
  while (!until.aborted) {
    yield;
    await delay(LOOK_MS, undefined, { signal: until }).catch(() => undefined);
  }
}

/** Fires when somebody ends the command, or whoever reads what it writes goes away. */
function interrupted(): AbortSignal {
  const interruption = new AbortController();
  const end = () => interruption.abort();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, end);
  process.stdout.once("error", end);
  return interruption.signal;
}

function wholeNumber(flag: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new CannotRun(`${flag}: a whole number above 0 is needed`);
}
