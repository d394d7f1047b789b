import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect } from "chai";
import fc from "fast-check";

import { MAX_DENIAL_BYTES } from "../../../../helpers/decision/denial.ts";
import type { DecisionRecord } from "../../../../helpers/decision/evidence.ts";
import { DECISIONS_KEY, LAST_OBSERVATION_KEY } from "../../../../helpers/decision/evidence.ts";
import { CHECKS } from "../../../../helpers/preflight/preflight_contract.ts";
import { DEFAULT_SETTINGS } from "../../../../helpers/settings/settings.ts";
import type { Settings } from "../../../../helpers/settings/settings.ts";
import { readSettings } from "../../../../helpers/settings/settings_schema.ts";
import { protecting } from "../../../fixtures/gated_host.ts";
import type { GatedHost, Addresses } from "../../../fixtures/gated_host.ts";
import { unsignedCard } from "../../../guild/preflight_bodies.ts";
import { packageRoot } from "../../../packaging/package_root.ts";
import { gatedSuite } from "../gated_suite.ts";

const DEFAULT_FILE = "usr/plugins/agent_guild_preflight/default_config.yaml";
const SERVER_URL = "https://pub.example.com/mcp";
/** Stands wherever a value must not be shown. */
const SECRET = "s3cret";

/** The paths of what is wrong, or that nothing is. */
function problems(value: unknown): readonly string[] | "valid" {
  const reading = readSettings(value);
  return reading.kind === "valid" ? "valid" : reading.errors.map(({ path }) => path);
}

function settingsOf(value: unknown): Settings {
  const reading = readSettings(value);
  if (reading.kind !== "valid") throw new Error(JSON.stringify(reading.errors));
  return reading.settings;
}

/** A JSON text as a value that keeps `__proto__` as a key. */
function json(text: string): unknown {
  return JSON.parse(text);
}

/** A value of each type that JSON knows, and of each that YAML adds. */
const VALUES: readonly (readonly [name: string, value: unknown])[] = [
  ["true", true],
  ["false", false],
  ["0", 0],
  ["1", 1],
  ["-1", -1],
  ["0.5", 0.5],
  ["an empty text", ""],
  ["the text true", "true"],
  ["the text false", "false"],
  ["the text yes", "yes"],
  ["the text 5", "5"],
  ["the text allow", "allow"],
  ["the text null", "null"],
  ["an empty list", []],
  ["a list of a text", ["allow"]],
  ["a list of a list", [[]]],
  ["a list of pairs", [["pub_server", SERVER_URL]]],
  ["an empty map", {}],
  ["a map", { [SECRET]: SECRET }],
  ["a map that looks like a list", { 0: "endpoint_reachable", length: 1 }],
  ["NaN", NaN],
  ["an infinity", Infinity],
  ["a big integer", 5n],
  ["a date", new Date(0)],
  ["a set", new Set(["endpoint_reachable"])],
  ["a map with any keys", new Map([["pub_server", SERVER_URL]])],
  ["bytes", Buffer.from("allow")],
  ["a list of bytes", new Uint8Array(2)],
  ["a boxed boolean", Object(true)],
  ["a boxed text", Object("allow")],
  ["a boxed number", Object(5)],
  ["a function", () => true],
  ["a symbol", Symbol("allow")],
  ["an object of a class", new URL(SERVER_URL)],
];

/** Each setting by its path, and the values from the list above that it takes. */
const ACCEPTED: Readonly<Record<string, readonly string[]>> = {
  protected_servers: ["an empty map", "a map"],
  policy: ["an empty map"],
  "policy.required_proven": ["an empty list"],
  "policy.tolerate_unknown_required": ["true", "false"],
  "policy.on_caution": ["the text allow"],
  "policy.on_unavailable": ["the text allow"],
  timeout_seconds: ["1", "0.5"],
  cache_ttl_seconds: ["0", "1", "0.5"],
  allow_private_hosts: ["true", "false"],
  fixture_guild_origin: [],
  decision_log: [
    "the text true",
    "the text false",
    "the text yes",
    "the text 5",
    "the text allow",
    "the text null",
  ],
  $schema: [
    "an empty text",
    "the text true",
    "the text false",
    "the text yes",
    "the text 5",
    "the text allow",
    "the text null",
  ],
};

/** A configuration that sets one setting, named by its path. */
function setting(path: string, value: unknown): Record<string, unknown> {
  const [outer = "", inner] = path.split(".");
  return inner === undefined ? { [outer]: value } : { [outer]: { [inner]: value } };
}

