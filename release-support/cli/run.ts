import { basename } from "node:path";

import type { Command } from "commander";

import { errorCode } from "../../helpers/config/file_view.ts";
import { CannotRun } from "./cannot_run.ts";
import { addCommand, jsonFlag } from "./command.ts";
import type { CommonFlags } from "./command.ts";
import { reportFile } from "./report/report_file.ts";
import { rootScope, withRootFlags } from "./root_flags.ts";
import type { RootFlags } from "./root_flags.ts";
import { announced, processTerminal } from "../terminal/terminal.ts";

interface RunFlags extends RootFlags, CommonFlags {
  readonly script: string;
  readonly report?: string;
  readonly log?: string | true;
  readonly json?: boolean;
}

/** Adds the command `run` (SPEC C2). */
export function addRun(program: Command): void {
  const command = addCommand(program, {
    name: "run",
    summary: "dispatch the tool requests of a script in a host root, and say what the gate made of each",
    examples: [
      "run --root ~/host --script turns.yaml",
      "run --root ~/host --project shop --script turns.yaml --report run.html",
      "run --root ~/host --script turns.json --json",
      "run --root ~/host --script turns.yaml --log decisions.jsonl",
    ],
  });
  withRootFlags(command)
    .requiredOption("--script <file>", "model turns, in YAML or JSON")
    .option("--report <file>", "also write a picture of the run: one self-contained page")
    .option("--log [file]", "also write each decision as a line of JSON: to a file, or to standard error")
    .addOption(jsonFlag())
    .addHelpText(
      "after",
      `
The script is a list. An item is a text, as a model writes it, or tool calls:

  - tool_calls:
      - name: public_mcp.search
        arguments: { text: opening hours }
  - '{"tool_name": "public_mcp.search", "tool_args": {"text": "again"}}'

It opens a host in the root as any start would: it lays out what is missing,
connects to the MCP servers, and runs what is not denied. Exit code 1 when a
call was denied or did not run.`,
    )
    .action(async (flags: RunFlags) => {
      process.exitCode = await run(flags);
    });
}

/** Plays a script in a host root (SPEC C2). */
async function run({ json = false, script, report, log, color, ...flags }: RunFlags): Promise<0 | 1> {
  const terminal = processTerminal({ color });
  const scope = rootScope(flags);
  const page = report === undefined ? null : reportFile(report);
  const { readScript } = await import("./run/script.ts");
  const turns = await readScript(script);
  const logged = log === undefined ? null : (await import("./run/log_of_run.ts")).logOfRun(log, terminal);
  const [{ Host }, { playScript }, { runDocumentOf }, { denialDetailsIn }] = await Promise.all([
    import("../host/host.ts"),
    import("./run/play_script.ts"),
    import("./run/run_document.ts"),
    import("./run/denial_details.ts"),
  ]);
  const opening = Host.open({ root: scope.root, watch: false }).catch((error: unknown) => {
    throw new CannotRun(`--root: a host cannot be opened there (${errorCode(error)})`);
  });
  const host = await announced(terminal, "Opening the host and connecting to its MCP servers", opening);
  try {
    const played = await announced(terminal, "Playing the script", playScript(host, scope, turns));
    const details = await denialDetailsIn(scope);
    const document = runDocumentOf(scope, played, host.mcp.problems(scope.project), details);
    if (json) terminal.result(JSON.stringify(document));
    else terminal.result((await import("./run/run_text.ts")).runText(document, terminal.paint));
    if (page !== null) {
      const { pictureOfRun } = await import("./run/run_picture.ts");
      await page.write(pictureOfRun(basename(script), played.turns, details));
      if (!json) terminal.result(`A picture of the run is in ${page.shownPath}`);
    }
    return document.ok ? 0 : 1;
  } finally {
    logged?.close();
    await host.close();
  }
}
