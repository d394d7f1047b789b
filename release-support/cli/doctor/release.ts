import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { PLUGIN_NAME } from "../../../helpers/settings/current_settings.ts";
import { installationLeftovers, PLUGIN_FOLDER } from "../../packaging/plugin_installer.ts";
import { compareWithRelease, filesBelow } from "../../packaging/release_manifest.ts";
import type { ReleaseState } from "../../packaging/release_manifest.ts";
import type { DoctorDocument } from "../output_schemas.ts";
import { folderNames } from "../root_flags.ts";

/** What lies in the plugin's folder, and what lies elsewhere and looks like it. Paths are relative to the root. */
export interface ExaminedFolder {
  readonly document: DoctorDocument["release"];
  /** Whether the folder of the user's plugin holds something, be it without a manifest of a plugin. */
  readonly isThere: boolean;
  /** Copies of the plugin in places in which no host looks for it. */
  readonly misplaced: readonly string[];
  /** Copies of the plugin below another name, which a host loads. */
  readonly misnamed: readonly string[];
  /** What an installation that was killed left behind. */
  readonly leftovers: readonly string[];
}

/**
 * Looks at the plugin's folder and for copies elsewhere (SPEC C10).
 *
 * @param root - the host root
 * @param path - the plugin's folder relative to the root; `null` when there is none
 */
export function examineFolder(root: string, path: string | null): ExaminedFolder {
  const state = path === null ? null : compareWithRelease(join(root, path));
  return {
    document: documentOf(state),
    isThere: filesBelow(join(root, PLUGIN_FOLDER)).length > 0,
    misplaced: MISPLACES.filter((place) => existsSync(join(root, place, "plugin.yaml"))),
    misnamed: ["usr/plugins", "plugins"].flatMap((folder) =>
      folderNames(join(root, folder))
        .filter((name) => name !== PLUGIN_NAME && !name.startsWith("."))
        .map((name) => `${folder}/${name}`)
        .filter((place) => isThePlugin(join(root, place))),
    ),
    leftovers: installationLeftovers(root).map((name) => `usr/plugins/${name}`),
  };
}

/** Where copying by hand puts it by mistake. */
const MISPLACES = [
  PLUGIN_NAME,
  `usr/${PLUGIN_NAME}`,
  `extensions/${PLUGIN_NAME}`,
  `usr/extensions/${PLUGIN_NAME}`,
  `${PLUGIN_FOLDER}/${PLUGIN_NAME}`,
  `usr/plugins/release/${PLUGIN_NAME}`,
  `usr/plugins/plugins/${PLUGIN_NAME}`,
];

function isThePlugin(folder: string): boolean {
  try {
    return readFileSync(join(folder, "plugin.yaml"), "utf8").includes(`name: ${PLUGIN_NAME}\n`);
  } catch {
    return false;
  }
}

function documentOf(state: ReleaseState | null): DoctorDocument["release"] {
  const nothing = { version: null, missing: [], changed: [], foreign: [], outdated: [] };
  switch (state?.kind) {
    case "as_released":
      return { ...nothing, state: "as_released", version: state.version };
    case "differs": {
      const { version, missing, changed, foreign } = state;
      return {
        ...nothing,
        state: "differs",
        version,
        missing: [...missing],
        changed: [...changed],
        foreign: [...foreign],
      };
    }
    case "clone":
      return { ...nothing, state: "clone", outdated: [...state.outdated] };
    case "unmarked":
      return { ...nothing, state: "unmarked" };
    default:
      return { ...nothing, state: "missing" };
  }
}
