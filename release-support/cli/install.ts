import type { Command } from "commander";

import {
  InstallError,
  installPlugin,
  PLUGIN_FOLDER,
  uninstallPlugin,
} from "../packaging/plugin_installer.ts";
import { packageVersion } from "../packaging/package_root.ts";
import { announced, processTerminal } from "../terminal/terminal.ts";
import { CannotRun } from "./cannot_run.ts";
import { addCommand, jsonFlag } from "./command.ts";
import type { CommonFlags } from "./command.ts";
import { examinePlugin } from "./doctor/extensions.ts";
import { installText, uninstallText } from "./install/install_text.ts";
import type { InstallDocument, UninstallDocument } from "./install/install_documents.ts";
import { protectedNow } from "./protected_now.ts";
import { rootScope } from "./root_flags.ts";

interface InstallFlags extends CommonFlags {
  readonly root: string;
  readonly json?: boolean;
}

interface UninstallFlags extends InstallFlags {
  readonly purge?: boolean;
}

/** Adds the command `install` (SPEC C7). */
export function addInstall(program: Command): void {
  addCommand(program, {
    name: "install",
    summary: "put the plugin into a host root, or replace the version that is there",
    examples: ["install --root ~/host", "install --root ~/host --json"],
  })
    .requiredOption("--root <dir>", "the host's root: the folder that holds usr/ and plugins/")
    .addOption(jsonFlag())
    .addHelpText(
      "after",
      `
The new folder is made whole beside the old one and takes its place by renaming;
config.json and toggles are kept, nothing else is. If it fails, the old version
is there still. A host that is running goes on gating; restart it afterwards.`,
    )
    .action(async (flags: InstallFlags) => {
      process.exitCode = await install(flags);
    });
}

/** Adds the command `uninstall` (SPEC C7). */
export function addUninstall(program: Command): void {
  addCommand(program, {
    name: "uninstall",
    summary: "take the plugin out of a host root, and say what that unprotects",
    examples: ["uninstall --root ~/host", "uninstall --root ~/host --purge"],
  })
    .requiredOption("--root <dir>", "the host's root: the folder that holds usr/ and plugins/")
    .option("--purge", "also remove the config.json and toggles in the plugin's folder")
    .addOption(jsonFlag())
    .addHelpText(
      "after",
      `
Without --purge the config.json and toggles of the plugin's folder stay for a later
installation. Those of projects and profiles stay in any case; config remove
takes them.`,
    )
    .action(async (flags: UninstallFlags) => {
      await uninstall(flags);
    });
}

async function install({ root, json = false, color }: InstallFlags): Promise<0 | 1> {
  const terminal = processTerminal({ color });
  const scope = rootScope({ root });
  const replaced = orCannotRun(() => installPlugin(scope.root));
  const protections = await announced(terminal, "Reading the configuration", protectedNow(scope.root));
  const { enabled } = examinePlugin(scope);
  const document: InstallDocument = {
    ok: enabled && protections.every(({ valid }) => valid),
    root: scope.root,
    path: PLUGIN_FOLDER,
    version: packageVersion(),
    replaced:
      replaced === null ? null : { ...replaced, kept: [...replaced.kept], dropped: [...replaced.dropped] },
    enabled,
    protected: protections,
  };
  terminal.result(json ? JSON.stringify(document) : installText(document, terminal.paint));
  return document.ok ? 0 : 1;
}

async function uninstall({ root, purge = false, json = false, color }: UninstallFlags): Promise<void> {
  const terminal = processTerminal({ color });
  const scope = rootScope({ root });
  const before = await protectedNow(scope.root);
  const removed = orCannotRun(() => uninstallPlugin(scope.root, !purge));
  if (removed === null)
    throw new CannotRun(`the plugin is not installed: there is no ${PLUGIN_FOLDER}/plugin.yaml`);
  const document: UninstallDocument = {
    ok: true,
    root: scope.root,
    removed: { ...removed, path: PLUGIN_FOLDER, kept: [...removed.kept], dropped: [...removed.dropped] },
    unprotects: before.filter(({ servers }) => servers.length > 0),
    remains: examinePlugin(scope).path,
  };
  terminal.result(json ? JSON.stringify(document) : uninstallText(document));
}

function orCannotRun<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw error instanceof InstallError ? new CannotRun(error.message) : error;
  }
}
