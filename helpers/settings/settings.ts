import type { CheckName } from "../preflight/preflight_contract.ts";

/** What the operator wants done with an observation (SPEC P3, P8). */
export interface Policy {
  /** Checks whose status must be `proven`. */
  readonly requiredProven: readonly CheckName[];
  /** Whether a required check that is `unknown` does not deny. One that is `failed` still does. */
  readonly tolerateUnknownRequired: boolean;
  /** What the verdict `delegate_with_caution` leads to. */
  readonly onCaution: "allow" | "deny";
  /** What missing, unusable or inconsistent evidence leads to. */
  readonly onUnavailable: "allow" | "deny";
}

/** The plugin's settings, complete and checked (SPEC P3). */
export interface Settings {
  /** Normalised server name to the one approved URL of that server. */
  readonly protectedServers: ReadonlyMap<string, string>;
  readonly policy: Policy;
  /** The deadline of a preflight in seconds, above 0, at most 60. */
  readonly timeoutSeconds: number;
  /** How long an observation may be reused, in seconds, 0 to 86,400. */
  readonly cacheTtlSeconds: number;
  /** Whether the approved URL may name a non-public host. */
  readonly allowPrivateHosts: boolean;
  /** The local Guild of an offline test, or `null` for the production origin (SPEC P6.2). */
  readonly fixtureGuildOrigin: string | null;
  /** The file that decisions are appended to, relative to the host root with `/`, or `null` for none (SPEC P9.5). */
  readonly decisionLog: string | null;
}

/** One thing that is wrong with a configuration: where, and what was expected there. Never the value. */
export interface SettingError {
  /** The setting's path, such as `policy.on_caution`; empty for the whole configuration. */
  readonly path: string;
  /** What is allowed there, for people. */
  readonly expected: string;
}

/** A configuration as far as it can be trusted. */
export type SettingsReading =
  | { readonly kind: "valid"; readonly settings: Settings }
  | { readonly kind: "invalid"; readonly errors: readonly [SettingError, ...SettingError[]] };

/** What an omitted or null setting means; `default_config.yaml` states the same for people (SPEC P3). */
export const DEFAULT_SETTINGS: Settings = Object.freeze({
  protectedServers: new Map<string, string>(),
  policy: Object.freeze({
    requiredProven: Object.freeze(["endpoint_reachable", "protocol_handshake"] as const),
    tolerateUnknownRequired: false,
    onCaution: "allow",
    onUnavailable: "deny",
  }),
  timeoutSeconds: 5,
  cacheTtlSeconds: 300,
  allowPrivateHosts: false,
  fixtureGuildOrigin: null,
  decisionLog: null,
});
