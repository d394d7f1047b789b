import { Command, CommanderError } from "commander";

import { PluginRootError } from "../../helpers/config/enabled_plugins.ts";
import { packageVersion } from "../packaging/package_root.ts";
import { CannotRun } from "./cannot_run.ts";
import { addCheck } from "./check.ts";
import { addConfig } from "./config.ts";
import { addDecisions } from "./decisions.ts";
import { addDemo } from "./demo.ts";
import { addDoctor } from "./doctor.ts";
import { addGuild } from "./guild.ts";
import { addInstall, addUninstall } from "./install.ts";
import { addRun } from "./run.ts";
import { COLUMNS, shown } from "../terminal/text.ts";

/** The executable's name. */
const NAME = "agent-guild-preflight";

/** In the order in which the help lists them. */
const COMMANDS = [
  addDemo,
  addInstall,
  addUninstall,
  addDoctor,
  addRun,
  addDecisions,
  addCheck,
  addConfig,
  addGuild,
];

/** The exit code of a command that could not run. */
const COULD_NOT_RUN = 2;

/**
 * Runs the executable and ends the process: exit code 0 when nothing is wrong, 1 when something is or a call was denied,
 * 2 with one line on standard error when the command could not run (SPEC C).
 *
 * @param args - what stands behind the executable's name
 */
export async function runCommandLine(args: readonly string[]): Promise<void> {
  expectReadersToLeave();
  try {
    if (args.length === 0) throw new CannotRun(`a command is missing; ${NAME} --help lists them`);
    await commandLine().parseAsync(args, { from: "user" });
  } catch (error) {
    const message = reasonNotToRun(error);
    if (message !== null) process.stderr.write(`${NAME}: ${shown(message)}\n`);
    if (message !== null) process.exitCode = COULD_NOT_RUN;
  }
  await Promise.all([process.stdout, process.stderr].map(flushed));
  // What an operator's own extension left open must not keep the command from ending.
  process.exit();
}

function commandLine(): Command {
  const program = new Command(NAME)
    .description(
      "A deny-only gate for remote MCP tools, and the tools around it. No command changes what the gate decides.",
    )
    .version(packageVersion())
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      // Errors are told by reasonNotToRun, in one line.
      outputError: () => undefined,
      getOutHelpWidth: () => COLUMNS,
      getErrHelpWidth: () => COLUMNS,
    })
    .addHelpText(
      "after",
      `
Exit codes: 0 nothing is wrong, 1 something is or a call was denied, 2 the
command could not run. "${NAME} <command> --help" has examples.`,
    );
  for (const add of COMMANDS) add(program);
  return program;
}

/** Why the command could not run, in one line; `null` when it merely showed its help or version. */
function reasonNotToRun(error: unknown): string | null {
  if (error instanceof CannotRun || error instanceof PluginRootError) return error.message;
  if (!(error instanceof CommanderError)) return unexpected(error);
  if (error.exitCode === 0) return null;
  const [line = "", ...suggestion] = error.message.replace(/^error: /, "").split("\n");
  return [wordsFor(error.code, line), ...suggestion].join(" ");
}

/** A mistake of this program. Its whole story helps whoever mends it, and nobody else. */
function unexpected(error: unknown): string {
  const name = error instanceof Error ? error.name : typeof error;
  if (process.env["AGENT_GUILD_DEBUG"] !== "1") {
    return `this should not have happened (${name}); AGENT_GUILD_DEBUG=1 shows where`;
  }
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  return `this should not have happened (${name})`;
}

/** What was typed is not repeated where it can be anything: a value may be a secret, and a URL too. */
function wordsFor(code: string, line: string): string {
  switch (code) {
    case "commander.unknownCommand":
      return `there is no such command; ${NAME} --help lists them`;
    case "commander.unknownOption":
      return line.replace(/=.*$/s, "'");
    default:
      return line;
  }
}

/** A reader that went away, as `head` does, is nobody's error: the command goes on and tidies up. */
function expectReadersToLeave(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  }
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write("", () => resolve());
  });
}
