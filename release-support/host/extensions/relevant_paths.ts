// Which files below a host root the host looks at. The watcher watches these and nothing else, so that ten thousand other
// files cost nothing, and a snapshot holds these and nothing else.

import { isExtensionFileName } from "./extension_files.ts";

/** What a file that the host looks at is for. */
export type FilePurpose =
  /** An extension file. */
  | "extension"
  /** A `.toggle-0` or `.toggle-1`. */
  | "toggle"
  /** A `plugin.yaml`. */
  | "manifest"
  /** Any other module of a plugin: it stays as it was loaded until the host restarts. */
  | "module";

/** What a folder that the host looks into is for. */
export type FolderPurpose =
  /** It only leads to others. */
  | "way"
  /** It holds extensions of one or several points. */
  | "extensions"
  /** It holds the toggles of a plugin for one scope. */
  | "toggles"
  /** It is a plugin's own folder. */
  | "plugin"
  /** It may hold modules of a plugin. */
  | "modules";

const MODULE = /\.[cm]?[jt]s$/;
const DECLARATIONS = /\.d\.[cm]?ts$/;
const TOGGLES: ReadonlySet<string> = new Set([".toggle-0", ".toggle-1"]);
/** How deep a plugin's own modules are looked for. */
const MAX_MODULE_DEPTH = 8;
/** Folders of a plugin whose modules are not its own, or are for browsers. */
const FOREIGN_MODULES: ReadonlySet<string> = new Set(["node_modules", "webui"]);

/**
 * Tells what the host looks into a folder for (SPEC H1, H4).
 *
 * @param path - relative to the host root, with `/` between its parts; empty for the root itself
 * @returns its purpose, or `null` when the host does not look into it
 */
export function folderPurpose(path: string): FolderPurpose | null {
  return classify(path === "" ? [] : path.split("/"));
}

/**
 * Tells what the host looks at a file for.
 *
 * @param path - relative to the host root, with `/` between its parts
 * @returns its purpose, or `null` when the host does not look at it
 */
export function filePurpose(path: string): FilePurpose | null {
  const parts = path.split("/");
  const name = parts.pop() ?? "";
  switch (classify(parts)) {
    case "extensions":
      return isExtensionFileName(name) ? "extension" : null;
    case "plugin":
      if (name === "plugin.yaml") return "manifest";
      return moduleOr(name, TOGGLES.has(name) ? "toggle" : null);
    case "modules":
      return moduleOr(name, null);
    case "toggles":
      return TOGGLES.has(name) ? "toggle" : null;
    default:
      return null;
  }
}

function classify(parts: readonly string[]): FolderPurpose | null {
  const [first, second, third, fourth, ...rest] = parts;
  if (first === undefined) return "way";
  if (first !== "usr") return inBase(parts);
  if (second === undefined) return "way";
  if (second !== "projects") return inBase(parts.slice(1));
  if (third === undefined || fourth === undefined) return "way";
  if (fourth !== ".a0proj") return null;
  return rest.length === 0 ? "way" : (inScope(rest) ?? inProfiles(rest));
}

/** Below the root or `usr/`: a scope that also has whole plugins and profiles. */
function inBase(parts: readonly string[]): FolderPurpose | null {
  return parts[0] === "plugins" ? inPluginRoot(parts) : (inScope(parts) ?? inProfiles(parts));
}

/** Below a scope's folder: its extensions, and the toggles of plugins. */
function inScope([first, second, third, ...rest]: readonly string[]): FolderPurpose | null {
  if (first === "extensions") {
    if (second === undefined) return "way";
    return second === "node" ? "extensions" : null;
  }
  if (first !== "plugins" || rest.length > 0 || third !== undefined) return null;
  return second === undefined ? "way" : "toggles";
}

function inProfiles([first, second, ...rest]: readonly string[]): FolderPurpose | null {
  if (first !== "agents") return null;
  return second === undefined || rest.length === 0 ? "way" : inScope(rest);
}

/** Below one of the two plugin roots: whole plugins, with profiles and modules of their own. */
function inPluginRoot([, plugin, ...rest]: readonly string[]): FolderPurpose | null {
  if (plugin === undefined) return "way";
  if (plugin.startsWith(".")) return null;
  if (rest.length === 0) return "plugin";
  return inScope(rest) ?? inProfiles(rest) ?? inModules(rest);
}

function inModules(parts: readonly string[]): FolderPurpose | null {
  const foreign = parts.some((part) => part.startsWith(".") || FOREIGN_MODULES.has(part));
  return foreign || parts.length > MAX_MODULE_DEPTH ? null : "modules";
}

function moduleOr(name: string, otherwise: FilePurpose | null): FilePurpose | null {
  return MODULE.test(name) && !DECLARATIONS.test(name) ? "module" : otherwise;
}
