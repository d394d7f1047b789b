import { Option } from "commander";
import type { Command } from "commander";

import type { Settings } from "../../helpers/settings/settings.ts";
import { CannotRun } from "./cannot_run.ts";

/** The flags that state a policy without a host root. */
export interface PolicyFlags {
  readonly requiredProven?: string;
  readonly tolerateUnknownRequired?: boolean;
  readonly onCaution?: string;
  readonly onUnavailable?: string;
  readonly timeout?: string;
  readonly allowPrivateHosts?: boolean;
  readonly guild?: string;
}

const FLAGS = [
  ["requiredProven", "required-proven <checks>", "checks that must be proven, separated by commas"],
  ["tolerateUnknownRequired", "tolerate-unknown-required", "a required check that is unknown does not deny"],
  ["onCaution", "on-caution <what>", "allow or deny on the verdict delegate_with_caution"],
  ["onUnavailable", "on-unavailable <what>", "allow or deny without usable evidence"],
  ["timeout", "timeout <seconds>", "the deadline of the preflight, above 0 and at most 60"],
  ["allowPrivateHosts", "allow-private-hosts", "the URL may name a host that is not public"],
] as const satisfies readonly (readonly [keyof PolicyFlags, string, string])[];

/** Adds the flags that state a policy. What is not said is as the plugin's defaults have it. */
export function withPolicyFlags(command: Command): Command {
  for (const [, flag, words] of FLAGS) command.addOption(new Option(`--${flag}`, words));
  return command;
}

/** The policy flags among the given ones, as typed; `--guild` is none. */
export function statedPolicyFlags(flags: PolicyFlags): string[] {
  return FLAGS.filter(([name]) => flags[name] !== undefined).map(
    ([, flag]) => `--${flag.replace(/ .*/, "")}`,
  );
}

/** Which flag states a setting. */
const FLAG_OF: Readonly<Record<string, string>> = {
  "policy.required_proven": "--required-proven",
  "policy.on_caution": "--on-caution",
  "policy.on_unavailable": "--on-unavailable",
  timeout_seconds: "--timeout",
  fixture_guild_origin: "--guild",
};

/**
 * Turns the flags into settings, by the plugin's own rules for a configuration.
 *
 * @throws CannotRun when one of them is not what it must be
 */
export async function settingsFromFlags(flags: PolicyFlags): Promise<Settings> {
  const { readSettings } = await import("../../helpers/settings/settings_schema.ts");
  const reading = readSettings({
    policy: {
      required_proven: flags.requiredProven?.split(",").filter((name) => name !== ""),
      tolerate_unknown_required: flags.tolerateUnknownRequired,
      on_caution: flags.onCaution,
      on_unavailable: flags.onUnavailable,
    },
    timeout_seconds: flags.timeout === undefined ? undefined : numberIn(flags.timeout),
    allow_private_hosts: flags.allowPrivateHosts,
    fixture_guild_origin: flags.guild,
  });
  if (reading.kind === "valid") return reading.settings;
  const [{ path, expected }] = reading.errors;
  const setting = path.replace(/\.\d+$/, "");
  throw new CannotRun(`${FLAG_OF[setting] ?? setting}: expected ${expected}`);
}

/** A number as JSON writes it; anything else stays what it is, which no setting takes. */
function numberIn(text: string): number | string {
  return /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
}
