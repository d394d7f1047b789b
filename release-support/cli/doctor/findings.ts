import { GUILD_ORIGIN } from "../../../helpers/preflight/guild_preflight.ts";
import type { Settings } from "../../../helpers/settings/settings.ts";
import type { McpConfiguration } from "../../host/mcp/current_configuration.ts";
import { typeWarning } from "../../host/mcp/entry_type.ts";
import type { DoctorDocument, Finding } from "../output_schemas.ts";
import { REASON_WORDS } from "../reason_words.ts";
import type { RootScope } from "../root_flags.ts";
import { shown } from "../../terminal/text.ts";
import { levelProblem } from "../root_level.ts";
import { droppedServers } from "./configuration.ts";
import { problem, warning } from "./finding.ts";
import { folderFindings } from "./folder_findings.ts";
import type { ExaminedFolder } from "./release.ts";
import type { ExaminedExtensions } from "./extensions.ts";
import { examinePlugin } from "./extensions.ts";
import { SWITCHED_OFF } from "./mcp_entries.ts";
import { scopesOf } from "./selections.ts";

/** Everything that was examined beside the document. */
export interface Examined {
  readonly settings: Settings | null;
  readonly mcp: McpConfiguration;
  readonly extensions: ExaminedExtensions;
  readonly folder: ExaminedFolder;
}

/** What is wrong, and what weakens the gate, from everything that was examined, the worst first (SPEC C4, C10). */
export async function findingsOf(
  scope: RootScope,
  document: Omit<DoctorDocument, "ok" | "verdict" | "findings">,
  { settings, mcp, extensions, folder }: Examined,
): Promise<Finding[]> {
  const narrowing = await scopeFindings(scope);
  // Without a gate nothing is denied, so what it would deny is no finding.
  const ofGate = gateIsInForce(document)
    ? [
        ...configurationFindings(document),
        ...document.servers.flatMap((server) => serverFindings(server, document.configuration.file)),
        ...(settings === null ? [] : settingsFindings(settings)),
        ...nothingProtected(document, mcp, narrowing),
      ]
    : [];
  const findings = [
    ...levelFindings(scope),
    ...gateFindings(document, extensions),
    ...folderFindings(document.plugin, document.release, folder),
    ...ofGate,
    ...mcpFindings(document),
    ...certificateFindings(mcp),
    ...typeFindings(mcp),
    ...narrowing,
  ];
  // Two entries of one name have one problem.
  const distinct = [...new Map(findings.map((finding) => [finding.words, finding])).values()];
  const at = (level: Finding["level"]) => distinct.filter((finding) => finding.level === level);
  return [...at("problem"), ...at("warning")];
}

/** Whether a host would run the plugin for the scope. */
export function gateIsInForce({ plugin }: Pick<DoctorDocument, "plugin">): boolean {
  return plugin.path !== null && plugin.enabled;
}

function levelFindings({ root }: RootScope): Finding[] {
  const off = levelProblem(root);
  if (off === null) return [];
  return [problem("root_level", `This is no host root: ${off}.`, "give the host's root as --root")];
}

function gateFindings(
  {
    plugin,
    extensions: { problem: broken },
    self_test: test,
  }: Omit<DoctorDocument, "ok" | "verdict" | "findings">,
  { gate, gateIsOwn, refused }: ExaminedExtensions,
): Finding[] {
  const findings: Finding[] = [];
  const isInForce = gateIsInForce({ plugin });
  if (plugin.path !== null && !isInForce) {
    findings.push(
      problem(
        "plugin_off",
        "The plugin is switched off by a toggle: nothing is gated.",
        "remove the .toggle-0 of the plugin at this scope",
      ),
    );
  }
  if (broken !== null) findings.push(problem("extensions_broken", broken, "mend or remove that file"));
  if (isInForce && broken === null && !test.passed) {
    findings.push(
      problem("self_test_failed", `Self-test: ${test.words}.`, "agent-guild-preflight install --root DIR"),
    );
  }
  if (isInForce && gate !== null && !gateIsOwn) {
    findings.push(
      warning(
        "gate_shadowed",
        "A file of the same name runs in place of the plugin's own extension.",
        "remove that file unless it is meant to be there",
      ),
    );
  }
  for (const { path, why } of refused) {
    findings.push(warning("extension_refused", `${shown(path)}: ${why}.`, "mend or remove that file"));
  }
  return findings;
}

function configurationFindings({ configuration }: Pick<DoctorDocument, "configuration">): Finding[] {
  const { valid, errors, file } = configuration;
  if (valid) return [];
  const words = `The configuration cannot be used (${errors.length} ${errors.length === 1 ? "error" : "errors"}): no MCP tool runs.`;
  const [first] = errors;
  const what =
    first === undefined ? "" : `: ${first.path === "" ? "" : `${first.path}: `}expected ${first.expected}`;
  return [problem("configuration_invalid", words, `mend ${shown(file ?? "it")}${what}`)];
}

