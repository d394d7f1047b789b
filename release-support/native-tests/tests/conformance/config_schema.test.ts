import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { Ajv } from "ajv";
import { expect } from "chai";
import fc from "fast-check";

import { DEFAULT_SETTINGS } from "../../../../helpers/settings/settings.ts";
import { readSettings } from "../../../../helpers/settings/settings_schema.ts";
import { HostRoot } from "../../../fixtures/host_root.ts";
import { configSchema, shippedConfigSchema } from "../../../packaging/config_schema.ts";
import { CONFIG_SCHEMA_FILE } from "../../../packaging/config_schema_file.ts";
import { packageRoot } from "../../../packaging/package_root.ts";

interface SettingsCase {
  readonly name: string;
  readonly input: { readonly config: unknown };
}

describe("the JSON schema of config.json", () => {
  const validate = new Ajv({ strict: true, allowUnionTypes: true }).compile(configSchema());
  const { cases } = JSON.parse(
    readFileSync(join(packageRoot, "release-support/native-tests/vectors/settings.json"), "utf8"),
  ) as { readonly cases: readonly SettingsCase[] };

  it("is shipped as the gate's own schema makes it: else run npm run schema [P3.1]", () => {
    expect(shippedConfigSchema()).to.deep.equal(configSchema());
  });

  it("states for every setting what it takes and what is the default [P3.1]", () => {
    const { properties = {} } = configSchema();
    const names = Object.keys(properties).filter((name) => name !== "$schema");
    const defaults = Object.fromEntries(
      names.map((name) => [name, (properties[name] as { readonly default?: unknown }).default]),
    );
    expect(readSettings(defaults)).to.deep.equal({ kind: "valid", settings: DEFAULT_SETTINGS });
    for (const setting of Object.values(properties)) expect(setting).to.have.property("description");
  });

  /** What normalisation or arithmetic shows, and no schema. */
  const BEYOND = ["blank name", "two keys, one name", "fixture_guild_origin 'http://127.0.0.1:65536'"];

  it("takes what the gate takes, and refuses what it refuses, in every recorded case [P3.1]", () => {
    const differing = cases.filter(
      ({ input: { config } }) => validate(config) !== (readSettings(config).kind === "valid"),
    );
    expect(differing.map(({ name }) => name)).to.deep.equal(BEYOND);
  });

  it("refuses nothing that the gate takes, whatever it is [P3.1]", () => {
    const value = fc.oneof(
      fc.constantFrom(
        null,
        true,
        "allow",
        "deny",
        "usr/x.jsonl",
        "a/../b",
        "http://127.0.0.1:1",
        0,
        5,
        60,
        86_400,
      ),
      fc.dictionary(
        fc.constantFrom("on_caution", "required_proven", "pub_server"),
        fc.constantFrom("deny", ["agent_card_signed"], null),
      ),
      fc.string(),
    );
    const names = fc.constantFrom("$schema", ...Object.keys(configSchema().properties ?? {}), "unknown");
    let taken = 0;
    fc.assert(
      fc.property(fc.dictionary(names, value, { noNullPrototype: true }), (config) => {
        if (readSettings(config).kind !== "valid") return;
        taken += 1;
        expect(validate(config)).to.equal(true);
      }),
      { numRuns: 1000 },
    );
    expect(taken).to.be.above(50);
  });

  it("lies in the plugin's folder, and a config.json may name it [P3.1]", () => {
    const root = new HostRoot();
    try {
      root.installPlugin();
      expect(existsSync(join(root.path, "usr/plugins/agent_guild_preflight", CONFIG_SCHEMA_FILE))).to.equal(
        true,
      );
    } finally {
      root.remove();
    }
    expect(readSettings({ $schema: `./${CONFIG_SCHEMA_FILE}` })).to.deep.equal({
      kind: "valid",
      settings: DEFAULT_SETTINGS,
    });
  });

  it("is in the npm package, under a name of its own", () => {
    const { files, exports } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as {
      readonly files: readonly string[];
      readonly exports: Readonly<Record<string, unknown>>;
    };
    expect(files).to.include(CONFIG_SCHEMA_FILE);
    expect(exports["./config.schema.json"]).to.equal(`./${CONFIG_SCHEMA_FILE}`);
  });
});
