import { relative } from "node:path";

import { screenEndpoint } from "../../../helpers/binding/endpoint_screen.ts";
import { normalizeServerName, splitToolName } from "../../../helpers/binding/names.ts";
import { explainScopedConfig } from "../../../helpers/config/scoped_config.ts";
import { PLUGIN_NAME, settingsIn } from "../../../helpers/settings/current_settings.ts";
import type { RecordedCall } from "../../host/call_recorder.ts";
import { readMcpConfiguration } from "../../host/mcp/current_configuration.ts";
import { shown } from "../../terminal/text.ts";
import { INELIGIBLE_WORDS } from "../ineligible_words.ts";
import type { RootScope } from "../root_flags.ts";
import { errorsWithPlaces } from "../setting_errors.ts";
import { urlDifference } from "../url_difference.ts";

/** Tells what the operator can see of a denial's reason: the file, the setting, what is wrong there. */
export type DenialDetails = (call: Pick<RecordedCall, "tool" | "ending">) => string[];

/**
 * Reads the configuration once more, to explain denials whose reason lies in it (SPEC C10). It is the configuration after
 * the run; what was changed meanwhile is explained as it is now.
 *
 * @param scope - where the calls were made
 * @returns a function that gives lines for people, none where nothing is to be added. No line holds an undisclosable URL.
 */
export async function denialDetailsIn(scope: RootScope): Promise<DenialDetails> {
  const config = { ...scope, plugin: PLUGIN_NAME };
  const { found } = explainScopedConfig(config);
  const reading = await settingsIn(config);
  const file = found === null ? "(no configuration file)" : shown(relative(scope.root, found.path));

  const ofServer = (tool: string, explain: (server: string, url: string) => string[]): string[] => {
    const server = normalizeServerName(splitToolName(tool)?.server ?? "");
    const url = reading.kind === "valid" ? reading.settings.protectedServers.get(server) : undefined;
    return url === undefined ? [] : explain(server, url);
  };
  const setting = (server: string) => `protected_servers.${shown(server)} in ${file}`;

  return ({ tool, ending }) => {
    const reason = ending.kind === "denied" ? ending.reason : null;
    switch (reason) {
      case "configuration_invalid":
        if (reading.kind === "valid") return [];
        return errorsWithPlaces(reading.errors, found).map(
          ({ path, expected }) => `${file}: ${path === "" ? "" : `${path}: `}expected ${expected}`,
        );
      case "ineligible_endpoint":
        return ofServer(tool, (server, url) => {
          const allowPrivateHosts = reading.kind === "valid" && reading.settings.allowPrivateHosts;
          const screening = screenEndpoint(url, { allowPrivateHosts });
          return screening.kind === "eligible"
            ? []
            : [`${setting(server)}: ${INELIGIBLE_WORDS[screening.problem]}`];
        });
      case "url_mismatch":
        return ofServer(tool, (server, url) => {
          const { servers } = readMcpConfiguration(scope.root, scope.project, undefined);
          const entry = servers.find(({ name }) => name === server);
          const difference = entry?.kind === "remote" ? urlDifference(url, entry.url) : null;
          if (difference === null) return [];
          const { approved, configured, differs_at: at } = difference;
          return [
            `${setting(server)}: ${approved}`,
            `the server's entry: ${configured ?? "(not shown: it may hold a credential)"}`,
            `they differ from character ${at} on`,
          ];
        });
      default:
        return [];
    }
  };
}
