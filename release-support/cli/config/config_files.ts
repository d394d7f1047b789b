import { readFileSync } from "node:fs";
import { join, relative } from "node:path";

import { PLUGIN_NAME } from "../../../helpers/settings/current_settings.ts";
import { listPlugins } from "../../../helpers/config/enabled_plugins.ts";
import { mayExist } from "../../../helpers/config/file_view.ts";
import { explainScopedConfig, interpretConfig } from "../../../helpers/config/scoped_config.ts";
import { readSettings } from "../../../helpers/settings/settings_schema.ts";
import type { SettingError } from "../../../helpers/settings/settings.ts";
import type { JsonValue } from "../../../helpers/formats/strict_json.ts";
import type { ConfigFile, ConfigShowDocument } from "../output_schemas.ts";
import { folderNames } from "../root_flags.ts";
import type { RootScope } from "../root_flags.ts";
import { errorsInFile } from "../setting_errors.ts";

/** A configuration file and whose it is. */
export type FoundFile = Pick<ConfigFile, "scope" | "project" | "profile" | "path">;

/**
 * Finds the plugin's `config.json` files of every scope (SPEC C6, P2.1): what a listing of the framework's plugin dialog
 * shows.
 *
 * @param root - the host root: absolute
 * @returns those that exist, the narrowest scopes first
 */
export function findConfigFiles(root: string): FoundFile[] {
  const projects = folderNames(join(root, "usr", "projects"));
  const meta = (project: string) => `usr/projects/${project}/.a0proj`;
  const files = [
    ...projects.flatMap((project) =>
      folderNames(join(root, meta(project), "agents")).map((profile) =>
        at("project profile", `${meta(project)}/agents/${profile}`, { project, profile }),
      ),
    ),
    ...projects.map((project) => at("project", meta(project), { project })),
    ...profileFiles("user profile", root, "usr"),
    ...listPlugins(root, "empty").flatMap(({ path }) =>
      profileFiles("plugin profile", root, relative(root, path).replaceAll("\\", "/")),
    ),
    ...profileFiles("built-in profile", root, ""),
    at("global", "usr"),
    at("built-in", ""),
  ];
  return files.filter(({ path }) => mayExist(join(root, path)));
}

function profileFiles(scope: string, root: string, folder: string): FoundFile[] {
  return folderNames(join(root, folder, "agents")).map((profile) =>
    at(scope, `${folder === "" ? "" : `${folder}/`}agents/${profile}`, { profile }),
  );
}

function at(
  scope: string,
  folder: string,
  { project = null, profile = null }: { project?: string | null; profile?: string | null } = {},
): FoundFile {
  const path = `${folder === "" ? "" : `${folder}/`}plugins/${PLUGIN_NAME}/config.json`;
  return { scope, project, profile, path };
}

/** Reads a file that {@link findConfigFiles} found, by the rules of the gate. */
export async function readConfigFile(
  root: string,
  found: FoundFile,
): Promise<Pick<ConfigShowDocument, "file" | "value">> {
  const path = join(root, found.path);
  const invalid = (errors: readonly SettingError[], value: JsonValue | null) => ({
    file: { ...found, valid: false, errors: errors.map((error) => ({ ...error })) },
    value,
  });
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch {
    return invalid([{ path: "", expected: "a file that can be read" }], null);
  }
  const config = await interpretConfig({ kind: "scoped", path, scopeName: "global", bytes }, PLUGIN_NAME);
  if (config.kind !== "value") {
    const error = { path: "", expected: `a usable file, but ${config.problem}` };
    return invalid(errorsInFile([error], root, found.path), null);
  }
  const value = config.value as JsonValue;
  const reading = readSettings(value);
  if (reading.kind !== "valid") return invalid(reading.errors, value);
  return { file: { ...found, valid: true, errors: [] }, value };
}

/** The file that decides for a scope now, relative to the root; `null` when none does. */
export function decidesFor(scope: RootScope): string | null {
  const { places } = explainScopedConfig({ ...scope, plugin: PLUGIN_NAME });
  return places.find(({ outcome }) => outcome === "chosen" || outcome === "unreadable")?.path ?? null;
}
