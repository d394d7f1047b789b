import { enabledPlugins } from "../../../helpers/config/enabled_plugins.ts";
import { PLUGIN_ROOTS, withFileTree } from "../file_tree.ts";
import type { FileTree } from "../file_tree.ts";
import type { Port } from "../runner.ts";

interface Input {
  readonly tree: FileTree;
  readonly project: string | null;
  readonly profile: string | null;
  readonly without_roots?: readonly string[];
}

export default {
  run({ tree, project, profile, without_roots = [] }: Input) {
    const roots = Object.keys(PLUGIN_ROOTS).filter(
      (root) => !without_roots.includes(root.replace(/\/$/, "")),
    );
    const whole = { ...Object.fromEntries(roots.map((root) => [root, ""])), ...tree };
    return withFileTree(whole, (root) => enabledPlugins(root, { project, profile }).map(({ name }) => name));
  },
} satisfies Port;
