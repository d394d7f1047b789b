import { join, resolve } from "node:path";

import {
  checkName,
  checkSelection,
  enabledPlugins,
  findPluginFolder,
  PluginRootError,
} from "./enabled_plugins.ts";
import type { CheckedSelection, PluginFolder, ScopeSelection } from "./enabled_plugins.ts";

const CONFIG_FILE = "config.json";
const DEFAULT_FILE = "default_config.yaml";

/** Whose configuration is asked for. */
export interface ConfigScope extends ScopeSelection {
  /** The folder that holds `usr/` and `plugins/`. */
  readonly root: string;
  /** The plugin's name. */
  readonly plugin: string;
}

/** The places in which the search looks, in this order. */
export type ConfigScopeName =
  | "project profile"
  | "project"
  | "user profile"
  | "plugin profile"
  | "built-in profile"
  | "global"
  | "built-in"
  | "default";

/** A configuration scope whose names were checked. */
export interface CheckedScope extends CheckedSelection {
  readonly root: string;
  readonly plugin: string;
}

/**
 * Checks a scope's root and names.
 *
 * @param scope - the scope
 * @returns it with an absolute root, `null` for names that mean none
 * @throws TypeError when the root is no text or a name is no usable name (SPEC P2.4)
 */
export function checkScope(scope: ConfigScope): CheckedScope {
  if (typeof scope.root !== "string" || scope.root === "") {
    throw new TypeError("the root of a configuration scope must be the path of a folder");
  }
  return {
    root: resolve(scope.root),
    plugin: checkName("plugin", scope.plugin),
    ...checkSelection(scope),
  };
}

/** A place of the search: a file to look for, a folder that bars the way, or nothing to look for. */
export type Place =
  | {
      readonly kind: "file";
      readonly scopeName: ConfigScopeName;
      readonly path: string;
      readonly source: "scoped" | "default";
    }
  | {
      readonly kind: "barred";
      readonly scopeName: ConfigScopeName;
      readonly path: string;
      readonly problem: string;
    }
  | {
      readonly kind: "nothing";
      readonly scopeName: ConfigScopeName;
      readonly path: string | null;
      readonly why: string;
    };

/**
 * Gives the places of a plugin's configuration in the order in which the framework's `find_plugin_assets` and
 * `get_plugin_config` look at them (SPEC P2.1; vectors `config_scope`).
 *
 * @param scope - whose configuration
 * @param plugins - the plugins that are on globally, in name order; read from the root unless given, and then only when
 *   their turn comes
 */
export function* configPlaces(scope: CheckedScope, plugins?: readonly PluginFolder[]): Generator<Place> {
  const { root, plugin, project, profile } = scope;
  const noProject = project === null ? "no project is selected" : null;
  const noProfile = profile === null ? "no profile is selected" : null;
  const meta = join("usr/projects", project ?? "", ".a0proj");

  const place = (scopeName: ConfigScopeName, without: string | null, ...folder: string[]): Place =>
    without === null
      ? fileIn(join(root, ...folder, "plugins", plugin), scopeName)
      : nothing(scopeName, without);

  yield place("project profile", noProject ?? noProfile, meta, "agents", profile ?? "");
  yield place("project", noProject, meta);
  yield place("user profile", noProfile, "usr/agents", profile ?? "");
  if (profile === null) yield nothing("plugin profile", "no profile is selected");
  else yield* pluginProfilePlaces(scope, profile, plugins);
  yield place("built-in profile", noProfile, "agents", profile ?? "");
  yield place("global", null, "usr");
  yield place("built-in", null);
  yield* defaultPlaces(root, plugin);
}

function fileIn(folder: string, scopeName: ConfigScopeName): Place {
  return { kind: "file", scopeName, path: join(folder, CONFIG_FILE), source: "scoped" };
}

function nothing(scopeName: ConfigScopeName, why: string, path: string | null = null): Place {
  return { kind: "nothing", scopeName, path, why };
}

function* pluginProfilePlaces(
  scope: CheckedScope,
  profile: string,
  known: readonly PluginFolder[] | undefined,
): Generator<Place> {
  const scopeName = "plugin profile";
  let plugins: readonly PluginFolder[];
  try {
    // As recorded, only the global toggles count here. A root that does not exist holds no plugin.
    plugins = known ?? enabledPlugins(scope.root, {}, "empty");
  } catch (error) {
    if (!(error instanceof PluginRootError)) throw error;
    const path = join(scope.root, error.folder);
    yield { kind: "barred", scopeName, path, problem: `it cannot be read (${error.code})` };
    return;
  }
  if (plugins.length === 0) yield nothing(scopeName, "no plugin is enabled");
  for (const { path } of plugins) {
    yield fileIn(join(path, "agents", profile, "plugins", scope.plugin), scopeName);
  }
}

function* defaultPlaces(root: string, plugin: string): Generator<Place> {
  const own = findPluginFolder(root, plugin);
  const place = (origin: PluginFolder["origin"], folder: string, without: string): Place => {
    const path = join(root, folder, plugin, DEFAULT_FILE);
    return own?.origin === origin
      ? { kind: "file", scopeName: "default", path, source: "default" }
      : nothing("default", without, path);
  };
  const noManifest = "its folder holds no plugin.yaml";
  yield place("user", "usr/plugins", noManifest);
  yield place(
    "built-in",
    "plugins",
    own === null ? noManifest : "the user's plugin of this name replaces it",
  );
}
