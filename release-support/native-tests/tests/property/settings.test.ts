import { expect } from "chai";
import * as fc from "fast-check";

import { CHECKS } from "../../../../helpers/preflight/preflight_contract.ts";
import { readSettings } from "../../../../helpers/settings/settings_schema.ts";

const MARKER = "secret-\u2603-value";
const names = fc.oneof(
  fc.constantFrom(
    "protected_servers",
    "policy",
    "timeout_seconds",
    "cache_ttl_seconds",
    "allow_private_hosts",
    "fixture_guild_origin",
    "decision_log",
    "$schema",
  ),
  fc.constantFrom(
    "required_proven",
    "tolerate_unknown_required",
    "on_caution",
    "on_unavailable",
    "__proto__",
    "constructor",
  ),
  fc.string({ maxLength: 8 }),
);
const leaf = fc.oneof(
  fc.constantFrom(null, true, false, 0, 5, -1, 61, 1e9, "allow", "deny", "", MARKER, ...CHECKS),
  fc.double(),
);
const anyConfiguration = fc.letrec<{ node: unknown }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.array(tie("node"), { maxLength: 3 }),
    fc.dictionary(names, tie("node"), { maxKeys: 4, noNullPrototype: false }),
  ),
})).node;

/** The shape of a path that an error may name: known settings, plain keys, or the place of a key. */
const PATH = /^$|^\$schema$|^(?:[A-Za-z0-9_-]{1,64}|<key \d+>)(?:\.(?:[A-Za-z0-9_-]{1,64}|<key \d+>)){0,2}$/;

describe("settings, whatever they are", () => {
  it("are valid and complete, or have errors that name paths, and never throw [P3.1, P3.2]", () => {
    fc.assert(
      fc.property(anyConfiguration, (configuration) => {
        const reading = readSettings(configuration);
        if (reading.kind === "valid") {
          const { timeoutSeconds, cacheTtlSeconds, protectedServers } = reading.settings;
          expect(timeoutSeconds).to.be.greaterThan(0).and.at.most(60);
          expect(cacheTtlSeconds).to.be.at.least(0).and.at.most(86_400);
          for (const url of protectedServers.values()) expect(url).to.be.a("string");
          return;
        }
        expect(reading.errors).to.not.be.empty;
        for (const { path, expected } of reading.errors) {
          expect(path).to.match(PATH);
          expect(expected).to.be.a("string").and.not.equal("");
        }
      }),
      { numRuns: 4000 },
    );
  });

  it("echo no value in their errors [P3.2]", () => {
    fc.assert(
      fc.property(anyConfiguration, (configuration) => {
        const reading = readSettings(configuration);
        expect(JSON.stringify(reading.kind === "invalid" ? reading.errors : [])).to.not.include(MARKER);
      }),
      { numRuns: 2000 },
    );
  });

  it("keep every server name that they are given [P3.1]", () => {
    const url = fc.constant("https://pub.example.com/mcp");
    const servers = fc.uniqueArray(fc.stringMatching(/^[a-z0-9]{1,10}$/), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(servers, url, (serverNames, address) => {
        const all = [...serverNames, "__proto__", "constructor"];
        const map: Record<string, string> = {};
        for (const name of all) Object.defineProperty(map, name, { value: address, enumerable: true });
        const reading = readSettings({ protected_servers: map });
        if (reading.kind !== "valid") throw new Error("invalid");
        expect([...reading.settings.protectedServers.keys()]).to.have.members([...new Set(all)]);
      }),
      { numRuns: 500 },
    );
  });
});
