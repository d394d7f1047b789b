import { rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";

import type { Command } from "commander";

import { CannotRun } from "./cannot_run.ts";
import { addCommand, jsonFlag } from "./command.ts";
import type { CommonFlags } from "./command.ts";
import { decidesFor, findConfigFiles, readConfigFile } from "./config/config_files.ts";
import type { FoundFile } from "./config/config_files.ts";
import { listText, removedText, showText } from "./config/config_text.ts";
import type { ConfigListDocument, ConfigRemoveDocument, ConfigShowDocument } from "./output_schemas.ts";
import { rootScope, withRootFlags } from "./root_flags.ts";
import type { RootFlags, RootScope } from "./root_flags.ts";
import { processTerminal } from "../terminal/terminal.ts";
import { shown } from "../terminal/text.ts";

interface ListFlags extends CommonFlags {
  readonly root: string;
  readonly json?: boolean;
}

interface FileFlags extends RootFlags, CommonFlags {
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** Adds the command `config` with its three parts (SPEC C6). */
export function addConfig(program: Command): void {
  const config = program
    .command("config")
    .summary("list, show and remove the plugin's configuration files in a host root")
    .description(
      "List, show and remove the plugin's config.json files of all scopes in a host root. There is no editor.",
    )
    .addHelpText(
      "after",
      `
Examples:
  agent-guild-preflight config list --root ~/host
  agent-guild-preflight config show --root ~/host --project shop
  agent-guild-preflight config remove --root ~/host --project shop --yes`,
    )
    .action(() => {
      throw new CannotRun("config: expected list, show or remove; config --help says more");
    });
  addList(config);
  addShow(config);
  addRemove(config);
}

function addList(config: Command): void {
  addCommand(config, {
    name: "list",
    summary: "list every configuration file of the plugin, whatever its scope",
    examples: ["list --root ~/host", "list --root ~/host --json"],
  })
    .requiredOption("--root <dir>", "the host's root: the folder that holds usr/ and plugins/")
    .addOption(jsonFlag())
    .action(async ({ root, json = false, color }: ListFlags) => {
      const terminal = processTerminal({ color });
      const scope = rootScope({ root });
      const files = await Promise.all(
        findConfigFiles(scope.root).map((file) => readConfigFile(scope.root, file)),
      );
      const document: ConfigListDocument = {
        ok: files.every(({ file }) => file.valid),
        files: files.map(({ file }) => file),
      };
      terminal.result(json ? JSON.stringify(document) : listText(document, terminal.paint));
      process.exitCode = document.ok ? 0 : 1;
    });
}

function addShow(config: Command): void {
  const command = addCommand(config, {
    name: "show [file]",
    summary: "show one configuration file of the plugin",
    examples: [
      "show --root ~/host",
      "show --root ~/host --project shop --profile clerk",
      "show plugins/agent_guild_preflight/config.json --root ~/host",
    ],
  });
  withRootFlags(command)
    .addOption(jsonFlag())
    .addHelpText("after", FILE_HELP)
    .action(async (path: string | undefined, { json = false, color, ...flags }: FileFlags) => {
      const terminal = processTerminal({ color });
      const scope = rootScope(flags);
      const { file, value } = await readConfigFile(scope.root, chosenFile(scope, path));
      const document: ConfigShowDocument = { ok: file.valid, file, value };
      terminal.result(json ? JSON.stringify(document) : showText(document, terminal.paint));
      process.exitCode = document.ok ? 0 : 1;
    });
}

function addRemove(config: Command): void {
  const command = addCommand(config, {
    name: "remove [file]",
    summary: "remove one configuration file of the plugin",
    examples: ["remove --root ~/host --project shop", "remove --root ~/host --profile clerk --yes"],
  });
  withRootFlags(command)
    .option("--yes", "do not ask")
    .addOption(jsonFlag())
    .addHelpText("after", FILE_HELP)
    .action(async (path: string | undefined, { yes = false, json = false, color, ...flags }: FileFlags) => {
      const terminal = processTerminal({ color });
      const scope = rootScope(flags);
      const file = chosenFile(scope, path);
      if (!yes) await confirm(file.path);
      remove(join(scope.root, file.path));
      const document: ConfigRemoveDocument = {
        ok: true,
        removed: file.path,
        decides_now: decidesFor({ root: scope.root, project: file.project, profile: file.profile }),
      };
      terminal.result(json ? JSON.stringify(document) : removedText(document));
    });
}

const FILE_HELP = `
The file is the one of exactly the scope that --project and --profile name, the
global one without them, or the one that is given as "config list" prints it.`;

/** The file that the flags or the argument name. */
function chosenFile({ root, project, profile }: RootScope, path: string | undefined): FoundFile {
  const files = findConfigFiles(root);
  if (path !== undefined) {
    const named = files.find((file) => file.path === path);
    if (named !== undefined) return named;
    throw new CannotRun("there is no such configuration file; config list prints those that exist");
  }
  const own = ["project profile", "project", "user profile", "global"];
  const found = files.find(
    (file) => own.includes(file.scope) && file.project === project && file.profile === profile,
  );
  if (found !== undefined) return found;
  throw new CannotRun("there is no configuration file at this scope; config list prints those that exist");
}

async function confirm(path: string): Promise<void> {
  if (!process.stdin.isTTY) throw new CannotRun("nobody can be asked here; give --yes to remove the file");
  const questions = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await questions.question(`Remove ${shown(path)}? [y/N] `);
    if (!/^y(?:es)?$/i.test(answer.trim())) throw new CannotRun("nothing was removed");
  } finally {
    questions.close();
  }
}

function remove(path: string): void {
  try {
    rmSync(path);
  } catch {
    throw new CannotRun("the file cannot be removed; see its permissions");
  }
}
