import { join, resolve } from "node:path";

import { disk, mayExist } from "./file_view.ts";
import type { FileView } from "./file_view.ts";

/** The framework's names for the places below a root. */
const MANIFEST = "plugin.yaml";
const TOGGLE_OFF = ".toggle-0";
const TOGGLE_ON = ".toggle-1";
/** Where plugins lie, the winning root first. */
const PLUGIN_ROOTS = [
  ["user", "usr/plugins"],
  ["built-in", "plugins"],
] as const;

/** A folder that holds `plugin.yaml` directly below one of the two plugin roots. */
export interface PluginFolder {
  /** The folder's own name, which is the plugin's. */
  readonly name: string;
  /** Absolute path. */
  readonly path: string;
  readonly origin: "user" | "built-in";
}

/** The agent's project and profile; null, empty or left out means none. */
export interface ScopeSelection {
  readonly project?: string | null;
  readonly profile?: string | null;
}

/** A selection whose names were checked. */
export interface CheckedSelection {
  readonly project: string | null;
  readonly profile: string | null;
}

/** A plugin root cannot be listed, so nobody can say which plugins there are. */
export class PluginRootError extends Error {
  override readonly name = "PluginRootError";
  /** Relative to the host root: `usr/plugins` or `plugins`. */
  readonly folder: string;
  /** The system's error code, such as `ENOENT`. */
  readonly code: string;

  constructor(folder: string, code: string) {
    super(`the plugin folder ${folder} cannot be listed (${code}); it must exist and be readable`);
    this.folder = folder;
    this.code = code;
  }
}

/**
 * Lists every plugin of a host root: the folders of both plugin roots that hold `plugin.yaml` and whose names do not
 * begin with a full stop. Of two with one name the user's counts. What the manifest says is not read, so a broken one
 * does not take its plugin away (SPEC H2; vectors `toggles`).
 *
 * @param root - the host root
 * @param missingRoot - what a plugin root that does not exist means: an error, as recorded, or no plugins
 * @param files - what to look at
 * @returns the plugins in code-point order of their names
 * @throws PluginRootError when a plugin root cannot be listed
 */
export function listPlugins(
  root: string,
  missingRoot: "error" | "empty" = "error",
  files: FileView = disk,
): PluginFolder[] {
  const plugins = new Map<string, PluginFolder>();
  for (const [origin, folder] of PLUGIN_ROOTS) {
    for (const name of subfolders(root, folder, missingRoot, files)) {
      const path = resolve(root, folder, name);
      if (!plugins.has(name) && mayExist(join(path, MANIFEST), files))
        plugins.set(name, { name, path, origin });
    }
  }
  return [...plugins.values()].toSorted((one, other) => compareCodePoints(one.name, other.name));
}

/**
 * Lists the plugins that no toggle switches off for a project and profile (vectors `toggles`). From the built-in root
 * to the project's profile each scope is looked at in turn: while the plugin is on only `.toggle-0` counts, while it is
 * off only `.toggle-1`. A manifest's `always_enabled` does not resist a toggle here, as recorded.
 *
 * @param root - the host root
 * @param selection - whose toggles count beside the global ones; none by default
 * @param missingRoot - as for {@link listPlugins}
 * @param files - what to look at
 * @returns the enabled plugins in code-point order of their names
 * @throws PluginRootError when a plugin root cannot be listed
 * @throws TypeError when a name of the selection is no usable name
 */
export function enabledPlugins(
  root: string,
  selection: ScopeSelection = {},
  missingRoot: "error" | "empty" = "error",
  files: FileView = disk,
): PluginFolder[] {
  const scopes = toggleScopes(checkSelection(selection));
  return listPlugins(root, missingRoot, files).filter(({ name }) =>
    scopes.reduce((enabled, scope) => toggled(join(root, scope, "plugins", name), enabled, files), true),
  );
}

/**
 * Finds a plugin's own folder, which need neither be enabled nor have a name that a listing shows.
 *
 * @param root - the host root
 * @param plugin - the plugin's name
 * @returns its folder, the user's before the built-in one; `null` when neither holds `plugin.yaml`
 * @throws TypeError when the name is no usable name
 */
export function findPluginFolder(root: string, plugin: string): PluginFolder | null {
  const name = checkName("plugin", plugin);
  for (const [origin, folder] of PLUGIN_ROOTS) {
    const path = resolve(root, folder, name);
    if (mayExist(join(path, MANIFEST))) return { name, path, origin };
  }
  return null;
}

/**
 * Checks a project and a profile name.
 *
 * @param selection - the names; null, undefined and the empty text mean none
 * @returns the names as they are, `null` for none
 * @throws TypeError when one is no usable name (SPEC P2.4)
 */
export function checkSelection(selection: ScopeSelection): CheckedSelection {
  const check = (what: "project" | "profile") => {
    const name = selection[what] ?? "";
    return name === "" ? null : checkName(what, name);
  };
  return { project: check("project"), profile: check("profile") };
}

/**
 * Checks that a name names one folder, taken literally: it is never a pattern and never leads elsewhere (SPEC P2.4).
 *
 * @param what - whose name it is, for the message
 * @param name - the name
 * @returns the name as it is
 * @throws TypeError when it is empty, `.`, `..`, no text, or holds `/` or NUL
 */
export function checkName(what: "plugin" | "project" | "profile", name: string): string {
  if (typeof name !== "string" || name === "" || name === "." || name === ".." || /[/\0]/.test(name)) {
    throw new TypeError(`a ${what} name must be a text other than "", "." and ".." without "/" and NUL`);
  }
  return name;
}

/** Orders texts by their code points, whatever the locale; `Array#sort` alone goes by UTF-16 code units. */
export function compareCodePoints(one: string, other: string): number {
  // The order of UTF-8 bytes is the order of code points.
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

/** The folders that may hold `plugins/<plugin>/.toggle-*`, from the least to the most specific. */
function toggleScopes({ project, profile }: CheckedSelection): string[] {
  const projectFolder = project === null ? null : join("usr/projects", project, ".a0proj");
  return [
    "",
    "usr",
    ...(profile === null ? [] : [join("agents", profile), join("usr/agents", profile)]),
    ...(projectFolder === null ? [] : [projectFolder]),
    ...(projectFolder === null || profile === null ? [] : [join(projectFolder, "agents", profile)]),
  ];
}

function toggled(folder: string, enabled: boolean, files: FileView): boolean {
  // Alone among all files a toggle that cannot be looked at counts as absent, as in the framework.
  const toggle = files.sight(join(folder, enabled ? TOGGLE_OFF : TOGGLE_ON)).kind === "present";
  return enabled !== toggle;
}

function subfolders(root: string, folder: string, missingRoot: "error" | "empty", files: FileView): string[] {
  const listing = files.list(join(root, folder));
  if (listing.kind === "listed") {
    return listing.entries
      .filter(({ name, isFolder }) => isFolder && !name.startsWith("."))
      .map(({ name }) => name);
  }
  if (missingRoot === "empty" && listing.kind === "absent") return [];
  throw new PluginRootError(folder, listing.code);
}
