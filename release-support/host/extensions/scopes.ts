import { join, resolve } from "node:path";

import { checkSelection, enabledPlugins } from "../../../helpers/config/enabled_plugins.ts";
import type { PluginFolder, ScopeSelection } from "../../../helpers/config/enabled_plugins.ts";
import { disk, mayExist } from "../../../helpers/config/file_view.ts";
import type { FileView } from "../../../helpers/config/file_view.ts";

/** The kinds of scope, the most specific first. */
export type ScopeName =
  | "project profile"
  | "project"
  | "user profile"
  | "plugin profile"
  | "built-in profile"
  | "user"
  | "plugin"
  | "framework";

/** One path of the search order. */
export interface ScopePath {
  readonly scope: ScopeName;
  /** Whose folder it is, for the two kinds of scope that belong to a plugin. */
  readonly plugin: string | null;
  /** Absolute. */
  readonly path: string;
}

/** Which scopes a search covers; each part is on unless said otherwise. */
export interface ScopePathOptions {
  /**
   * Whether only paths that exist are listed. If not, the paths below every scope are, but a profile that a project or
   * a plugin lacks is still left out.
   */
  readonly mustExistCompletely?: boolean;
  readonly includeProject?: boolean;
  /** Whether `usr/` itself is a scope; `usr/agents/<profile>` always is. */
  readonly includeUser?: boolean;
  readonly includePlugins?: boolean;
  /** Whether the framework's own folder is a scope. */
  readonly includeDefault?: boolean;
  /** The framework's own folder below the root. */
  readonly defaultRoot?: string;
  /** The plugins that are on for this selection, in name order; looked up unless given. */
  readonly enabledPlugins?: readonly PluginFolder[];
  /** What to look at; the disk unless given. */
  readonly files?: FileView;
}

/**
 * Gives the framework's general search order: where something may lie for an agent, the most specific scope first
 * (`subagents.get_paths`; vectors `scope_paths`). What cannot be looked at counts as existing, so that a search meets
 * it instead of passing it by. Departure: names are literal, never patterns (SPEC P2.4).
 *
 * @param root - the host root
 * @param selection - the agent's project and profile
 * @param subpaths - joined below every scope
 * @param options - see {@link ScopePathOptions}
 * @throws TypeError when a name of the selection is no usable name
 * @throws PluginRootError when the enabled plugins cannot be listed
 */
export function scopePaths(
  root: string,
  selection: ScopeSelection,
  subpaths: readonly string[],
  options: ScopePathOptions = {},
): ScopePath[] {
  const { mustExistCompletely = true, includePlugins = true, files = disk } = options;
  const enabled = () => options.enabledPlugins ?? enabledPlugins(root, selection, "error", files);
  const plugins = includePlugins ? enabled() : [];
  return scopeFolders(resolve(root), selection, plugins, options)
    .filter(({ path, optional }) => mustExistCompletely || !optional || mayExist(path, files))
    .map(({ scope, plugin, path }) => ({ scope, plugin, path: join(path, ...subpaths) }))
    .filter(({ path }) => !mustExistCompletely || mayExist(path, files));
}

/** A scope's own folder; an optional one is a scope only while it exists. */
interface ScopeFolder extends ScopePath {
  readonly optional: boolean;
}

function scopeFolders(
  root: string,
  selection: ScopeSelection,
  plugins: readonly PluginFolder[],
  { includeProject = true, includeUser = true, includeDefault = true, defaultRoot = "" }: ScopePathOptions,
): ScopeFolder[] {
  const { project, profile } = checkSelection(selection);
  const folders: ScopeFolder[] = [];
  const add = (scope: ScopeName, path: string, plugin: string | null = null, optional = false) => {
    folders.push({ scope, plugin, path, optional });
  };
  if (includeProject && project !== null) {
    const meta = join(root, "usr/projects", project, ".a0proj");
    if (profile !== null) add("project profile", join(meta, "agents", profile), null, true);
    add("project", meta);
  }
  if (profile !== null) {
    add("user profile", join(root, "usr/agents", profile));
    for (const { name, path } of plugins) add("plugin profile", join(path, "agents", profile), name, true);
    add("built-in profile", join(root, "agents", profile));
  }
  if (includeUser) add("user", join(root, "usr"));
  for (const { name, path } of plugins) add("plugin", path, name);
  if (includeDefault) add("framework", join(root, defaultRoot));
  return folders;
}
