import { PLUGIN_NAME } from "../../../helpers/settings/current_settings.ts";
import { PLUGIN_FOLDER } from "../../packaging/plugin_installer.ts";
import { shown } from "../../terminal/text.ts";
import { listed } from "../install/install_text.ts";
import type { DoctorDocument, Finding } from "../output_schemas.ts";
import { problem, warning } from "./finding.ts";
import type { ExaminedFolder } from "./release.ts";

const INSTALL =
  "agent-guild-preflight install --root DIR replaces the folder as a whole and keeps config.json";

/** Code that a host would load from a plugin's folder. */
const LOADED = /^(?:agents\/[^/]+\/)?extensions\/.*\.(?:js|mjs|ts)$/;
/** Another copy of the plugin in its own folder, as `cp -r` makes one of a folder that is there. */
const NESTED = `${PLUGIN_NAME}/`;

/** What is wrong with the plugin's folder, and with copies in other places (SPEC C10). */
export function folderFindings(
  plugin: DoctorDocument["plugin"],
  release: DoctorDocument["release"],
  folder: ExaminedFolder,
): Finding[] {
  return [
    ...(plugin.path === null ? [missing(folder)] : differences(release)),
    ...folder.misnamed.map((path) =>
      problem(
        "plugin_misnamed",
        `${shown(path)} is the plugin below another name: it finds no configuration and denies every MCP tool.`,
        `name the folder ${PLUGIN_NAME}`,
      ),
    ),
    ...(folder.leftovers.length === 0
      ? []
      : [
          warning(
            "install_broken_off",
            `An installation was broken off: ${listed(folder.leftovers)} is left.`,
            "run install once more, which tidies up",
          ),
        ]),
  ];
}

function missing({ isThere, misplaced }: ExaminedFolder): Finding {
  const [elsewhere] = misplaced;
  const where =
    elsewhere === undefined
      ? isThere
        ? `${PLUGIN_FOLDER}/ holds no plugin.yaml, so no host takes it for a plugin`
        : `there is no ${PLUGIN_FOLDER}/`
      : `there is a copy in ${elsewhere}/, where no host looks for plugins`;
  return problem(
    "plugin_missing",
    `The plugin is not installed: ${where}.`,
    "agent-guild-preflight install --root DIR",
  );
}

function differences({
  state,
  version,
  missing: gone,
  changed,
  foreign,
  outdated,
}: DoctorDocument["release"]): Finding[] {
  const release = `release ${shown(version ?? "")}`;
  const altered = changed.filter((path) => path !== "default_config.yaml");
  const nested = foreign.filter((path) => path.startsWith(NESTED));
  const stale = foreign.filter((path) => LOADED.test(path));
  const others = foreign.filter((path) => !nested.includes(path) && !stale.includes(path));
  const findings: readonly (Finding | null)[] = [
    gone.length === 0
      ? null
      : problem("release_incomplete", `${count(gone)} of ${release} missing: ${listed(gone, 3)}.`, INSTALL),
    altered.length === 0
      ? null
      : problem("release_changed", `Not as in ${release}: ${listed(altered, 3)}.`, INSTALL),
    stale.length === 0
      ? null
      : problem(
          "stale_extension",
          `Not of ${release}, and loaded all the same: ${listed(stale, 3)}.`,
          INSTALL,
        ),
    nested.length === 0
      ? null
      : problem(
          "plugin_nested",
          `The plugin's folder holds another copy one level too deep, in ${NESTED}: it is not the one that runs.`,
          INSTALL,
        ),
    others.length === 0
      ? null
      : warning("foreign_files", `Files that ${release} does not have: ${listed(others, 3)}.`, INSTALL),
    changed.length === altered.length
      ? null
      : warning(
          "default_config_changed",
          `default_config.yaml is not that of ${release}; an update replaces it.`,
          "move the settings into a config.json",
        ),
    state === "unmarked"
      ? problem(
          "release_unknown",
          "The plugin's folder does not say which files its release has, so it may be half of one.",
          INSTALL,
        )
      : null,
    outdated.length === 0
      ? null
      : problem(
          "clone_outdated",
          `The clone's compiled files are missing or older than its sources: ${listed(outdated, 3)}.`,
          "run npm ci in the plugin's folder",
        ),
  ];
  return findings.flatMap((finding) => finding ?? []);
}

function count(paths: readonly string[]): string {
  return paths.length === 1 ? "1 file" : `${paths.length} files`;
}
