import { relative } from "node:path";

import { scopePaths } from "../../host/extensions/scopes.ts";
import type { ScopePathOptions } from "../../host/extensions/scopes.ts";
import { PLUGIN_ROOTS, withFileTree } from "../file_tree.ts";
import type { FileTree } from "../file_tree.ts";
import type { Port } from "../runner.ts";

interface Input {
  readonly tree: FileTree;
  readonly project: string | null;
  readonly profile: string | null;
  readonly subpaths: readonly string[];
  readonly flags: Flags;
}

interface Flags {
  readonly must_exist_completely?: boolean;
  readonly include_project?: boolean;
  readonly include_user?: boolean;
  readonly include_plugins?: boolean;
  readonly include_default?: boolean;
  readonly default_root?: string;
}

export default {
  run({ tree, project, profile, subpaths, flags }: Input) {
    return withFileTree({ ...PLUGIN_ROOTS, ...tree }, (root) =>
      scopePaths(root, { project, profile }, subpaths, options(flags)).map(
        ({ path }) => relative(root, path) || ".",
      ),
    );
  },
} satisfies Port;

function options(flags: Flags): ScopePathOptions {
  return {
    mustExistCompletely: flags.must_exist_completely ?? true,
    includeProject: flags.include_project ?? true,
    includeUser: flags.include_user ?? true,
    includePlugins: flags.include_plugins ?? true,
    includeDefault: flags.include_default ?? true,
    defaultRoot: flags.default_root ?? "",
  };
}
