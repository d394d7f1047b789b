import { readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

import type { Command } from "commander";

import { checkSelection } from "../../helpers/config/enabled_plugins.ts";
import { CannotRun } from "./cannot_run.ts";
import { levelProblem } from "./root_level.ts";

/** The flags that name a host root and whose configuration counts in it. */
export interface RootFlags {
  readonly root: string;
  readonly project?: string;
  readonly profile?: string;
}

/** A host root and whose configuration counts in it. */
export interface RootScope {
  /** Absolute. */
  readonly root: string;
  readonly project: string | null;
  readonly profile: string | null;
}

/** Adds `--root`, required unless said otherwise, `--project` and `--profile`. */
export function withRootFlags(command: Command, root: "required" | "optional" = "required"): Command {
  const words = "the host's root: the folder that holds usr/ and plugins/";
  const withRoot =
    root === "required"
      ? command.requiredOption("--root <dir>", words)
      : command.option("--root <dir>", words);
  return withRoot
    .option("--project <name>", "the project whose configuration counts")
    .option("--profile <name>", "the agent profile whose configuration counts");
}

/**
 * Checks what the flags name.
 *
 * @param flags - what was typed
 * @param whenOff - what becomes of a root that looks a level off: it is refused, or the command tells of it itself
 * @throws CannotRun when there is no such root or project, or a name is none
 */
export function rootScope(
  { root, project, profile }: RootFlags,
  whenOff: "refuse" | "go on" = "refuse",
): RootScope {
  const path = resolve(root);
  if (!isFolder(path)) throw new CannotRun("--root: there is no such folder; give the host's root");
  const off = levelProblem(path);
  if (!isFolder(join(path, "usr")) && !isFolder(join(path, "plugins"))) {
    const hint = off ?? "give the host's root";
    throw new CannotRun(`--root: the folder holds neither usr/ nor plugins/, so it is no host root; ${hint}`);
  }
  if (off !== null && whenOff === "refuse") throw new CannotRun(`--root: ${off}`);
  const selection = { project: named("--project", project), profile: named("--profile", profile) };
  if (selection.project !== null && !isFolder(join(path, "usr", "projects", selection.project))) {
    throw new CannotRun("--project: the root has no project of this name below usr/projects/");
  }
  return { root: path, ...selection };
}

function named(flag: string, name: string | undefined): string | null {
  if (name === undefined) return null;
  try {
    const { project } = checkSelection({ project: name });
    if (project !== null) return project;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  throw new CannotRun(`${flag}: the name of a folder is needed, without "/" and other than "." and ".."`);
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** The names of the folders in a folder, in order; none when it cannot be listed. */
export function folderNames(path: string): string[] {
  try {
    return readdirSync(path)
      .filter((name) => isFolder(join(path, name)))
      .toSorted();
  } catch {
    return [];
  }
}
