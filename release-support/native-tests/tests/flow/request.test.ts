import dns from "node:dns";
import type { LookupFunction } from "node:net";
import { syncBuiltinESMExports } from "node:module";

import { expect } from "chai";

import type { DecisionRecord } from "../../../../helpers/decision/evidence.ts";
import { LAST_OBSERVATION_KEY } from "../../../../helpers/decision/evidence.ts";
import { GUILD_ORIGIN } from "../../../../helpers/preflight/guild_preflight.ts";
import { requestJson } from "../../../../helpers/preflight/guild_request.ts";
import { readSettings } from "../../../../helpers/settings/settings_schema.ts";
import { protecting } from "../../../fixtures/gated_host.ts";
import type { GatedHost, GatedHostOptions } from "../../../fixtures/gated_host.ts";
import { endpointDown } from "../../../guild/preflight_bodies.ts";
import { startScriptedGuild } from "../../../guild/scripted_guild.ts";
import type { GuildRequestRecord } from "../../../guild/scripted_guild.ts";
import { gatedSuite } from "../gated_suite.ts";

/** The origin that the plugin's description names. */
const PRODUCTION = "https://agent-guild-5d5r.onrender.com";

function headerNames({ rawHeaders }: GuildRequestRecord): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
}

function lastRecord({ agent }: GatedHost): DecisionRecord {
  return agent.getData(LAST_OBSERVATION_KEY) as DecisionRecord;
}

