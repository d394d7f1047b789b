import { createHash } from "node:crypto";

import { hasOverrides } from "../config/environment.ts";
import type { GateAgent, KeptConfiguration } from "../host.ts";
import { errorCode } from "../config/file_view.ts";
import { findConfigFile, firstConfigFile, interpretConfig } from "../config/scoped_config.ts";
import type { ConfigScope, ConfigScopeName, FoundConfig } from "../config/scoped_config.ts";
import { DEFAULT_SETTINGS } from "./settings.ts";
import type { SettingError, Settings } from "./settings.ts";

/** The plugin's name: that of its folder, of its settings and of its data keys. */
export const PLUGIN_NAME = "agent_guild_preflight";

/** SHA-256 of the `default_config.yaml` that ships. While the file is that one, its meaning is known unread. */
export const SHIPPED_DEFAULT_SHA256 = "965bc0f28f2fd045ba08cca7ec34042b7c8992e709dc4757b91a3748c23de628";

/** The settings in force for one agent, or why there are none that can be trusted. */
export type CurrentSettings =
  | { readonly kind: "valid"; readonly settings: Settings }
  | {
      readonly kind: "invalid";
      /** Which file it is, in our own words: paths may hold names that are not fit to be shown. */
      readonly where: string;
      readonly errors: readonly SettingError[];
      /** Where the denials are logged all the same: the setting `decision_log`, if that one can be read. */
      readonly decisionLog: string | null;
    };

/**
 * Reads the settings that apply to an agent right now: what its host keeps, if that has places of its own, else the
 * first existing configuration file of the agent's project and profile, else the plugin's defaults (SPEC P2, P3). Read
 * afresh for every call. While nothing is configured neither zod nor yaml is loaded (SPEC P1.4).
 *
 * @param agent - the agent whose project and profile count
 * @returns the settings, or what is wrong with the file that decides
 */
export async function currentSettings(agent: GateAgent): Promise<CurrentSettings> {
  const { host } = agent;
  return host.configuration === undefined
    ? await settingsIn(scopeOf(agent))
    : await checkConfiguration(await host.configuration(agent));
}

/** The files that may hold the configuration in a host with places of its own, the deciding one first: absolute. */
export type ConfigurationFiles = readonly {
  readonly scopeName: Extract<ConfigScopeName, "project" | "global">;
  readonly path: string;
}[];

/**
 * Reads the configuration of a host with places of its own: the first of its files that exists decides, and nothing is
 * merged (SPEC A2).
 *
 * @param files - where to look, each file in the form of `config.json`
 */
export async function configurationIn(files: ConfigurationFiles): Promise<KeptConfiguration> {
  const found = firstConfigFile(files.map((file) => ({ kind: "file", source: "scoped", ...file })));
  return found === null ? { kind: "none" } : await keptIn(found);
}

/**
 * As {@link currentSettings}, for a scope that is named instead of an agent's.
 *
 * @param scope - whose settings
 */
export async function settingsIn(scope: ConfigScope): Promise<CurrentSettings> {
  let found: FoundConfig | null;
  try {
    found = findConfigFile(scope);
    // A plugin folder that is swapped meanwhile can show its default file to a search that missed its configuration.
    if (found?.kind === "default") found = findConfigFile(scope);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return invalid("(none found)", "the agent's project and profile to have names that a folder can have");
  }
  // The plugin brings a default file along: a root without any is damaged, or its plugin folder is just being replaced.
  if (found === null) return invalid("(none found)", "default_config.yaml in the plugin's own folder");
  return isUntouchedDefault(found)
    ? { kind: "valid", settings: DEFAULT_SETTINGS }
    : await checkConfiguration(await keptIn(found));
}

async function keptIn(found: FoundConfig): Promise<KeptConfiguration> {
  const where = describeFile(found.scopeName);
  const config = await interpretConfig(found, PLUGIN_NAME).catch(whereMissing);
  if (config === null) return { kind: "unusable", where, problem: PACKAGES_MISSING };
  return config.kind === "value"
    ? { kind: "value", where, value: config.value }
    : { kind: "unusable", where, problem: config.problem };
}

/**
 * Checks a configuration that a host keeps itself.
 *
 * @param kept - as the host gives it
 */
export async function checkConfiguration(kept: KeptConfiguration): Promise<CurrentSettings> {
  switch (kept.kind) {
    case "none":
      return { kind: "valid", settings: DEFAULT_SETTINGS };
    case "value": {
      const schema = await import("./settings_schema.ts").catch(whereMissing);
      if (schema === null) return invalid(kept.where, `a usable file, but ${PACKAGES_MISSING}`);
      const reading = schema.readSettings(kept.value);
      if (reading.kind === "valid") return reading;
      const decisionLog = schema.readDecisionLog(kept.value);
      return { kind: "invalid", where: kept.where, errors: reading.errors, decisionLog };
    }
    case "unusable":
    default:
      return invalid(kept.where, `a usable file, but ${kept.problem}`);
  }
}

/** Of a plugin folder without its packages, as a clone is before npm ci. */
const PACKAGES_MISSING = "the plugin's packages are missing: run npm ci in the plugin's own folder";

function whereMissing(error: unknown): null {
  if (errorCode(error) === "ERR_MODULE_NOT_FOUND") return null;
  throw error;
}

/** Names a configuration file by its scope. */
function describeFile(scopeName: ConfigScopeName): string {
  return scopeName === "default"
    ? "default_config.yaml of the plugin"
    : `config.json of scope "${scopeName}"`;
}

function scopeOf(agent: GateAgent): ConfigScope {
  // Whatever else than a text stands there is refused as a name: it must not pass for "no project".
  const project = (agent.context.getData("project") ?? null) as string | null;
  return { root: agent.host.root, plugin: PLUGIN_NAME, project, profile: agent.config.profile };
}

function isUntouchedDefault(found: FoundConfig): boolean {
  return (
    found.kind === "default" &&
    !hasOverrides(PLUGIN_NAME, process.env) &&
    createHash("sha256").update(found.bytes).digest("hex") === SHIPPED_DEFAULT_SHA256
  );
}

function invalid(where: string, expected: string): CurrentSettings {
  return { kind: "invalid", where, errors: [{ path: "", expected }], decisionLog: null };
}