function serverFindings(
  { name, setting, rules, certainties, live, ineligible, mismatch }: DoctorDocument["servers"][number],
  file: string | null,
): Finding[] {
  const server = shown(name);
  if (live !== null) return liveFindings(server, live);
  const failing = rules.find(({ outcome }) => outcome === "fails");
  if (failing !== undefined) {
    const more =
      ineligible !== null
        ? `: ${ineligible.words}`
        : mismatch !== null
          ? `; they differ from character ${mismatch.differs_at} on`
          : "";
    const words = `${server}: every call is denied (${failing.reason}): ${REASON_WORDS[failing.reason]}${more}.`;
    return [
      problem("binding_fails", words, `mend ${setting} in ${shown(file ?? "")}, or the server's entry`),
    ];
  }
  return certainties.flatMap(({ denies, means }) =>
    denies === null
      ? []
      : [
          problem(
            "denied_for_certain",
            `${server}: every call is denied (${denies}). ${means}`,
            "approve another endpoint of the server, or change the policy",
          ),
        ],
  );
}

function liveFindings(
  server: string,
  { decision, reason, tools }: NonNullable<DoctorDocument["servers"][number]["live"]>,
): Finding[] {
  const denied = problem(
    "denied_now",
    `${server}: a call would be denied (${reason}): ${REASON_WORDS[reason]}.`,
    "ask the endpoint's operator, or change the policy",
  );
  const toolless = problem(
    "no_tools",
    `${server}: no tool of it can be called: ${tools.problem ?? "it lists none"}.`,
    "see whether the server is up and its entry right",
  );
  return [
    ...(decision === "allow" ? [] : [denied]),
    ...(tools.problem === null && tools.count > 0 ? [] : [toolless]),
  ];
}

/** A gate that protects nothing is not to be mistaken for one that does. */
function nothingProtected(
  { servers, configuration }: Pick<DoctorDocument, "servers" | "configuration">,
  { servers: configured }: McpConfiguration,
  narrowing: readonly Finding[],
): Finding[] {
  const isTold = narrowing.some(({ code }) => code === "server_dropped");
  if (servers.length > 0 || !configuration.valid || isTold) return [];
  const remote = configured.filter(({ kind }) => kind === "remote").length;
  return [
    warning(
      "nothing_protected",
      `No server is protected, so nothing is gated: ${remote} remote MCP ${remote === 1 ? "server is" : "servers are"} configured.`,
      remote === 0 ? "add MCP servers to the host, then run init" : "agent-guild-preflight init --root DIR",
    ),
  ];
}

function mcpFindings({ mcp }: Pick<DoctorDocument, "mcp">): Finding[] {
  const whole =
    mcp.problem === null
      ? []
      : [problem("mcp_configuration", `MCP servers: ${mcp.problem}.`, "mend that file")];
  const entries = mcp.entries.flatMap(({ name, problem: why }) =>
    why === null || why === SWITCHED_OFF
      ? []
      : [
          problem(
            "mcp_entry",
            `MCP server ${shown(name)} will not work: ${why}.`,
            "mend or disable its entry",
          ),
        ],
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
        "deny, and a longer timeout_seconds if the Guild is slow",
      ),
    );
  }
  if (fixtureGuildOrigin !== null) {
    findings.push(
      warning(
        "fixture_guild_origin",
        `fixture_guild_origin is set: ${fixtureGuildOrigin} is asked in place of ${GUILD_ORIGIN}. It is for offline tests.`,
        "remove the setting",
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
            "remove verify from its entry",
          ),
        ]
      : [],
  );
}

function typeFindings({ servers }: McpConfiguration): Finding[] {
  return servers.flatMap((server) => {
    const why = typeWarning(server);
    return why === null
      ? []
      : [warning("mcp_type", `MCP server ${shown(server.name)}: ${why}.`, "mend the type of its entry")];
  });
}

/** What narrower scopes take away, in the scope that was asked about and in every other one. */
async function scopeFindings(asked: RootScope): Promise<Finding[]> {
  const scopes = [asked, ...scopesOf(asked.root)];
  const findings = new Map<string, Finding>();
  for (const scope of scopes) {
    for (const { decides, wider, names } of await droppedServers(scope)) {
      const words = `${shown(decides)} leaves out what ${shown(wider)} protects: ${names.map(shown).join(", ")}.`;
      findings.set(
        `${decides} ${wider}`,
        warning("server_dropped", words, "name those servers in the narrower file too"),
      );
    }
    const isElsewhere = scope.project !== asked.project || scope.profile !== asked.profile;
    const { path, enabled } = examinePlugin(scope);
    if (isElsewhere && path !== null && !enabled) {
      const key = `off ${scope.project} ${scope.profile}`;
      findings.set(
        key,
        warning(
          "gate_off_elsewhere",
          `The plugin is switched off ${whereabouts(scope)}.`,
          "remove the .toggle-0 of the plugin there",
        ),
      );
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
