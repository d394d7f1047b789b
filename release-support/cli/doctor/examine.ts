import type { Settings } from "../../../helpers/settings/settings.ts";
import { screenEndpoint } from "../../../helpers/binding/endpoint_screen.ts";
import { GUILD_ORIGIN } from "../../../helpers/preflight/guild_preflight.ts";
import type { McpConfiguration } from "../../host/mcp/current_configuration.ts";
import { readMcpConfiguration } from "../../host/mcp/current_configuration.ts";
import { guildCertainties } from "../guild_certainties.ts";
import type { DoctorDocument } from "../output_schemas.ts";
import type { RootScope } from "../root_flags.ts";
import { bindingRules } from "./binding_rules.ts";
import { examineConfiguration } from "./configuration.ts";
import { examineExtensions, examinePlugin } from "./extensions.ts";
import { findingsOf } from "./findings.ts";
import { mcpEntries } from "./mcp_entries.ts";
import { selfTest } from "./self_test.ts";

/** What the Guild says about a protected server, and what that leads to. */
export type LiveAnswer = NonNullable<DoctorDocument["servers"][number]["live"]>;

/** Asks about servers that would be asked about: by normalised name. */
export type AskLive = (
  servers: readonly { readonly name: string; readonly url: string }[],
  settings: Settings,
) => Promise<ReadonlyMap<string, LiveAnswer>>;

/**
 * Examines a root for one project and profile (SPEC C4). It reads files and loads the root's extensions; it makes no
 * connection, starts no server and writes nothing into the root, unless `askLive` does.
 *
 * @param scope - what to examine
 * @param askLive - asks the Guild about the servers whose binding holds as far as can be known
 */
export async function examine(scope: RootScope, askLive: AskLive | null): Promise<DoctorDocument> {
  const { document: configuration, current } = await examineConfiguration(scope);
  const settings = current.kind === "valid" ? current.settings : null;
  const mcp = readMcpConfiguration(scope.root, scope.project, undefined);
  const extensions = await examineExtensions(scope);
  const offline = settings === null ? [] : serversOf(settings, mcp);
  const live = settings === null || askLive === null ? null : await askLive(askable(offline), settings);
  const document = {
    ...scope,
    plugin: examinePlugin(scope),
    configuration,
    servers: offline.map((server) => ({ ...server, live: live?.get(server.name) ?? null })),
    mcp: {
      problem: mcp.problem,
      entries: mcpEntries(mcp, (name) => settings?.protectedServers.has(name) ?? false),
    },
    extensions: extensions.document,
    self_test: { ...(await selfTest(extensions.gate?.create ?? null)) },
  };
  const findings = await findingsOf(scope, document, { settings, mcp, extensions });
  return { ok: findings.every(({ level }) => level !== "problem"), ...document, findings };
}

type OfflineServer = Omit<DoctorDocument["servers"][number], "live">;

function serversOf(settings: Settings, mcp: McpConfiguration): OfflineServer[] {
  const { policy, allowPrivateHosts, fixtureGuildOrigin } = settings;
  return [...settings.protectedServers].map(([name, url]) => {
    const isEligible = screenEndpoint(url, { allowPrivateHosts }).kind === "eligible";
    return {
      name,
      endpoint: isEligible ? url : null,
      rules: bindingRules(name, { url, allowPrivateHosts }, mcp),
      certainties: isEligible ? guildCertainties(url, fixtureGuildOrigin ?? GUILD_ORIGIN, policy) : [],
    };
  });
}

/** Where a rule fails, a call is denied before anything is disclosed: then nothing is disclosed here either. */
function askable(servers: readonly OfflineServer[]): { readonly name: string; readonly url: string }[] {
  return servers.flatMap(({ name, endpoint, rules }) =>
    endpoint === null || rules.some(({ outcome }) => outcome === "fails") ? [] : [{ name, url: endpoint }],
  );
}
