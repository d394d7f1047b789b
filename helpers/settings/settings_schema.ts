// Loaded only once a configuration has to be read: an installed plugin that nobody configured loads no zod (SPEC P1.4).
import * as z from "zod/mini";

import { normalizeServerName } from "../binding/names.ts";
import { CHECKS } from "../preflight/preflight_contract.ts";
import { DEFAULT_SETTINGS } from "./settings.ts";
import type { SettingError, Settings, SettingsReading } from "./settings.ts";

const FIXTURE_ORIGIN = /^http:\/\/(?:127\.0\.0\.1|\[::1\]):([1-9]\d{0,4})$/;
const PLAIN_KEY = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * A path that stays below the folder that it is relative to, as far as that shows without looking: no part of it is empty,
 * blank, `.` or `..`, and none holds what means another place on another system (SPEC P9.5).
 */
const PLAIN_PATH = /^(?:(?!\.{1,2}(?:\/|$)|\s+(?:\/|$))[^\\/:\p{C}]+(?:\/(?=.)|$))+$/u;
/** Longer paths no file system takes. */
const MAX_PATH = 1024;

const allowOrDeny = z.nullish(z.enum(["allow", "deny"]));

const policyShape = z.strictObject({
  required_proven: z.nullish(
    z.array(z.enum(CHECKS)).check(z.refine((names) => new Set(names).size === names.length)),
  ),
  tolerate_unknown_required: z.nullish(z.boolean()),
  on_caution: allowOrDeny,
  on_unavailable: allowOrDeny,
});

// A schema of an object takes any object by itself; only a plain map may reach it.
const policySchema = z.pipe(z.custom<z.input<typeof policyShape>>(isMap), policyShape);

const decisionLogSetting = z.nullish(z.string().check(z.regex(PLAIN_PATH), z.maxLength(MAX_PATH)));

/** What a configuration may hold, apart from what only the whole of it shows. A JSON schema is made of it. */
export const settingsShape = z.strictObject({
  // For editors: where a JSON schema of this file lies. It means nothing here.
  $schema: z.nullish(z.string()),
  protected_servers: z.nullish(z.custom<Record<string, unknown>>(isMap)),
  policy: z.nullish(policySchema),
  timeout_seconds: z.nullish(z.number().check(z.gt(0), z.lte(60))),
  cache_ttl_seconds: z.nullish(z.number().check(z.gte(0), z.lte(86_400))),
  allow_private_hosts: z.nullish(z.boolean()),
  fixture_guild_origin: z.nullish(z.string().check(z.regex(FIXTURE_ORIGIN), z.refine(isFixtureOrigin))),
  decision_log: decisionLogSetting,
});

const settingsSchema = z.pipe(z.custom<z.input<typeof settingsShape>>(isMap), settingsShape);

/** What each setting takes, by its path, in the words of an error message. */
export const EXPECTED: Readonly<Record<string, string>> = {
  "": "a map of settings",
  protected_servers: "a map of server name to URL, each name non-empty and distinct after normalisation",
  policy: "a map of policy settings",
  "policy.required_proven": `a list without repetition of: ${CHECKS.join(", ")}`,
  "policy.tolerate_unknown_required": "true or false",
  "policy.on_caution": "allow or deny",
  "policy.on_unavailable": "allow or deny",
  timeout_seconds: "a number above 0 and at most 60",
  cache_ttl_seconds: "a number from 0 to 86400",
  allow_private_hosts: "true or false",
  fixture_guild_origin: "http://127.0.0.1:PORT or http://[::1]:PORT, or null (offline tests only)",
  decision_log:
    "the path of a file below the host root, such as usr/decisions.jsonl: without . or .. as a part",
  $schema: "the address of a JSON schema, as text",
};

/**
 * Checks a configuration value and completes it with the defaults. Nothing is coerced: a wrong type, an unknown key
 * or an unknown name anywhere makes the whole configuration invalid (SPEC P3.1, P3.2).
 *
 * @param value - what the winning configuration file holds
 * @returns the settings, or every error by its setting path; no error carries a value. Never throws.
 */
export function readSettings(value: unknown): SettingsReading {
  const shape = settingsSchema.safeParse(value);
  const errors = [
    ...(shape.success ? [] : shape.error.issues.flatMap((issue) => issueErrors(issue, value))),
    ...serverErrors(isMap(value) ? value["protected_servers"] : null),
  ];
  const [first, ...others] = distinct(errors);
  if (first !== undefined) return { kind: "invalid", errors: [first, ...others] };
  // zod copies the maps it knows and so drops an own `__proto__`; the map of servers is kept as it was given.
  return { kind: "valid", settings: complete(shape.data ?? {}) };
}

