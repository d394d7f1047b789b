import { randomUUID } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

import { errorCode } from "../../helpers/config/file_view.ts";
import { PLUGIN_NAME } from "../../helpers/settings/current_settings.ts";
import { makePluginDirectory } from "./plugin_package.ts";
import { compareWithRelease, filesBelow, operatorsFiles } from "./release_manifest.ts";

/** The plugin's folder in a host root, relative to it. */
export const PLUGIN_FOLDER = `usr/plugins/${PLUGIN_NAME}`;

/** What was there before, and what became of it. Paths are relative to the plugin folder. */
export interface Replacement {
  /** The version that was replaced or removed; `null` when it did not say. */
  readonly version: string | null;
  /** The operator's files that were kept. */
  readonly kept: readonly string[];
  /** Files that are gone and that the old release did not have, or not as they were. */
  readonly dropped: readonly string[];
}

/** The plugin cannot be put in place or taken out. Its message says why and what to do. */
export class InstallError extends Error {
  override readonly name = "InstallError";
}

/**
 * Puts the plugin into a host root, in place of the one that may be there (SPEC C7). The new folder is made whole beside
 * the old one and takes its place by renaming; the operator's configuration and toggles stay, nothing else does. In the
 * moment between two renames there is no configuration to read, and a gate that is running denies.
 *
 * @param root - the host root
 * @returns what was replaced; `null` when the plugin was not there
 * @throws InstallError when it cannot be done; what was there before is there again
 */
export function installPlugin(root: string): Replacement | null {
  return replaceFolder(root, { keeps: true, fill: (fresh) => makePluginDirectory(fresh, "copied") });
}

/**
 * Takes the plugin out of a host root (SPEC C7).
 *
 * @param root - the host root
 * @param keeps - whether `config.json` and toggles stay, for a later installation
 * @returns what was removed; `null` when the plugin is not there
 * @throws InstallError when it cannot be done; what was there before is there again
 */
export function uninstallPlugin(root: string, keeps: boolean): Replacement | null {
  const target = join(root, PLUGIN_FOLDER);
  restoreBrokenOff(target);
  if (!existsSync(join(target, "plugin.yaml"))) return null;
  return replaceFolder(root, { keeps, fill: () => undefined });
}

/** What makes the folder that takes the place, and whether the operator's files move into it. */
interface NewFolder {
  readonly keeps: boolean;
  readonly fill: (fresh: string) => void;
}

function replaceFolder(root: string, { keeps, fill }: NewFolder): Replacement | null {
  const target = join(root, PLUGIN_FOLDER);
  if (existsSync(join(target, ".git"))) {
    throw new InstallError(
      `${PLUGIN_FOLDER} is a clone: update it with git pull and npm ci, or move it away`,
    );
  }
  let fresh: string | null = null;
  try {
    mkdirSync(dirname(target), { recursive: true });
    restoreBrokenOff(target);
    fresh = `${besideOf(target)}.new-${randomUUID()}`;
    mkdirSync(fresh);
    fill(fresh);
    const before = existsSync(target) ? sightOf(target, fresh, keeps) : null;
    const ready = fresh;
    swapFolders(target, ready, (old) => keeps && keepOperatorsFiles(old, ready));
    return before;
  } catch (error) {
    if (fresh !== null) rmSync(fresh, { recursive: true, force: true });
    const why = errorCode(error);
    throw new InstallError(`the plugin folder cannot be replaced (${why}); what was there is there still`, {
      cause: error,
    });
  }
}

function sightOf(target: string, fresh: string, keeps: boolean): Replacement {
  const state = compareWithRelease(target);
  const kept = keeps ? operatorsFiles(target) : [];
  const there = new Set([...filesBelow(fresh), ...kept]);
  switch (state.kind) {
    case "as_released":
      return { version: state.version, kept, dropped: [] };
    case "differs": {
      const foreign = state.foreign.filter((path) => !there.has(path));
      return { version: state.version, kept, dropped: [...foreign, ...state.changed] };
    }
    default: {
      // Nobody knows what the release brought; its packages are no loss.
      const others = filesBelow(target).filter(
        (path) => !there.has(path) && !path.startsWith("node_modules/"),
      );
      return { version: null, kept, dropped: others };
    }
  }
}

/**
 * Puts a folder in the place of another one. If that fails, the other one is back in its place.
 *
 * @param target - the place; nothing need be there
 * @param fresh - the folder to put there, beside it; an empty one leaves the place empty
 * @param whileAside - a last look at the folder that was there: nobody reads or changes it any more
 * @throws whatever goes wrong, once the old folder is back
 */
export function swapFolders(target: string, fresh: string, whileAside: (old: string) => void): void {
  const old = fresh.replace(/\.new-(?=[^/\\]*$)/, ".old-");
  const hadOne = moveAway(target, old);
  try {
    if (hadOne) whileAside(old);
    if (readdirSync(fresh).length > 0) renameSync(fresh, target);
    else rmSync(fresh, { recursive: true });
  } catch (error) {
    if (hadOne) renameSync(old, target);
    throw error;
  }
  rmSync(old, { recursive: true, force: true });
}

function moveAway(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
    throw error;
  }
}

/** Copied from the folder that was moved aside, so that what was changed until then counts. */
function keepOperatorsFiles(old: string, fresh: string): void {
  for (const path of operatorsFiles(old)) {
    cpSync(join(old, path), join(fresh, path), { preserveTimestamps: true });
  }
}

/** A dot folder beside the plugin folder, into which no host looks. */
function besideOf(target: string): string {
  return join(dirname(target), `.${PLUGIN_NAME}`);
}

/** What an installation that was killed may have left beside the plugin folder. */
const LEFTOVER = new RegExp(`^\\.${PLUGIN_NAME}\\.(?:new|old)-`);
/** How old a new folder must be before it counts as left over, in milliseconds: another installation may be at work. */
const LEFT_AFTER_MS = 600_000;

/**
 * Lists what an installation that was killed left behind.
 *
 * @param root - the host root
 * @returns the names of dot folders in `usr/plugins/`
 */
export function installationLeftovers(root: string): string[] {
  try {
    return readdirSync(dirname(join(root, PLUGIN_FOLDER))).filter((name) => LEFTOVER.test(name));
  } catch {
    return [];
  }
}

/** Brings back the plugin of an installation that was killed between its two renames, and tidies up behind others. */
function restoreBrokenOff(target: string): void {
  for (const name of installationLeftovers(join(target, "../../.."))) {
    const path = join(dirname(target), name);
    if (name.includes(".old-") && !existsSync(target)) renameSync(path, target);
    else if (Date.now() - statSync(path).mtimeMs > LEFT_AFTER_MS) rmSync(path, { recursive: true });
  }
}