describe("the settings", () => {
  describe("by their types", () => {
    for (const [path, accepted] of Object.entries(ACCEPTED)) {
      it(`take for ${path} ${accepted.join(", ") || "none"} out of a value of every type [P3.1]`, () => {
        const taken = VALUES.filter(([, value]) => problems(setting(path, value)) === "valid");
        expect(taken.map(([name]) => name)).to.deep.equal(accepted);
      });

      it(`name ${path}, or what is in it, when it is of another type [P3.1]`, () => {
        for (const [name, value] of VALUES) {
          const found = problems(setting(path, value));
          if (found === "valid") continue;
          expect(found, name).to.not.be.empty;
          for (const shown of found)
            expect(shown, name).to.match(new RegExp(`^${path.replace(/[.$]/g, "\\$&")}(?:\\.|$)`));
        }
      });
    }

    for (const [name, value] of [...VALUES, ["null", null], ["undefined", undefined]] as const) {
      if (name === "an empty map") continue;
      it(`are not ${name} as a whole [P3.1]`, () => {
        expect(problems(value)).to.be.an("array").that.is.not.empty;
      });
    }

    it("are a map, with or without a prototype [P3.1]", () => {
      expect(problems({})).to.equal("valid");
      expect(problems(Object.create(null))).to.equal("valid");
    });
  });

  describe("left out", () => {
    const NAMES = Object.keys(ACCEPTED);

    it("mean the defaults [P3.1]", () => {
      expect(settingsOf({})).to.deep.equal(DEFAULT_SETTINGS);
    });

    it("are the defaults that the table states [P3.1]", () => {
      expect(DEFAULT_SETTINGS).to.deep.equal({
        protectedServers: new Map(),
        policy: {
          requiredProven: ["endpoint_reachable", "protocol_handshake"],
          tolerateUnknownRequired: false,
          onCaution: "allow",
          onUnavailable: "deny",
        },
        timeoutSeconds: 5,
        cacheTtlSeconds: 300,
        allowPrivateHosts: false,
        fixtureGuildOrigin: null,
        decisionLog: null,
      });
    });

    for (const path of NAMES) {
      it(`mean the same as ${path} set to null [P3.1]`, () => {
        expect(settingsOf(setting(path, null))).to.deep.equal(DEFAULT_SETTINGS);
      });
    }

    it("do not exist for the whole file and for the URL of a server [P3.1]", () => {
      expect(problems(null)).to.deep.equal([""]);
      expect(problems({ protected_servers: { pub_server: null } })).to.deep.equal([
        "protected_servers.pub_server",
      ]);
    });
  });

  describe("within their bounds", () => {
    const VALID: readonly (readonly [path: string, value: unknown])[] = [
      ["timeout_seconds", Number.MIN_VALUE],
      ["timeout_seconds", 60],
      ["cache_ttl_seconds", 0],
      ["cache_ttl_seconds", -0],
      ["cache_ttl_seconds", 86_400],
      ["policy.required_proven", [...CHECKS]],
      ["policy.on_caution", "deny"],
      ["policy.on_unavailable", "deny"],
      ["fixture_guild_origin", "http://127.0.0.1:1"],
      ["fixture_guild_origin", "http://127.0.0.1:65535"],
      ["fixture_guild_origin", "http://[::1]:8080"],
      ["decision_log", "decisions.jsonl"],
      ["decision_log", "usr/log files/décisions of today..jsonl"],
      ["decision_log", ".hidden/...x"],
      ["decision_log", "x".repeat(1024)],
      ["$schema", "usr/plugins/agent_guild_preflight/config.schema.json"],
      ["protected_servers", { pub_server: SERVER_URL, other: SERVER_URL }],
      // Which URL may be approved is a matter of the binding.
      ["protected_servers", { pub_server: "not a URL" }],
      ["protected_servers", { pub_server: "" }],
    ];
    for (const [path, value] of VALID) {
      it(`take ${JSON.stringify(value)} for ${path} [P3.1]`, () => {
        expect(problems(setting(path, value))).to.equal("valid");
      });
    }

    const INVALID: readonly (readonly [path: string, value: unknown, shown?: string])[] = [
      ["timeout_seconds", 0],
      ["timeout_seconds", -0],
      ["timeout_seconds", -Number.MIN_VALUE],
      ["timeout_seconds", 60.000_001],
      ["timeout_seconds", Number.MAX_VALUE],
      ["cache_ttl_seconds", -Number.MIN_VALUE],
      ["cache_ttl_seconds", 86_400.001],
      ["policy.required_proven", ["endpoint_reachable", "endpoint_reachable"]],
      ["policy.required_proven", ["identity_verified"], "policy.required_proven.0"],
      ["policy.required_proven", ["ENDPOINT_REACHABLE"], "policy.required_proven.0"],
      ["policy.required_proven", ["endpoint_reachable", " protocol_handshake"], "policy.required_proven.1"],
      ["policy.required_proven", ["endpoint_reachable", null], "policy.required_proven.1"],
      ["policy.on_caution", "Allow"],
      ["policy.on_caution", "deny "],
      ["policy.on_unavailable", "warn"],
      ["fixture_guild_origin", "https://guild.example.com"],
      ["fixture_guild_origin", "http://127.0.0.1:8080/"],
      ["decision_log", ""],
      ["decision_log", " "],
      ["decision_log", "/var/log/decisions.jsonl"],
      ["decision_log", "../decisions.jsonl"],
      ["decision_log", "usr/../../decisions.jsonl"],
      ["decision_log", "usr/.."],
      ["decision_log", "./decisions.jsonl"],
      ["decision_log", "usr//decisions.jsonl"],
      ["decision_log", "usr/logs/"],
      ["decision_log", "usr\\decisions.jsonl"],
      ["decision_log", "C:/decisions.jsonl"],
      ["decision_log", "decisions.jsonl\0"],
      ["decision_log", "deci\nsions.jsonl"],
      ["decision_log", "\u202egpj.snoisiced"],
      ["decision_log", "x".repeat(1025)],
      ["decision_log", "usr/ /x"],
      ["$schema", 5],
      ["protected_servers", { "": SERVER_URL }],
      ["protected_servers", { " \t": SERVER_URL }],
      ["protected_servers", { "Pub-Server": SERVER_URL, "pub server": SERVER_URL }],
      ["protected_servers", { pub_server: SERVER_URL, " PUB.SERVER ": SERVER_URL }],
      ["protected_servers", { pub_server: [SERVER_URL] }, "protected_servers.pub_server"],
      ["protected_servers", { pub_server: { url: SERVER_URL } }, "protected_servers.pub_server"],
      ["protected_servers", { pub_server: 8080 }, "protected_servers.pub_server"],
    ];
    for (const [path, value, shown = path] of INVALID) {
      it(`refuse ${JSON.stringify(value)} for ${path} [P3.1]`, () => {
        expect(problems(setting(path, value))).to.deep.equal([shown]);
      });
    }
  });

  describe("by their keys", () => {
    const UNKNOWN = ["guild_origin", "Policy", "policy ", "on_cautions", "protectedServers", "toString"];
    for (const key of [...UNKNOWN.map((name) => JSON.stringify(name)), '"constructor"', '"__proto__"']) {
      it(`refuse the unknown setting ${key} [P3.1]`, () => {
        expect(problems(json(`{${key}: null}`)))
          .to.be.an("array")
          .that.has.lengthOf(1);
      });

      it(`refuse the unknown policy ${key} [P3.1]`, () => {
        expect(problems(json(`{"policy": {${key}: null}}`)))
          .to.be.an("array")
          .that.has.lengthOf(1);
      });
    }

    it("take nothing from the value of __proto__ [P3.1]", () => {
      expect(problems(json('{"__proto__": {"allow_private_hosts": true}}'))).to.deep.equal(["__proto__"]);
      expect(problems(json('{"policy": {"__proto__": {"on_unavailable": "allow"}}}'))).to.deep.equal([
        "policy.__proto__",
      ]);
    });

    for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty", "10"]) {
      const normalised = name.toLowerCase();

      it(`keep a server named ${name} [P3.1]`, () => {
        const settings = settingsOf(json(`{"protected_servers": {"${name}": "${SERVER_URL}"}}`));
        expect([...settings.protectedServers]).to.deep.equal([[normalised, SERVER_URL]]);
      });

      it(`check the URL of a server named ${name} [P3.1]`, () => {
        expect(problems(json(`{"protected_servers": {"${name}": 1}}`))).to.deep.equal([
          `protected_servers.${name}`,
        ]);
      });
    }

    it("say which setting a misspelt one may have been [P3.2]", () => {
      const reading = readSettings({ policy: { on_cautoin: SECRET } });
      expect(reading).to.deep.equal({
        kind: "invalid",
        errors: [{ path: "policy.on_cautoin", expected: "no such setting; did you mean on_caution?" }],
      });
    });

    const SHOWN = ["a", "A0_z-9", "-", "k".repeat(64)];
    const HIDDEN = ["", " ", "k".repeat(65), "a b", "a.b", "a\nb", "käse", "https://u:p@h/", "<b>", "a\0"];

    for (const key of SHOWN) {
      it(`show the key ${JSON.stringify(key)} as it is [P3.2]`, () => {
        expect(problems({ policy: {}, [key]: 1 })).to.deep.equal([key]);
        expect(problems({ protected_servers: { [key]: 1 } })).to.deep.equal([`protected_servers.${key}`]);
      });
    }

    for (const key of HIDDEN) {
      it(`show the key ${JSON.stringify(key)} by its place [P3.2]`, () => {
        expect(problems({ policy: {}, [key]: 1 })).to.deep.equal(["<key 2>"]);
        expect(problems({ policy: { on_caution: "deny", [key]: 1 } })).to.deep.equal(["policy.<key 2>"]);
      });
    }

    it("show a server's odd name by its place [P3.2]", () => {
      const servers = { pub_server: SERVER_URL, "my server": 1, "other server": null };
      expect(problems({ protected_servers: servers })).to.deep.equal([
        "protected_servers.<key 2>",
        "protected_servers.<key 3>",
      ]);
    });
  });

  it("never throw and never show a value, whatever they are [P3.1, P3.2]", () => {
    const leaf = fc.constantFrom<unknown>(SECRET, 7_654_321, true, null, [SECRET], {
      [`${SECRET} key`]: SECRET,
    });
    const map = fc.dictionary(
      fc.constantFrom("on_caution", "required_proven", "__proto__", `${SECRET} key`, "pub_server"),
      leaf,
    );
    const names = [...Object.keys(DEFAULT_SETTINGS), ...Object.keys(ACCEPTED), `${SECRET} key`];
    const config = fc.dictionary(fc.constantFrom(...names), fc.oneof(leaf, map));
    fc.assert(
      fc.property(fc.oneof(config, fc.anything({ withBigInt: true, withDate: true })), (value) => {
        const reading = readSettings(value);
        if (reading.kind === "valid") return;
        expect(JSON.stringify(reading.errors)).to.not.match(/s3cret|7654321/);
        for (const { path } of reading.errors) {
          expect(path).to.match(/^(?:(?:[A-Za-z0-9_-]{1,64}|\$schema|<key \d+>)(?:\.|$))*$/);
        }
      }),
    );
  });

  describe("seen through the host", () => {
    const { open } = gatedSuite();

    function lastRecord({ agent }: GatedHost): DecisionRecord | undefined {
      return agent.getData(LAST_OBSERVATION_KEY) as DecisionRecord | undefined;
    }

    /** The denial of an invalid configuration: before any preflight, without a record, nothing executed. */
    async function invalidMessage(host: GatedHost, name?: string): Promise<string> {
      const outcome = await host.call(name);
      if (outcome.kind !== "denied") throw new Error(`the call ended as ${JSON.stringify(outcome)}`);
      expect(outcome.message).to.include("(configuration_invalid)");
      expect(host.guild.requests).to.be.empty;
      expect(Object.values(host.servers).flatMap(({ toolCalls }) => toolCalls)).to.be.empty;
      expect(host.agent.getData(DECISIONS_KEY)).to.equal(undefined);
      expect(host.agent.getData(LAST_OBSERVATION_KEY)).to.equal(undefined);
      expect(host.agent.context.log.items).to.be.empty;
      return outcome.message;
    }

    describe("with a value of the wrong type (case G-08)", () => {
      const file = join(packageRoot, "release-support", "native-tests", "cases", "cases.json");
      const cases = JSON.parse(readFileSync(file, "utf8")) as {
        readonly id: string;
        readonly input: { readonly config_variants: Readonly<Record<string, Record<string, unknown>>> };
      }[];
      const variants = cases.find(({ id }) => id === "G-08")?.input.config_variants ?? {};
      const EXPECTED: Readonly<Record<string, string>> = {
        a: "policy.required_proven",
        b: "policy.required_proven",
        c: "policy.required_proven.1",
        d: "policy.required_proven.0",
        e: "protected_servers.pub_server",
        f: "allow_private_hosts",
      };

      /** The variant about the loopback server: nothing but its one fault stands between the call and the preflight. */
      function onLoopback(config: Record<string, unknown>, { urls, guildOrigin }: Addresses) {
        const text = JSON.stringify({
          allow_private_hosts: true,
          fixture_guild_origin: guildOrigin,
          ...config,
        });
        return text.replaceAll(SERVER_URL, urls["pub_server"] ?? "");
      }

      for (const [variant, path] of Object.entries(EXPECTED)) {
        it(`deny variant ${variant} and name ${path} [P3.1, P3.2]`, async () => {
          const host = await open({ config: (world) => onLoopback(variants[variant] ?? {}, world) });
          host.guild.answer("*", { kind: "json", body: unsignedCard });
          const message = await invalidMessage(host);
          expect(message.match(/^- [^:]+/gm)).to.deep.equal([`- ${path}`]);
        });
      }
    });

    it("mean their defaults where they are null [P3.1]", async () => {
      const nulls = { policy: null, timeout_seconds: null, cache_ttl_seconds: null };
      const host = await open({ config: (world) => protecting(world, "pub_server", nulls) });
      expect((await host.call()).kind).to.equal("ran");
      expect(lastRecord(host)?.policy).to.deep.equal({
        required_proven: ["endpoint_reachable", "protocol_handshake"],
        tolerate_unknown_required: false,
        on_caution: "allow",
        on_unavailable: "deny",
      });
    });

    const YAML = {
      "a set of servers": "protected_servers: !!set {pub_server}\n",
      "servers with keys that are no text":
        "protected_servers: {[pub_server]: https://pub.example.com/mcp}\n",
      "servers with a number for a key": "protected_servers: {1: https://pub.example.com/mcp}\n",
      "an ordered map of servers": "protected_servers: !!omap [pub_server: https://pub.example.com/mcp]\n",
      "a date for a URL": "protected_servers: {pub_server: 2026-01-01}\n",
      "a date for a number": "timeout_seconds: 2026-01-01\n",
      "an infinity": "timeout_seconds: .inf\n",
      "NaN for a number": "cache_ttl_seconds: .nan\n",
      "a number beyond every float": "cache_ttl_seconds: 1.0e+999\n",
      "bytes for a word": "policy: {on_caution: !!binary YWxsb3c=}\n",
      "a set of checks": "policy: {required_proven: !!set {endpoint_reachable}}\n",
      "a map that holds itself": "policy: &policy {on_caution: *policy}\n",
      "a tag that nobody knows": "policy: !policy {on_caution: deny}\n",
      "a tag of Python's": "timeout_seconds: !!python/object/apply:os.getcwd []\n",
      "a set as a whole": "!!set {protected_servers}\n",
      "a date as a whole": "2026-01-01\n",
      "a text as a whole": "protected_servers\n",
      "nothing but a comment": "# protected_servers: {}\n",
    };

    for (const [what, text] of Object.entries(YAML)) {
      it(`deny ${what} in the default file [P3.1]`, async () => {
        const host = await open({
          config: () => null,
          prepare: (root) => root.write(DEFAULT_FILE, text),
        });
        await invalidMessage(host);
      });
    }

    for (const name of ["__proto__", "constructor"]) {
      it(`protect a server named ${name} like any other [P3.1]`, async () => {
        const keyed = (value: unknown) => json(`{"${name}": ${JSON.stringify(value)}}`);
        const host = await open({
          mcpServers: ({ urls }) => ({
            mcpServers: keyed({ url: urls["pub_server"], type: "streamable-http" }),
          }),
          config: ({ urls, guildOrigin }) => ({
            protected_servers: keyed(urls["pub_server"]),
            allow_private_hosts: true,
            fixture_guild_origin: guildOrigin,
          }),
        });
        expect((await host.call(`${name}.search`)).kind).to.equal("ran");
        expect(host.guild.requests).to.have.lengthOf(1);
        expect(lastRecord(host)?.server).to.equal(name);
      });

      it(`deny where a setting is named ${name} [P3.1]`, async () => {
        const host = await open({
          config: (world) => JSON.stringify(protecting(world, "pub_server")).replace("{", `{"${name}":{},`),
        });
        const message = await invalidMessage(host);
        expect(message).to.include(`- ${name}: expected no such setting`);
      });

      it(`deny where a policy is named ${name} [P3.1]`, async () => {
        const host = await open({
          config: (world) =>
            JSON.stringify(protecting(world, "pub_server", { policy: { on_caution: "deny" } })).replace(
              '"policy":{',
              `"policy":{"${name}":{"on_caution":"allow"},`,
            ),
        });
        const message = await invalidMessage(host);
        expect(message).to.include(`- policy.${name}: expected no such setting`);
      });
    }

    it("deny with every offending path, what was expected there, and no value [P3.2]", async () => {
      const host = await open({
        config: () => ({
          protected_servers: { pub_server: 5, "sec ret s3cret": [SECRET] },
          policy: { on_caution: SECRET, required_proven: [SECRET], on_unavailabel: SECRET },
          timeout_seconds: SECRET,
          cache_ttl_seconds: 7_654_321,
          allow_private_hosts: SECRET,
          fixture_guild_origin: `http://${SECRET}.example.com`,
          [`https://${SECRET}`]: SECRET,
          extra_key: SECRET,
        }),
      });
      const message = await invalidMessage(host);
      expect(message.match(/^- .*/gm)).to.have.members([
        "- protected_servers.pub_server: expected a URL as text",
        "- protected_servers.<key 2>: expected a URL as text",
        "- policy.on_caution: expected allow or deny",
        `- policy.required_proven.0: expected one of: ${CHECKS.join(", ")}`,
        "- policy.on_unavailabel: expected no such setting; did you mean on_unavailable?",
        "- timeout_seconds: expected a number above 0 and at most 60",
        "- cache_ttl_seconds: expected a number from 0 to 86400",
        "- allow_private_hosts: expected true or false",
        "- fixture_guild_origin: expected http://127.0.0.1:PORT or http://[::1]:PORT, or null (offline tests only)",
        "- <key 7>: expected no such setting",
        "- extra_key: expected no such setting",
      ]);
      expect(message).to.not.match(/s3cret|7654321/);
      expect(JSON.stringify([host.agent.history.messages, host.agent.context.log.items])).to.not.include(
        SECRET,
      );
    });

    it("deny with a bounded message, however much is wrong [P3.2]", async () => {
      const keys = Array.from({ length: 500 }, (_, index) => [`${"k".repeat(60)}${index}`, SECRET] as const);
      const host = await open({ config: () => Object.fromEntries(keys) });
      const message = await invalidMessage(host);
      expect(Buffer.byteLength(message)).to.be.at.most(MAX_DENIAL_BYTES);
      const shown = message.match(/^- k+\d+:/gm)?.length ?? 0;
      expect(shown).to.be.above(0);
      expect(message).to.include(`- +${500 - shown} more`);
    });

    it("deny the tools of an unprotected MCP server too [P3.2]", async () => {
      const host = await open({
        servers: {
          pub_server: { transport: "streamable_http" },
          open_server: { transport: "streamable_http" },
        },
        config: (world) => protecting(world, "pub_server", { timeout_seconds: "5" }),
      });
      expect(await invalidMessage(host, "open_server.search")).to.include("- timeout_seconds: ");
    });

    it("leave tools that are not MCP tools alone [P3.2]", async () => {
      const host = await open({ config: () => [], tools: { local: () => "ran here" } });
      expect(await host.call("local")).to.deep.equal({ kind: "ran", message: "ran here" });
      expect(await host.call("response", { text: "done" })).to.deep.equal({ kind: "ran", message: "done" });
      expect((await host.call("no_such_tool")).kind).to.equal("ran");
    });

    it("count again once they are mended [P3.2]", async () => {
      const host = await open({ config: () => [] });
      await invalidMessage(host);
      host.root.writeConfig(protecting(host.addresses, "pub_server"));
      expect((await host.call()).kind).to.equal("ran");
      expect(host.guild.requests).to.have.lengthOf(1);
    });

    const SPELLINGS = [
      ["Pub-Server", "pub_server", "pub_server"],
      ["pub_server", "  PUB SERVER\t", "pub_server"],
      ["pub.server", "pub/server", "pub_server"],
      ["ÜBER-Server", "über server", "über_server"],
      ["İ1", "i̇1", "i_1"],
      ["服务-1", "服务 1", "服务_1"],
    ] as const;

    for (const [configured, approved, normalised] of SPELLINGS) {
      it(`protect the server ${JSON.stringify(configured)} under the name ${JSON.stringify(approved)} [P3.3]`, async () => {
        const host = await open({
          mcpServers: ({ urls }) => ({
            mcpServers: { [configured]: { url: urls["pub_server"], type: "streamable-http" } },
          }),
          config: (world) => ({
            ...protecting(world, []),
            protected_servers: { [approved]: world.urls["pub_server"] },
          }),
        });
        expect((await host.call(`${normalised}.search`)).kind).to.equal("ran");
        expect(lastRecord(host)?.server).to.equal(normalised);
        expect(host.guild.requests).to.have.lengthOf(1);
      });
    }
  });
});