/**
 * Reads the setting `decision_log` of a configuration that is invalid elsewhere: this one counts all the same where it is
 * valid by itself, so that the denials can be looked up (SPEC P9.5).
 *
 * @param value - what the winning configuration file holds
 * @returns the file, relative to the host root, or `null`
 */
export function readDecisionLog(value: unknown): string | null {
  if (!isMap(value) || !Object.hasOwn(value, "decision_log")) return null;
  const setting = decisionLogSetting.safeParse(value["decision_log"]);
  return setting.success ? (setting.data ?? null) : null;
}

type Shape = z.infer<typeof settingsSchema>;

function complete(shape: Shape): Settings {
  const policy = shape.policy ?? {};
  const defaults = DEFAULT_SETTINGS;
  return {
    protectedServers: new Map(
      Object.entries(shape.protected_servers ?? {}).map(([name, url]) => [
        normalizeServerName(name),
        url as string,
      ]),
    ),
    policy: {
      requiredProven: policy.required_proven ?? defaults.policy.requiredProven,
      tolerateUnknownRequired: policy.tolerate_unknown_required ?? defaults.policy.tolerateUnknownRequired,
      onCaution: policy.on_caution ?? defaults.policy.onCaution,
      onUnavailable: policy.on_unavailable ?? defaults.policy.onUnavailable,
    },
    timeoutSeconds: shape.timeout_seconds ?? defaults.timeoutSeconds,
    cacheTtlSeconds: shape.cache_ttl_seconds ?? defaults.cacheTtlSeconds,
    allowPrivateHosts: shape.allow_private_hosts ?? defaults.allowPrivateHosts,
    fixtureGuildOrigin: shape.fixture_guild_origin ?? defaults.fixtureGuildOrigin,
    decisionLog: shape.decision_log ?? defaults.decisionLog,
  };
}

/** The names and URLs of the protected servers. Whether a URL is eligible is a matter of the binding, not of the settings. */
function serverErrors(servers: unknown): SettingError[] {
  if (!isMap(servers)) return [];
  const names = Object.keys(servers);
  const shown = keyNames(servers);
  const normalised = new Set(names.map(normalizeServerName));
  const errors: SettingError[] = [];
  if (normalised.size < names.length || normalised.has("")) errors.push(errorAt("protected_servers"));
  for (const name of names) {
    if (typeof servers[name] === "string") continue;
    errors.push({ path: `protected_servers.${shown(name)}`, expected: "a URL as text" });
  }
  return errors;
}

function issueErrors(issue: z.core.$ZodIssue, value: unknown): SettingError[] {
  const path = issue.path.map(String);
  if (issue.code !== "unrecognized_keys") return [errorAt(path.join("."))];
  const inside = path.length === 0 ? value : (value as { policy: unknown }).policy;
  const shown = keyNames(inside as object);
  const known = Object.keys(path.length === 0 ? settingsShape.shape : policyShape.shape);
  return issue.keys.map((key) => ({
    path: [...path, shown(key)].join("."),
    expected: `no such setting${suggestion(key, known)}`,
  }));
}

function errorAt(path: string): SettingError {
  // An item of the list of checks is the one path that ends in an index.
  const expected = EXPECTED[path] ?? `one of: ${CHECKS.join(", ")}`;
  return { path, expected };
}

/**
 * Names the keys of a map for people: an operator's own key, or its place in the file when it is not plain enough to be
 * shown (SPEC P3.2).
 */
function keyNames(map: object): (key: string) => string {
  const places = new Map(Object.keys(map).map((key, index) => [key, index + 1]));
  return (key) => (PLAIN_KEY.test(key) ? key : `<key ${places.get(key) ?? 0}>`);
}

/** Names the known setting that is one slip away: a letter missing, added, changed, or two swapped. */
function suggestion(key: string, known: readonly string[]): string {
  const near = known.find((name) => isOneSlipAway(key, name));
  return near === undefined ? "" : `; did you mean ${near}?`;
}

function isOneSlipAway(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start += 1;
  const [restA, restB] = [a.slice(start), b.slice(start)];
  const swapped = `${restA.charAt(1)}${restA.charAt(0)}${restA.slice(2)}`;
  return (
    restA.slice(1) === restB ||
    restA === restB.slice(1) ||
    restA.slice(1) === restB.slice(1) ||
    swapped === restB
  );
}

function distinct(errors: readonly SettingError[]): SettingError[] {
  return [...new Map(errors.map((error) => [error.path, error])).values()];
}

function isFixtureOrigin(origin: string): boolean {
  const port = FIXTURE_ORIGIN.exec(origin)?.[1];
  return port !== undefined && Number(port) <= 65_535;
}

// YAML can yield sets, dates, bytes and maps with keys that are no text: objects all, and none of them a map of settings.
function isMap(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
