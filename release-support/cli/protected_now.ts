import { relative } from "node:path";

import { explainScopedConfig } from "../../helpers/config/scoped_config.ts";
import { screenEndpoint } from "../../helpers/binding/endpoint_screen.ts";
import { PLUGIN_NAME, settingsIn } from "../../helpers/settings/current_settings.ts";
import type { Settings } from "../../helpers/settings/settings.ts";
import { scopesOf } from "./doctor/selections.ts";
import type { ProtectionDocument } from "./install/install_documents.ts";

/**
 * Says what the configuration files of a root protect, scope by scope (SPEC C7).
 *
 * @param root - the host root: absolute
 * @returns the scope without project and profile first, then every other one that another file decides for
 */
export async function protectedNow(root: string): Promise<ProtectionDocument[]> {
  const protections: ProtectionDocument[] = [];
  for (const scope of scopesOf(root)) {
    const config = { ...scope, plugin: PLUGIN_NAME };
    const { found } = explainScopedConfig(config);
    const file = found === null ? null : relative(root, found.path);
    if (protections.some((known) => known.file === file)) continue;
    const { project, profile } = scope;
    const reading = await settingsIn(config);
    const servers =
      reading.kind === "valid"
        ? [...reading.settings.protectedServers].map(([name, url]) => ({
            name,
            endpoint: shownEndpoint(url, reading.settings),
          }))
        : [];
    protections.push({ project, profile, file, valid: reading.kind === "valid", servers });
  }
  return protections;
}

/** An approved URL that may not be disclosed is not shown either (SPEC P4.4). */
export function shownEndpoint(url: string, { allowPrivateHosts }: Settings): string | null {
  return screenEndpoint(url, { allowPrivateHosts }).kind === "eligible" ? url : null;
}
