import { join, relative } from "node:path";

import { PLUGIN_NAME } from "../../../helpers/settings/current_settings.ts";
import { enabledPlugins, findPluginFolder } from "../../../helpers/config/enabled_plugins.ts";
import type { Listing } from "../../../helpers/config/file_view.ts";
import { ExtensionCatalog } from "../../host/extensions/extension_catalog.ts";
import type { LoadedExtension, RefusedFile } from "../../host/extensions/extension_catalog.ts";
import { RootSnapshot } from "../../host/extensions/root_snapshot.ts";
import type { DoctorDocument } from "../output_schemas.ts";
import type { RootScope } from "../root_flags.ts";

const POINT = "tool_execute_before";

/** The stem of the gate's extension file. */
export const GATE = "_45_agent_guild_preflight";

/** What runs before a tool of a scope. */
export interface ExaminedExtensions {
  readonly document: DoctorDocument["extensions"];
  /** What runs in the gate's place, if anything does. */
  readonly gate: LoadedExtension | null;
  /** Whether that is the plugin's own file. */
  readonly gateIsOwn: boolean;
  /** Files that are not in force as they stand on disk. */
  readonly refused: readonly RefusedFile[];
}

/** The plugin's own folder, and whether it is on for a scope. */
export function examinePlugin({ root, ...selection }: RootScope): DoctorDocument["plugin"] {
  const folder = findPluginFolder(root, PLUGIN_NAME);
  if (folder === null) return { path: null, origin: null, enabled: false };
  const enabled = enabledPlugins(root, selection, "empty").some(({ name }) => name === PLUGIN_NAME);
  return { path: relative(root, folder.path), origin: folder.origin, enabled };
}

/**
 * Loads the extensions of a root as a host would, and lists those that run before a tool, in order (SPEC H3). Their
 * modules are loaded, none of them is run; nothing is written.
 */
export async function examineExtensions({ root, ...selection }: RootScope): Promise<ExaminedExtensions> {
  try {
    const catalog = await ExtensionCatalog.load(root, new LaidOutSnapshot(root), null);
    const set = catalog.setFor(POINT, selection);
    const gate = set.find(({ stem }) => stem === GATE) ?? null;
    return {
      document: { point: POINT, problem: null, in_order: set.map((extension) => reported(root, extension)) },
      gate,
      gateIsOwn: gate?.scope === "plugin" && gate.plugin === PLUGIN_NAME,
      refused: catalog.refused,
    };
  } catch (error) {
    const problem = error instanceof Error ? error.message : "the extensions cannot be loaded";
    return {
      document: { point: POINT, problem, in_order: [] },
      gate: null,
      gateIsOwn: false,
      refused: [],
    };
  }
}

function reported(
  root: string,
  { path, scope, plugin, shadows, stem }: LoadedExtension,
): DoctorDocument["extensions"]["in_order"][number] {
  return {
    path: relative(root, path),
    scope,
    plugin,
    shadows: shadows.map((one) => relative(root, one)),
    is_gate: stem === GATE,
  };
}

/** The root as a host leaves it when it starts: both plugin folders are there. */
class LaidOutSnapshot extends RootSnapshot {
  readonly #pluginRoots: readonly string[];

  constructor(root: string) {
    super(root);
    this.#pluginRoots = [join(root, "plugins"), join(root, "usr", "plugins")];
  }

  override list(path: string): Listing {
    const listing = super.list(path);
    const isMissing = listing.kind === "absent" && this.#pluginRoots.includes(path);
    return isMissing ? { kind: "listed", entries: [] } : listing;
  }
}
