import { GUILD_ORIGIN } from "../../../helpers/preflight/guild_preflight.ts";
import type { Settings } from "../../../helpers/settings/settings.ts";
import type { McpConfiguration } from "../../host/mcp/current_configuration.ts";
import { typeWarning } from "../../host/mcp/entry_type.ts";
import type { DoctorDocument, Finding } from "../output_schemas.ts";
import { REASON_WORDS } from "../reason_words.ts";
import type { RootScope } from "../root_flags.ts";
import { shown } from "../../terminal/text.ts";
import { droppedServers } from "./configuration.ts";
import type { ExaminedExtensions } from "./extensions.ts";
import { examinePlugin } from "./extensions.ts";
import { SWITCHED_OFF } from "./mcp_entries.ts";
import { scopesOf } from "./selections.ts";

/** What is wrong, and what weakens the gate, from everything that was examined (SPEC C4). */
export async function findingsOf(
  scope: RootScope,
  document: Omit<DoctorDocument, "ok" | "findings">,
  {
    settings,
    mcp,
    extensions,
  }: {
    readonly settings: Settings | null;
    readonly mcp: McpConfiguration;
    readonly extensions: ExaminedExtensions;
  },
): Promise<Finding[]> {
  const findings = [
    ...gateFindings(document, extensions),
    ...configurationFindings(document),
    ...document.servers.flatMap(serverFindings),
    ...mcpFindings(document),
    ...(settings === null ? [] : settingsFindings(settings)),
    ...certificateFindings(mcp),
    ...typeFindings(mcp),
    ...(await scopeFindings(scope)),
  ];
  // Two entries of one name have one problem.
  return [...new Map(findings.map((finding) => [finding.words, finding])).values()];
}

function problem(code: string, words: string): Finding {
  return { level: "problem", code, words };
}

function warning(code: string, words: string): Finding {
  return { level: "warning", code, words };
}

function gateFindings(
  { plugin, extensions: { problem: broken }, self_test: test }: Omit<DoctorDocument, "ok" | "findings">,
  { gate, gateIsOwn, refused }: ExaminedExtensions,
): Finding[] {
  const findings: Finding[] = [];
  if (plugin.path === null) {
    findings.push(
      problem(
        "plugin_missing",
        "The plugin is not installed: there is no usr/plugins/agent_guild_preflight/.",
      ),
    );
  } else if (!plugin.enabled) {
    findings.push(problem("plugin_off", "The plugin is switched off by a toggle: nothing is gated."));
  }
  if (broken !== null) findings.push(problem("extensions_broken", broken));
  if (!test.passed) findings.push(problem("self_test_failed", `Self-test: ${test.words}.`));
  if (gate !== null && !gateIsOwn) {
    findings.push(
      warning("gate_shadowed", "A file of the same name runs in place of the plugin's own extension."),
    );
  }
  for (const { path, why } of refused) findings.push(warning("extension_refused", `${shown(path)}: ${why}.`));
  return findings;
}

function configurationFindings({ configuration }: Pick<DoctorDocument, "configuration">): Finding[] {
  if (configuration.valid) return [];
  const count = configuration.errors.length;
  const words = `The configuration cannot be used (${count} ${count === 1 ? "error" : "errors"}): no MCP tool runs.`;
  return [problem("configuration_invalid", words)];
}

function serverFindings({ name, rules, certainties, live }: DoctorDocument["servers"][number]): Finding[] {
  const server = shown(name);
  const failing = rules.find(({ outcome }) => outcome === "fails");
  if (failing !== undefined) {
    const words = `${server}: every call is denied (${failing.reason}): ${REASON_WORDS[failing.reason]}.`;
    return [problem("binding_fails", words)];
  }
  if (live !== null) {
    if (live.decision === "allow") return [];
    return [
      problem(
        "denied_now",
        `${server}: a call would be denied (${live.reason}): ${REASON_WORDS[live.reason]}.`,
      ),
    ];
  }
  return certainties.flatMap(({ denies, means }) =>
    denies === null
      ? []
      : [problem("denied_for_certain", `${server}: every call is denied (${denies}). ${means}`)],
  );
}

function mcpFindings({ mcp }: Pick<DoctorDocument, "mcp">): Finding[] {
  const whole = mcp.problem === null ? [] : [problem("mcp_configuration", `MCP servers: ${mcp.problem}.`)];
  const entries = mcp.entries.flatMap(({ name, problem: why }) =>
    why === null || why === SWITCHED_OFF
      ? []
      : [problem("mcp_entry", `MCP server ${shown(name)} will not work: ${why}.`)],
  );
  return [...whole, ...entries];
}

function settingsFindings({ policy, fixtureGuildOrigin }: Settings): Finding[] {
  const findings: Finding[] = [];
  if (policy.onUnavailable === "allow") {
    findings.push(
      warning(
        "on_unavailable_allow",
        "policy.on_unavailable is allow: an endpoint passes by being slow to probe, and whenever the Guild is not there.",
      ),
    );
  }
  if (fixtureGuildOrigin !== null) {
    findings.push(
      warning(
        "fixture_guild_origin",
        `fixture_guild_origin is set: ${fixtureGuildOrigin} is asked in place of ${GUILD_ORIGIN}. It is for offline tests.`,
      ),
    );
  }
  return findings;
}

function certificateFindings({ servers }: McpConfiguration): Finding[] {
  return servers.flatMap((server) =>
    server.kind === "remote" && !server.verify
      ? [
          warning(
            "verify_false",
            `MCP server ${shown(server.name)} has verify: false: whoever is on the way can answer in its place.`,
          ),
        ]
      : [],
  );
}

function typeFindings({ servers }: McpConfiguration): Finding[] {
  return servers.flatMap((server) => {
    const why = typeWarning(server);
    return why === null ? [] : [warning("mcp_type", `MCP server ${shown(server.name)}: ${why}.`)];
  });
}

/** What narrower scopes take away, in the scope that was asked about and in every other one. */
async function scopeFindings(asked: RootScope): Promise<Finding[]> {
  const scopes = [asked, ...scopesOf(asked.root)];
  const findings = new Map<string, Finding>();
  for (const scope of scopes) {
    for (const { decides, wider, names } of await droppedServers(scope)) {
      const words = `${shown(decides)} leaves out what ${shown(wider)} protects: ${names.map(shown).join(", ")}.`;
      findings.set(`${decides} ${wider}`, warning("server_dropped", words));
    }
    const isElsewhere = scope.project !== asked.project || scope.profile !== asked.profile;
    const { path, enabled } = examinePlugin(scope);
    if (isElsewhere && path !== null && !enabled) {
      const key = `off ${scope.project} ${scope.profile}`;
      findings.set(key, warning("gate_off_elsewhere", `The plugin is switched off ${whereabouts(scope)}.`));
    }
  }
  return [...findings.values()];
}

function whereabouts({ project, profile }: RootScope): string {
  const parts = [
    ...(project === null ? [] : [`in project ${shown(project)}`]),
    ...(profile === null ? [] : [`for profile ${shown(profile)}`]),
  ];
  return parts.length === 0 ? "without a project and profile" : parts.join(" ");
}
