import { join, relative } from "node:path";

import { compareCodePoints } from "../../../helpers/config/enabled_plugins.ts";
import type { ScopeSelection } from "../../../helpers/config/enabled_plugins.ts";
import { disk } from "../../../helpers/config/file_view.ts";
import type { FileView } from "../../../helpers/config/file_view.ts";
import { scopePaths } from "./scopes.ts";
import type { ScopeName, ScopePath } from "./scopes.ts";

/** What an extension file's name may end with, the preferred first. */
const SUFFIXES = [".js", ".mjs", ".ts"] as const;
const DECLARATIONS = ".d.ts";
/** What Emacs puts beside a file that is being edited, and macOS beside one on a foreign disk. */
const TEMPORARY = /^\.[#_]/;
/** Where extensions lie below a scope. */
const EXTENSIONS_FOLDER = "extensions/node";

/** One folder's file of a stem: what a loader has to load there. */
export interface ExtensionCandidate {
  /** Absolute. */
  readonly path: string;
  readonly scope: ScopeName;
  /** Whose folder it is, for the two kinds of scope that belong to a plugin. */
  readonly plugin: string | null;
  /** Files of the same stem in the same folder with a less preferred suffix: absolute paths, never loaded. */
  readonly unused: readonly string[];
}

/** Every candidate of an extension, which is known by its stem. */
export interface ExtensionStem {
  /** The file name without its suffix. */
  readonly stem: string;
  /** In scope order, the most specific first. */
  readonly candidates: readonly ExtensionCandidate[];
}

/** The extensions of a point in the order in which they run, that of their stems' code points (SPEC H3). */
export type ExtensionFiles = readonly ExtensionStem[];

/** An extension that runs, and what it keeps from running. */
export interface ExtensionWinner {
  readonly stem: string;
  /** Absolute. */
  readonly path: string;
  readonly scope: ScopeName;
  readonly plugin: string | null;
  /** What would run, or be loaded, if the winner were not there: absolute paths. */
  readonly shadows: readonly string[];
  /** Files of the stem that yield no extension and hence override nothing: absolute paths. */
  readonly withoutExtension: readonly string[];
}

/** What a folder that was searched holds. */
export interface ExtensionFolder extends ScopePath {
  /** The names of its entries, in any order. */
  readonly names: readonly string[];
}

/** The folder of an extension point exists and cannot be listed, so nobody can say what must run. */
export class ExtensionFolderError extends Error {
  override readonly name = "ExtensionFolderError";
  /** Relative to the host root. */
  readonly folder: string;

  constructor(folder: string, code: string) {
    super(`the extension folder ${folder} cannot be listed (${code}); make it a readable folder`);
    this.folder = folder;
  }
}

/**
 * Tells whether a file of this name in the folder of a point is an extension: `.js`, `.mjs` and `.ts` are, `.d.ts` and
 * what editors leave beside a file while it is being edited are not (SPEC H3, H4).
 *
 * @param name - the file's name without its folder
 */
export function isExtensionFileName(name: string): boolean {
  return (
    SUFFIXES.some((suffix) => name.endsWith(suffix)) && !name.endsWith(DECLARATIONS) && !TEMPORARY.test(name)
  );
}

/**
 * Finds the files that may run at an extension point (SPEC H3; vectors `extension_order`). Nothing is loaded: which
 * candidate of a stem wins depends on what loading them yields, see {@link selectWinners}.
 *
 * @param root - the host root
 * @param point - the extension point, such as `tool_execute_before` or `_functions/agent/Agent/process_tools/start`
 * @param selection - the agent's project and profile
 * @param files - what to look at
 * @returns every candidate by stem, in the order in which the winners run
 * @throws ExtensionFolderError when a folder of the point cannot be listed
 * @throws PluginRootError when the enabled plugins cannot be listed
 * @throws TypeError when the point leaves its folder or a name of the selection is no usable name
 */
export function findExtensionFiles(
  root: string,
  point: string,
  selection: ScopeSelection,
  files: FileView = disk,
): ExtensionFiles {
  if (point.includes("\0") || point.split("/").includes("..")) {
    throw new TypeError('the name of an extension point must hold neither NUL nor a step ".."');
  }
  const folders = scopePaths(root, selection, [EXTENSIONS_FOLDER, point], { files });
  return groupByStem(folders.map((folder) => ({ ...folder, names: listNames(root, folder, files) })));
}

/**
 * Groups the files of some folders by the extension that they stand for. `x.js`, `x.mjs` and `x.ts` of one folder are
 * one candidate, the first of them that is there; `.d.ts` and every other suffix are none (SPEC H3). A folder with such
 * a name is a candidate too, which no loader can load: it is not passed by.
 *
 * @param folders - the folders in scope order
 * @returns every candidate by stem, in the order in which the winners run
 */
export function groupByStem(folders: readonly ExtensionFolder[]): ExtensionFiles {
  const candidates = new Map<string, ExtensionCandidate[]>();
  for (const folder of folders) {
    for (const [stem, names] of preferredNames(folder.names)) {
      const [path = "", ...unused] = names.map((name) => join(folder.path, name));
      const { scope, plugin } = folder;
      candidates.set(stem, [...(candidates.get(stem) ?? []), { path, scope, plugin, unused }]);
    }
  }
  return [...candidates]
    .map(([stem, list]) => ({ stem, candidates: list }))
    .toSorted((one, other) => compareCodePoints(one.stem, other.stem));
}

/**
 * Selects what runs: of each stem the first candidate that yields an extension; one that yields none overrides nothing.
 * Every candidate is asked about, overridden or not, because a broken file in scope stops its point (vectors
 * `extension_order`).
 *
 * @param files - what {@link findExtensionFiles} found
 * @param yieldsExtension - tells whether the file at an absolute path yields an extension; throws when it cannot be
 *   loaded, and then so does this function
 * @returns the winners in the order in which they run
 */
export function selectWinners(
  files: ExtensionFiles,
  yieldsExtension: (path: string) => boolean,
): ExtensionWinner[] {
  return files.flatMap(({ stem, candidates }) => {
    const asked = candidates.map((candidate) => ({ candidate, yields: yieldsExtension(candidate.path) }));
    const [winner, ...shadowed] = asked.filter(({ yields }) => yields).map(({ candidate }) => candidate);
    if (winner === undefined) return [];
    const { path, scope, plugin } = winner;
    const shadows = [...shadowed.map((candidate) => candidate.path), ...winner.unused];
    const withoutExtension = asked.filter(({ yields }) => !yields).map(({ candidate }) => candidate.path);
    return [{ stem, path, scope, plugin, shadows, withoutExtension }];
  });
}

/** Gives the names of extension files by stem, the preferred one of a stem first. */
function preferredNames(names: readonly string[]): Map<string, string[]> {
  const byStem = new Map<string, string[]>();
  for (const suffix of SUFFIXES) {
    for (const name of names) {
      if (!name.endsWith(suffix) || !isExtensionFileName(name)) continue;
      const stem = name.slice(0, -suffix.length);
      byStem.set(stem, [...(byStem.get(stem) ?? []), name]);
    }
  }
  return byStem;
}

function listNames(root: string, folder: ScopePath, files: FileView): string[] {
  const listing = files.list(folder.path);
  if (listing.kind !== "listed") throw new ExtensionFolderError(relative(root, folder.path), listing.code);
  return listing.entries.map(({ name }) => name);
}
