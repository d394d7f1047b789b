import type { Settings } from "../../../helpers/settings/settings.ts";
import { screenEndpoint } from "../../../helpers/binding/endpoint_screen.ts";
import { GUILD_ORIGIN } from "../../../helpers/preflight/guild_preflight.ts";
import type { McpServer } from "../../host/mcp/configuration.ts";
import type { McpConfiguration } from "../../host/mcp/current_configuration.ts";
import { readMcpConfiguration } from "../../host/mcp/current_configuration.ts";
import { guildCertainties } from "../guild_certainties.ts";
import { INELIGIBLE_WORDS } from "../ineligible_words.ts";
import type { DoctorDocument } from "../output_schemas.ts";
import type { RootScope } from "../root_flags.ts";
import { shown } from "../../terminal/text.ts";
import { urlDifference } from "../url_difference.ts";
import { bindingRules } from "./binding_rules.ts";
import { examineConfiguration } from "./configuration.ts";
import { examineExtensions, examinePlugin } from "./extensions.ts";
import { findingsOf } from "./findings.ts";
import { mcpEntries } from "./mcp_entries.ts";
import { examineFolder } from "./release.ts";
import { selfTest } from "./self_test.ts";
import { verdictOn } from "./verdict.ts";

/** What the Guild says about a protected server, and what that leads to. */
export type LiveAnswer = NonNullable<DoctorDocument["servers"][number]["live"]>;

/** A server of which every rule holds that can be known offline. */
export interface AskableServer {
  /** Its normalised name. */
  readonly name: string;
  readonly url: string;
  readonly entry: McpServer;
}

/** Asks the Guild about servers, and the servers for their tools: by normalised name. */
export type AskLive = (
  servers: readonly AskableServer[],
  settings: Settings,
) => Promise<ReadonlyMap<string, LiveAnswer>>;

/**
 * Examines a root for one project and profile (SPEC C4). It reads files and loads the root's extensions; it makes no
 * connection, starts no server and writes nothing into the root, unless `askLive` does (SPEC C10).
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
  const live = settings === null || askLive === null ? null : await askLive(askable(offline, mcp), settings);
  const plugin = examinePlugin(scope);
  const folder = examineFolder(scope.root, plugin.path);
  const document = {
    ...scope,
    plugin,
    release: folder.document,
    configuration,
    servers: offline.map((server) => withLive(server, live?.get(server.name) ?? null)),
    mcp: {
      problem: mcp.problem,
      entries: mcpEntries(mcp, (name) => settings?.protectedServers.has(name) ?? false),
    },
    extensions: extensions.document,
    self_test: { ...(await selfTest(extensions.gate?.create ?? null)) },
  };
  const findings = await findingsOf(scope, document, { settings, mcp, extensions, folder });
  const ok = findings.every(({ level }) => level !== "problem");
  return { ok, verdict: verdictOn(document, findings), ...document, findings };
}

type OfflineServer = Omit<DoctorDocument["servers"][number], "live">;

function serversOf(settings: Settings, mcp: McpConfiguration): OfflineServer[] {
  const { policy, allowPrivateHosts, fixtureGuildOrigin } = settings;
  return [...settings.protectedServers].map(([name, url]) => {
    const screening = screenEndpoint(url, { allowPrivateHosts });
    const rules = bindingRules(name, { url, allowPrivateHosts }, mcp);
    const fails = rules.find(({ outcome }) => outcome === "fails")?.reason;
    const entry = mcp.servers.find((server) => server.name === name);
    const common = { name, setting: `protected_servers.${shown(name)}`, rules };
    if (screening.kind !== "eligible") {
      const { rule, problem } = screening;
      const ineligible = { rule, problem, words: INELIGIBLE_WORDS[problem] };
      return { ...common, endpoint: null, ineligible, mismatch: null, certainties: [] };
    }
    const isMismatch = fails === "url_mismatch" && entry?.kind === "remote";
    return {
      ...common,
      endpoint: url,
      ineligible: null,
      mismatch: isMismatch ? urlDifference(url, entry.url) : null,
      certainties: guildCertainties(url, fixtureGuildOrigin ?? GUILD_ORIGIN, policy),
    };
  });
}

/** Where a rule fails, a call is denied before anything is disclosed: then nothing is disclosed here either. */
function askable(servers: readonly OfflineServer[], mcp: McpConfiguration): AskableServer[] {
  return servers.flatMap(({ name, endpoint, rules }) => {
    const entry = mcp.servers.find((server) => server.name === name);
    const fails = rules.some(({ outcome }) => outcome === "fails");
    return endpoint === null || entry === undefined || fails ? [] : [{ name, url: endpoint, entry }];
  });
}

/** What the server itself said settles the one rule that nobody knows offline. */
function withLive(server: OfflineServer, live: LiveAnswer | null): DoctorDocument["servers"][number] {
  if (live === null) return { ...server, live };
  const outcome = live.tools.problem === null && live.tools.count > 0 ? "holds" : "fails";
  const rules = server.rules.map((rule) =>
    rule.reason === "tool_not_exposed" ? ({ ...rule, outcome, words: "it exposes tools" } as const) : rule,
  );
  return { ...server, rules, live };
}
