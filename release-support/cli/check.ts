import type { Command } from "commander";

import { explainScopedConfig } from "../../helpers/config/scoped_config.ts";
import { PLUGIN_NAME, settingsIn } from "../../helpers/settings/current_settings.ts";
import { screenEndpoint } from "../../helpers/binding/endpoint_screen.ts";
import { GUILD_ORIGIN } from "../../helpers/preflight/guild_preflight.ts";
import type { SettingError, Settings } from "../../helpers/settings/settings.ts";
import { askGuild, decisionOn } from "./ask.ts";
import { CannotRun } from "./cannot_run.ts";
import { certaintyLines, checkText, disclosureText } from "./check/check_text.ts";
import { addCommand, jsonFlag } from "./command.ts";
import type { CommonFlags } from "./command.ts";
import { evidenceOf, policyOf } from "./evidence_view.ts";
import { guildCertainties } from "./guild_certainties.ts";
import { LIMITS } from "./limits.ts";
import type { CheckDocument } from "./output_schemas.ts";
import { settingsFromFlags, statedPolicyFlags, withPolicyFlags } from "./policy_flags.ts";
import type { PolicyFlags } from "./policy_flags.ts";
import { rootScope, withRootFlags } from "./root_flags.ts";
import type { RootFlags } from "./root_flags.ts";
import { errorsWithPlaces } from "./setting_errors.ts";
import { announced, processTerminal } from "../terminal/terminal.ts";
import type { Terminal } from "../terminal/terminal.ts";

interface CheckFlags extends Partial<RootFlags>, PolicyFlags, CommonFlags {
  readonly json?: boolean;
}

/** Adds the command `check` (SPEC C3). */
export function addCheck(program: Command): void {
  const command = addCommand(program, {
    name: "check <url>",
    summary: "ask the Guild about one endpoint, and say what a policy makes of the answer",
    examples: [
      "check https://mcp.example.com/mcp",
      "check https://mcp.example.com/mcp --root ~/host --profile clerk",
      "check https://mcp.example.com/mcp --on-caution deny --json",
      "check http://127.0.0.1:9000/mcp --allow-private-hosts --guild http://127.0.0.1:8700",
    ],
  });
  withPolicyFlags(withRootFlags(command, "optional"))
    .option("--guild <origin>", "a local Guild to ask, as http://127.0.0.1:8700")
    .addOption(jsonFlag())
    .addHelpText(
      "after",
      `
It discloses the URL to the Guild, which probes the endpoint, and says so
before. The policy is that of the root's configuration, or else of the flags.`,
    )
    .action(async (url: string, flags: CheckFlags) => {
      process.exitCode = await check(url, flags);
    });
}

/** One preflight and what the policy makes of it (SPEC C3). */
async function check(url: string, { json = false, color, ...flags }: CheckFlags): Promise<0 | 1> {
  const terminal = processTerminal({ color });
  const source = await settingsFor(flags);
  const tell = json ? terminal.notice : terminal.result;
  const document = await examine(url, source, { terminal, tell });
  terminal.result(json ? JSON.stringify(document) : checkText(document, terminal.paint));
  return document.ok ? 0 : 1;
}

/** The settings that count, or what is wrong with them. */
type SettingsSource =
  | { readonly kind: "valid"; readonly settings: Settings; readonly isOfRoot: boolean }
  | { readonly kind: "invalid"; readonly errors: readonly SettingError[] };

async function settingsFor({ root, project, profile, ...flags }: Partial<RootFlags> & PolicyFlags) {
  if (root === undefined) {
    if (project !== undefined || profile !== undefined) {
      throw new CannotRun("--project and --profile need --root");
    }
    return { kind: "valid", settings: await settingsFromFlags(flags), isOfRoot: false } as const;
  }
  const [stated] = statedPolicyFlags(flags);
  if (stated !== undefined)
    throw new CannotRun(`${stated}: the policy is that of --root; give one or the other`);
  const scope = rootScope({
    root,
    ...(project === undefined ? {} : { project }),
    ...(profile === undefined ? {} : { profile }),
  });
  // Checks the flag alone: it has to be a local Guild's origin.
  const { fixtureGuildOrigin } = await settingsFromFlags(
    flags.guild === undefined ? {} : { guild: flags.guild },
  );
  const reading = await settingsIn({ ...scope, plugin: PLUGIN_NAME });
  if (reading.kind !== "valid") {
    const { found } = explainScopedConfig({ ...scope, plugin: PLUGIN_NAME });
    return { kind: "invalid", errors: errorsWithPlaces(reading.errors, found) } as const;
  }
  const settings = {
    ...reading.settings,
    fixtureGuildOrigin: fixtureGuildOrigin ?? reading.settings.fixtureGuildOrigin,
  };
  return { kind: "valid", settings, isOfRoot: true } as const;
}

/** Nothing is disclosed unless the settings are valid and the URL is eligible, and then only once it was told. */
async function examine(
  url: string,
  source: SettingsSource,
  { terminal, tell }: { readonly terminal: Terminal; readonly tell: (text: string) => void },
): Promise<CheckDocument> {
  if (source.kind !== "valid") {
    const errors = source.errors.map((error) => ({ ...error }));
    return { ...undisclosed("configuration_invalid"), setting_errors: errors };
  }
  const { settings, isOfRoot } = source;
  const { policy, allowPrivateHosts, timeoutSeconds } = settings;
  const known = { policy: policyOf(policy), approved_for: isOfRoot ? approvedFor(url, settings) : null };
  const screening = screenEndpoint(url, { allowPrivateHosts });
  if (screening.kind !== "eligible") {
    const { rule, problem } = screening;
    return { ...undisclosed("ineligible_endpoint"), ...known, ineligible: { rule, problem } };
  }
  const origin = settings.fixtureGuildOrigin ?? GUILD_ORIGIN;
  const certainties = guildCertainties(url, origin, policy);
  tell([disclosureText(url, origin, timeoutSeconds), ...certaintyLines(certainties)].join("\n"));
  const outcome = await announced(terminal, "Asking the Guild", askGuild(origin, url, timeoutSeconds));
  const { decision, reason } = decisionOn(policy, outcome);
  return {
    ...undisclosed(reason),
    ...known,
    ok: decision === "allow",
    decision,
    disclosed: { to: origin, url },
    certainties,
    evidence: evidenceOf(outcome),
  };
}

function undisclosed(reason: CheckDocument["reason"]): CheckDocument {
  return {
    ok: false,
    decision: "deny",
    reason,
    disclosed: null,
    ineligible: null,
    certainties: [],
    evidence: null,
    policy: null,
    approved_for: null,
    setting_errors: [],
    is_not: [...LIMITS],
  };
}

function approvedFor(url: string, { protectedServers }: Settings): string[] {
  return [...protectedServers].filter(([, approved]) => approved === url).map(([name]) => name);
}
