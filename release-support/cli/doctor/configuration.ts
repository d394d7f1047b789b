import { readFileSync } from "node:fs";
import { join, relative } from "node:path";

import { PLUGIN_NAME, settingsIn } from "../../../helpers/settings/current_settings.ts";
import type { CurrentSettings } from "../../../helpers/settings/current_settings.ts";
import { explainScopedConfig, interpretConfig } from "../../../helpers/config/scoped_config.ts";
import type { ExplainedPlace } from "../../../helpers/config/scoped_config.ts";
import { readSettings } from "../../../helpers/settings/settings_schema.ts";
import type { Settings } from "../../../helpers/settings/settings.ts";
import { policyOf } from "../evidence_view.ts";
import type { DoctorDocument } from "../output_schemas.ts";
import type { RootScope } from "../root_flags.ts";
import { errorsWithPlaces } from "../setting_errors.ts";

/** The configuration that is in force for a scope, and why it is that one. */
export interface ExaminedConfiguration {
  readonly document: DoctorDocument["configuration"];
  readonly current: CurrentSettings;
}

/** Reads the configuration of a scope as the gate does, and explains where it comes from (SPEC P2). */
export async function examineConfiguration(scope: RootScope): Promise<ExaminedConfiguration> {
  const { places, found } = explainScopedConfig({ ...scope, plugin: PLUGIN_NAME });
  const current = await settingsIn({ ...scope, plugin: PLUGIN_NAME });
  return {
    current,
    document: {
      file: found === null ? null : relative(scope.root, found.path),
      places: places.map(({ scopeName, path, outcome, why }) => ({ scope: scopeName, path, outcome, why })),
      valid: current.kind === "valid",
      errors: current.kind === "valid" ? [] : errorsWithPlaces(current.errors, found),
      policy: current.kind === "valid" ? policyOf(current.settings.policy) : null,
      settings: current.kind === "valid" ? otherSettings(current.settings) : null,
    },
  };
}

function otherSettings(settings: Settings): NonNullable<DoctorDocument["configuration"]["settings"]> {
  return {
    timeout_seconds: settings.timeoutSeconds,
    cache_ttl_seconds: settings.cacheTtlSeconds,
    allow_private_hosts: settings.allowPrivateHosts,
    fixture_guild_origin: settings.fixtureGuildOrigin,
    decision_log: settings.decisionLog,
  };
}

/** What a wider file protects and the deciding one does not. */
export interface DroppedServers {
  /** The file that decides, relative to the root. */
  readonly decides: string;
  /** The wider file, relative to the root. */
  readonly wider: string;
  /** Normalised names. */
  readonly names: readonly string[];
}

/**
 * Finds servers that the deciding file of a scope leaves unprotected though a wider file, which it keeps from counting,
 * protects them (SPEC C4).
 */
export async function droppedServers(scope: RootScope): Promise<DroppedServers[]> {
  const { places, found } = explainScopedConfig({ ...scope, plugin: PLUGIN_NAME });
  const decides = places.find(({ outcome }) => outcome === "chosen");
  if (found === null || decides?.path == null) return [];
  const reading = await settingsIn({ ...scope, plugin: PLUGIN_NAME });
  // With an invalid configuration no MCP tool runs at all.
  if (reading.kind !== "valid") return [];
  const kept = reading.settings.protectedServers;
  const dropped: DroppedServers[] = [];
  for (const place of places.filter(({ outcome }) => outcome === "not reached")) {
    const names = (await protectedIn(scope.root, place)).filter((name) => !kept.has(name));
    if (names.length > 0) dropped.push({ decides: decides.path, wider: place.path ?? "", names });
  }
  return dropped;
}

/** The servers that a file which does not decide would protect; none when it is not valid. */
async function protectedIn(root: string, { path, scopeName }: ExplainedPlace): Promise<string[]> {
  if (path === null) return [];
  const file = join(root, path);
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(file);
  } catch {
    return [];
  }
  const kind = scopeName === "default" ? "default" : "scoped";
  const config = await interpretConfig({ kind, path: file, scopeName, bytes }, PLUGIN_NAME);
  const reading = config.kind === "value" ? readSettings(config.value) : null;
  return reading?.kind === "valid" ? [...reading.settings.protectedServers.keys()] : [];
}
