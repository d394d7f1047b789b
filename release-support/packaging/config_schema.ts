import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod/mini";

import { toPolicyRecord } from "../../helpers/decision/evidence.ts";
import { DEFAULT_SETTINGS } from "../../helpers/settings/settings.ts";
import { EXPECTED, settingsShape } from "../../helpers/settings/settings_schema.ts";
import { CONFIG_SCHEMA_FILE } from "./config_schema_file.ts";
import { packageRoot } from "./package_root.ts";

type Schema = z.core.JSONSchema.BaseSchema;

/**
 * Makes the JSON schema of `config.json`, for editors, from what the gate itself checks by (SPEC P3). It takes everything
 * that the gate takes; that names must differ after normalisation, and that the port of an address is none above 65535,
 * only the gate can tell.
 */
export function configSchema(): Schema {
  const schema = z.toJSONSchema(settingsShape, { target: "draft-7", unrepresentable: "any" });
  const policy = toPolicyRecord(DEFAULT_SETTINGS.policy);
  const defaults: Readonly<Record<string, unknown>> = {
    protected_servers: {},
    policy,
    timeout_seconds: DEFAULT_SETTINGS.timeoutSeconds,
    cache_ttl_seconds: DEFAULT_SETTINGS.cacheTtlSeconds,
    allow_private_hosts: DEFAULT_SETTINGS.allowPrivateHosts,
    fixture_guild_origin: DEFAULT_SETTINGS.fixtureGuildOrigin,
    decision_log: DEFAULT_SETTINGS.decisionLog,
    ...Object.fromEntries(Object.entries(policy).map(([name, value]) => [`policy.${name}`, value])),
  };
  for (const [path, expected] of Object.entries(EXPECTED)) {
    const setting = settingAt(schema, path);
    setting.description = expected;
    if (Object.hasOwn(defaults, path)) setting.default = defaults[path];
  }
  // What the shape leaves to code.
  Object.assign(notNull(settingAt(schema, "protected_servers")), {
    type: "object",
    propertyNames: { minLength: 1 },
    additionalProperties: { type: "string" },
  });
  notNull(settingAt(schema, "policy.required_proven")).uniqueItems = true;
  return { title: "Settings of agent_guild_preflight", ...schema };
}

/** The schema of a setting: the whole one for the empty path. */
function settingAt(schema: Schema, path: string): Schema {
  if (path === "") return schema;
  return path.split(".").reduce((outer, name) => {
    const setting = notNull(outer).properties?.[name];
    if (typeof setting !== "object") throw new Error(`the settings have no ${path}`);
    return setting;
  }, schema);
}

/** Of a setting that may be null, what it else is. */
function notNull(schema: Schema): Schema {
  const [first] = schema.anyOf ?? [];
  return typeof first === "object" ? first : schema;
}

/** The schema as it is shipped. */
export function shippedConfigSchema(): Schema {
  return JSON.parse(readFileSync(join(packageRoot, CONFIG_SCHEMA_FILE), "utf8")) as Schema;
}

/** `npm run schema`: writes the schema that is shipped. */
export function writeConfigSchema(): void {
  writeFileSync(join(packageRoot, CONFIG_SCHEMA_FILE), `${JSON.stringify(configSchema(), null, 2)}\n`);
}
