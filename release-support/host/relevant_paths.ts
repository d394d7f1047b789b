// Which files below a host root the host looks at. The watcher watches these and nothing else, so that ten thousand other
// files cost nothing, and a snapshot holds these and nothing else.

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

const MODULE = /\.[cm]?[jt]s$/;
const EXTENSION_FILE = /\.(?:js|mjs|ts)$/;
const DECLARATIONS = /\.d\.[cm]?ts$/;
const TOGGLES: ReadonlySet<string> = new Set([".toggle-0", ".toggle-1"]);
/** How deep a plugin's own modules are looked for. */
const MAX_MODULE_DEPTH = 8;

/**
 * Tells whether the host looks into a folder (SPEC H1, H4).
 *
 * @param path - relative to the host root, with `/` between its parts; empty for the root itself
 */
export function isRelevantFolder(path: string): boolean {
  return classify(path === "" ? [] : path.split("/")) !== null;
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
      return EXTENSION_FILE.test(name) && !DECLARATIONS.test(name) ? "extension" : null;
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

/** What kind of folder it is; `way` is one that only leads to others. */
type FolderKind = "way" | "extensions" | "toggles" | "plugin" | "modules";

function classify(parts: readonly string[]): FolderKind | null {
  const [first, second, third, fourth, ...rest] = parts;
  if (first === undefined) return "way";
  if (first !== "usr") return inPluginRoot(parts) ?? inScope(parts) ?? inProfiles(parts);
  if (second === undefined) return "way";
  if (second !== "projects") {
    const below = parts.slice(1);
    return inPluginRoot(below) ?? inScope(below) ?? inProfiles(below);
  }
  if (third === undefined || fourth === undefined) return "way";
  if (fourth !== ".a0proj") return null;
  return rest.length === 0 ? "way" : (inScope(rest) ?? inProfiles(rest));
}

/** Below a scope's folder: its extensions, and the toggles of plugins. */
function inScope([first, second, third, ...rest]: readonly string[]): FolderKind | null {
  if (first === "extensions") {
    if (second === undefined) return "way";
    return second === "node" ? "extensions" : null;
  }
  if (first !== "plugins" || rest.length > 0 || third !== undefined) return null;
  return second === undefined ? "way" : "toggles";
}

function inProfiles([first, second, ...rest]: readonly string[]): FolderKind | null {
  if (first !== "agents") return null;
  return second === undefined || rest.length === 0 ? "way" : inScope(rest);
}

/** Below one of the two plugin roots: whole plugins, with profiles and modules of their own. */
function inPluginRoot([first, plugin, ...rest]: readonly string[]): FolderKind | null {
  if (first !== "plugins") return null;
  if (plugin === undefined) return "way";
  if (plugin.startsWith(".")) return null;
  if (rest.length === 0) return "plugin";
  if (rest.length > MAX_MODULE_DEPTH || rest.some((part) => part === "node_modules" || part.startsWith(".")))
    return null;
  return inScope(rest) ?? inProfiles(rest) ?? "modules";
}

function moduleOr(name: string, otherwise: FilePurpose | null): FilePurpose | null {
  return MODULE.test(name) && !DECLARATIONS.test(name) ? "module" : otherwise;
}