describe("the preflight request", () => {
  const { open, closings } = gatedSuite();

  /** A host that reuses nothing. */
  async function openUncached(options: GatedHostOptions = {}): Promise<GatedHost> {
    return await open({
      config: (world) => protecting(world, "pub_server", { cache_ttl_seconds: 0 }),
      ...options,
    });
  }

  it("is exactly one GET of /preflight with the approved URL for a protected call [P6.1]", async () => {
    const host = await open();
    expect((await host.call()).kind).to.equal("ran");
    expect(host.guild.requests.map(({ method, path }) => `${method} ${path}`)).to.deep.equal([
      `GET /preflight?url=${encodeURIComponent(host.server().url)}`,
    ]);
  });

  it("is made again for every call where nothing may be reused [P6.1]", async () => {
    const host = await openUncached();
    for (let count = 1; count <= 3; count += 1) {
      expect((await host.call()).kind).to.equal("ran");
      expect(host.guild.requests).to.have.lengthOf(count);
    }
  });

  it("percent-encodes whatever an approved URL may hold [P6.1]", async () => {
    const path = "/mcp/a&b=c+d;e%20f,g@h:i'(j)*~";
    const host = await open({ servers: { pub_server: { transport: "streamable_http", path } } });
    expect((await host.call()).kind).to.equal("ran");
    const [request] = host.guild.requests;
    expect(request?.path).to.match(/^\/preflight\?url=[A-Za-z0-9%.'()*~_-]+$/);
    expect(request?.url).to.equal(host.server().url);
  });

  it("has the headers host, connection, user-agent and accept and no other [P6.1]", async () => {
    const host = await open();
    await host.call();
    const [request] = host.guild.requests;
    expect(headerNames(request as GuildRequestRecord)).to.have.members([
      "host",
      "connection",
      "user-agent",
      "accept",
    ]);
  });

  it("has no body [P6.1]", async () => {
    const host = await open();
    await host.call();
    expect(host.guild.requests.map(({ bodyBytes }) => bodyBytes)).to.deep.equal([0]);
  });

  it("carries nothing of the arguments, the conversation, the agent or the MCP headers [P6.1]", async () => {
    const host = await open({
      mcpServers: ({ urls }) => ({
        mcpServers: {
          "Pub Server": {
            url: urls["pub_server"],
            type: "streamable-http",
            headers: { Authorization: "Bearer MARK-header", Cookie: "id=MARK-cookie" },
          },
        },
      }),
      context: { project: "MARK-project", profile: "MARK-profile" },
    });
    host.agent.context.setData("operator", "MARK-operator");
    host.agent.history.add({ role: "user", content: "MARK-prompt" });
    expect((await host.call("pub_server.search", { text: "MARK-argument" })).kind).to.equal("ran");

    expect(host.server().toolCalls).to.deep.equal([{ tool: "search", arguments: { text: "MARK-argument" } }]);
    expect(JSON.stringify(host.server().requests)).to.include("MARK-header").and.include("MARK-cookie");
    expect(host.guild.requests).to.have.lengthOf(1);
    expect(JSON.stringify(host.guild.requests)).to.not.match(/MARK|search|pub.?server/i);
  });

  it("returns no cookie that the Guild set [P6.1]", async () => {
    const host = await openUncached();
    host.guild.answer("*", { kind: "json", headers: { "set-cookie": "id=MARK; Path=/" } });
    await host.call();
    await host.call();
    expect(host.guild.requests).to.have.lengthOf(2);
    expect(JSON.stringify(host.guild.requests)).to.not.match(/cookie|MARK/i);
  });

  it("is not made by a tool of a server that nobody protects [P6.1]", async () => {
    const host = await open({
      servers: { pub_server: { transport: "streamable_http" }, other: { transport: "sse" } },
    });
    expect((await host.call("other.search")).kind).to.equal("ran");
    expect(host.guild.requests).to.have.lengthOf(0);
  });

  it("has the fixed production origin [P6.2]", () => {
    expect(GUILD_ORIGIN).to.equal(PRODUCTION);
  });

  it("goes to the production origin, whatever the environment names [P6.2, P6.8]", async () => {
    const elsewhere = await startScriptedGuild();
    closings.push(() => elsewhere.close());
    const variables = ["GUILD_ORIGIN", "AGENT_GUILD_ORIGIN", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"];
    closings.push(setEnvironment(variables, elsewhere.origin));
    const asked: string[] = [];
    closings.push(patchLookup(asked));

    const host = await open({
      config: (world) => protecting(world, "pub_server", { fixture_guild_origin: null }),
    });
    expect((await host.call()).kind).to.equal("denied");
    expect(asked).to.deep.equal([new URL(PRODUCTION).hostname]);
    expect(lastRecord(host).observation).to.include({ guild_origin: PRODUCTION, error: "connect" });
    expect([...host.guild.requests, ...elsewhere.requests]).to.have.lengthOf(0);
  });

  it("goes to the loopback Guild of an offline test on IPv6 too [P6.2]", async () => {
    const guild = await startScriptedGuild({ family: 6 });
    closings.push(() => guild.close());
    const host = await open({
      config: (world) => protecting(world, "pub_server", { fixture_guild_origin: guild.origin }),
    });
    expect(guild.origin).to.match(/^http:\/\/\[::1\]:\d+$/);
    expect((await host.call()).kind).to.equal("ran");
    expect(guild.requests).to.have.lengthOf(1);
    expect(lastRecord(host).observation?.guild_origin).to.equal(guild.origin);
  });

  for (const origin of ["http://127.0.0.1:1", "http://127.0.0.1:65535", "http://[::1]:8080", null]) {
    it(`may be sent to ${origin ?? "the production origin"} [P6.2]`, () => {
      expect(readSettings({ fixture_guild_origin: origin }).kind).to.equal("valid");
    });
  }

  const refusedOrigins: readonly unknown[] = [
    PRODUCTION,
    "http://guild.example.com:80",
    "https://127.0.0.1:8080",
    "HTTP://127.0.0.1:8080",
    "http://localhost:8080",
    "http://127.0.0.1",
    "http://127.0.0.1:",
    "http://127.0.0.1:0",
    "http://127.0.0.1:080",
    "http://127.0.0.1:65536",
    "http://127.0.0.1:8080/",
    "http://127.0.0.1:8080/path",
    "http://127.0.0.1:8080?",
    "http://127.0.0.1:8080#",
    "http://127.0.0.1:8080\n",
    " http://127.0.0.1:8080",
    "http://user@127.0.0.1:8080",
    "http://127.0.0.1:8080@guild.example.com",
    "http://127.1:8080",
    "http://127.0.0.2:8080",
    "http://2130706433:8080",
    "http://[0:0:0:0:0:0:0:1]:8080",
    "http://[::ffff:127.0.0.1]:8080",
    "http://[::1%lo]:8080",
    "",
    8080,
    false,
    ["http://127.0.0.1:8080"],
  ];
  for (const origin of refusedOrigins) {
    it(`may not be sent to ${JSON.stringify(origin)} [P6.2]`, () => {
      const reading = readSettings({ fixture_guild_origin: origin });
      expect(reading.kind === "invalid" && reading.errors.map(({ path }) => path)).to.deep.equal([
        "fixture_guild_origin",
      ]);
    });
  }

  it("is not made while the setting names another origin [P6.2]", async () => {
    const host = await open({
      config: (world) => protecting(world, "pub_server", { fixture_guild_origin: `${world.guildOrigin}/` }),
    });
    const outcome = await host.call();
    expect(outcome.kind === "denied" && outcome.message).to.include("(configuration_invalid)");
    expect(host.guild.requests).to.have.lengthOf(0);
  });

  for (const setting of ["guild_origin", "resolver", "lookup", "proxy", "ca", "headers"]) {
    it(`knows no setting ${setting} [P6.8]`, () => {
      expect(readSettings({ [setting]: "http://127.0.0.1:1" }).kind).to.equal("invalid");
    });
  }

  it("reaches the origin that it is given, through the resolver that it is given [P6.8]", async () => {
    const guild = await startScriptedGuild();
    closings.push(() => guild.close());
    const asked: string[] = [];
    const lookup: LookupFunction = (hostname, _options, callback) => {
      asked.push(hostname);
      callback(null, [{ address: "127.0.0.1", family: 4 }]);
    };
    const origin = guild.origin.replace("127.0.0.1", "guild.example.com");
    const { signal } = new AbortController();
    const response = await requestJson({
      origin,
      path: "/preflight?url=x",
      lookup,
      maxBytes: 65_536,
      signal,
    });
    expect(response.kind).to.equal("body");
    expect(asked).to.deep.equal(["guild.example.com"]);
    expect(guild.requests[0]?.rawHeaders).to.include(new URL(origin).host);
  });

  it("is answered from what was observed before, and the record says so [P6.6]", async () => {
    const host = await open();
    await host.call();
    const first = lastRecord(host).observation;
    await host.call("pub_server.echo");
    const second = lastRecord(host).observation;
    expect(host.guild.requests).to.have.lengthOf(1);
    expect(first).to.include({ cached: false, age_seconds: 0 });
    expect(second).to.include({ cached: true, observed_at: first?.observed_at });
    expect(second?.age_seconds).to.be.greaterThan(0).and.lessThan(20);
  });

  it("is made afresh as soon as the settings forbid reuse [P6.6]", async () => {
    const host = await open();
    expect((await host.call()).kind).to.equal("ran");
    host.guild.answer("*", { kind: "json", body: endpointDown });
    expect((await host.call()).kind).to.equal("ran");
    host.root.writeConfig(protecting(host.addresses, "pub_server", { cache_ttl_seconds: 0 }));
    expect((await host.call()).kind).to.equal("denied");
    expect(host.guild.requests).to.have.lengthOf(2);
  });

  it("is made again after a failure, which is never reused [P6.6]", async () => {
    const host = await open();
    host.guild.answer("*", { kind: "html", status: 503 });
    expect((await host.call()).kind).to.equal("denied");
    host.guild.answer("*", { kind: "json" });
    expect((await host.call()).kind).to.equal("ran");
    expect(lastRecord(host).observation?.cached).to.equal(false);
    expect(host.guild.requests).to.have.lengthOf(2);
  });
});

/** Sets environment variables; the returned function puts back what was there. */
function setEnvironment(names: readonly string[], value: string): () => void {
  const before = names.map((name) => [name, process.env[name]] as const);
  for (const name of names) process.env[name] = value;
  return () => {
    for (const [name, old] of before) {
      if (old === undefined) delete process.env[name];
      else process.env[name] = old;
    }
  };
}

/**
 * Makes the system's resolver know loopback alone and note who else is asked for, so that nothing leaves this machine;
 * the returned function puts the real one back.
 */
function patchLookup(asked: string[]): () => void {
  const original = dns.lookup;
  const patched: LookupFunction = (hostname, options, callback) => {
    if (/^(?:127\.0\.0\.1|::1|localhost)$/.test(hostname)) return original(hostname, options, callback);
    asked.push(hostname);
    return callback(Object.assign(new Error("no such host"), { code: "ENOTFOUND" }), "", 4);
  };
  dns.lookup = patched as typeof dns.lookup;
  syncBuiltinESMExports();
  return () => {
    dns.lookup = original;
    syncBuiltinESMExports();
  };
}
