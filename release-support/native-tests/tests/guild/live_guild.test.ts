import { get } from "node:http";
import { createServer } from "node:net";
import type { LookupFunction } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";

import { expect } from "chai";

import { GuildPreflight } from "../../../../helpers/preflight/guild_preflight.ts";
import { createTestAuthority } from "../../../fixtures/test_certificates.ts";
import { startLiveGuild } from "../../../guild/live_guild.ts";
import type { LiveGuildOptions, LivePreflight } from "../../../guild/live_guild.ts";
import { LoopbackListener } from "../../../guild/scripted_guild.ts";
import {
  answer,
  ask,
  CARD_LINE,
  checkOf,
  hangUp,
  initializeResponse,
  json,
  LiveBench,
  preflight,
  silence,
  summary,
} from "./live_support.ts";

const HEALTHY = { "POST /mcp": json(initializeResponse()) };
const UNREACHED = "fufuuu";

/** A resolver for which every name is on loopback. */
const toLoopback: LookupFunction = (_host, _options, callback) =>
  callback(null, [{ address: "127.0.0.1", family: 4 }]);

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => null,
    (error: unknown) => error,
  );
}

describe("the live Guild", () => {
  const bench = new LiveBench();

  afterEach(() => bench.close());

  it("answers compact JSON that no cache keeps and nobody compresses [S2]", async () => {
    const endpoint = await bench.endpoint(HEALTHY);
    const guild = await bench.guild();

    const target = `${endpoint.origin}/mcp`;
    const { status, headers, body } = await ask(guild, `/preflight?url=${encodeURIComponent(target)}`);

    expect(status).to.equal(200);
    expect(headers).to.include({
      "content-type": "application/json",
      "cache-control": "no-store",
      "content-length": String(body.length),
    });
    expect(headers).to.not.have.any.keys("content-encoding", "age", "etag", "x-powered-by", "server");
    const text = body.toString();
    expect(JSON.stringify(JSON.parse(text))).to.equal(text);
  });

  it("answers with every member of the contract, the checks in the service's order [S2, P7.1]", async () => {
    const endpoint = await bench.endpoint(HEALTHY);

    const body = await bench.probe(`${endpoint.origin}/mcp`);

    expect(Object.keys(body)).to.deep.equal(
      "target verdict headline checks failed unknowns scored method limits".split(" "),
    );
    expect(body.checks.map(({ check }) => check)).to.deep.equal([
      "endpoint_reachable",
      "protocol_handshake",
      "agent_card_resolves",
      "agent_card_signed",
      "payment_claim_holds",
      "independent_evidence",
    ]);
    expect(body.scored).to.deep.equal(["endpoint_reachable", "protocol_handshake"]);
    expect(body.unknowns).to.have.length(4);
    expect(body.failed).to.deep.equal([]);
  });

  it("names the blocking checks first among the failed ones [S2]", async () => {
    const endpoint = await bench.endpoint();
    const body = await bench.probe(`${endpoint.origin}/mcp`);
    expect(body.failed).to.deep.equal(["protocol_handshake", "agent_card_resolves"]);
  });

  it("calls no endpoint safe, trusted or approved, whatever it finds [P11.4]", async () => {
    const endpoint = await bench.endpoint(HEALTHY);
    for (const target of [`${endpoint.origin}/mcp`, endpoint.origin, "not a url"]) {
      const text = JSON.stringify({ ...(await bench.probe(target)), target: "" });
      expect(text).to.not.match(/\b(?:safe|trusted|trustworthy|approved)\b/i);
    }
  });

  it("is understood by the plugin's own client [S2, P6.1]", async () => {
    const endpoint = await bench.endpoint(HEALTHY);
    const guild = await bench.guild();
    const outcome = await new GuildPreflight().ask({
      origin: guild.origin,
      url: `${endpoint.origin}/mcp`,
      timeoutSeconds: 5,
      cacheTtlSeconds: 0,
      signal: new AbortController().signal,
    });
    expect(outcome.kind === "observation" && outcome.observation.answer.verdict).to.equal("no_failed_checks");
  });

  it("gives the target back exactly as received [S2]", async () => {
    const guild = await bench.guild();
    for (const target of [
      "",
      " ",
      "http://127.0.0.1:1/%6Dcp?a=b&c=d#e",
      'q"\\\u0000\u2028\u{1f600}',
      "a+b c%20",
    ]) {
      expect((await preflight(guild, target)).target).to.equal(target);
    }
  });

  it("reads a plus sign in the query as a space, as forms do [S2]", async () => {
    const guild = await bench.guild();
    const { body } = await ask(guild, "/preflight?other=1&url=a+b");
    expect(JSON.parse(body.toString())).to.include({ target: "a b" });
  });

  it("answers 422 with JSON when there is no url [S2]", async () => {
    const guild = await bench.guild();
    for (const path of ["/preflight", "/preflight?", "/preflight?uri=http://127.0.0.1/"]) {
      const { status, headers, body } = await ask(guild, path);
      expect([status, headers["content-type"]]).to.deep.equal([422, "application/json"]);
      expect(JSON.parse(body.toString())).to.have.property("detail").that.is.a("string");
    }
  });

  it("answers 404 to other paths and 405 to other methods, in JSON, and probes nothing [S2]", async () => {
    const endpoint = await bench.endpoint();
    const guild = await bench.guild();
    const query = `?url=${encodeURIComponent(endpoint.origin)}`;
    for (const path of ["/", "/check", "/preflight/", "/preflightx", "//preflight"]) {
      const { status, headers } = await ask(guild, path + query);
      expect([status, headers["content-type"]], path).to.deep.equal([404, "application/json"]);
    }
    const { status, headers } = await ask(guild, `/preflight${query}`, "POST");
    expect([status, headers.allow]).to.deep.equal([405, "GET"]);
    expect(endpoint.seen).to.deep.equal([]);
  });

  it("counts the requests that arrive [S2]", async () => {
    const guild = await bench.guild();
    expect(guild.requests).to.equal(0);
    await ask(guild, "/");
    await preflight(guild, "not a url");
    expect(guild.requests).to.equal(2);
  });

  it("tells of each preflight that it makes [S2]", async () => {
    const told: LivePreflight[] = [];
    const guild = await bench.guild({ onPreflight: (made) => told.push(made) });
    const body = await preflight(guild, "not a url");
    await ask(guild, "/preflight");
    expect(told.map((made) => made.body)).to.deep.equal([body]);
    expect(told[0]?.ms).to.be.within(0, 10_000);
  });

  it("answers 500 in JSON when what it tells of a preflight throws, and goes on [S2]", async () => {
    let throws = true;
    const guild = await bench.guild({
      onPreflight: () => {
        if (throws) throw new Error("a caller's mistake");
      },
    });
    const { status, body } = await ask(guild, "/preflight?url=x");
    throws = false;
    expect(status).to.equal(500);
    expect(body.toString()).to.not.include("mistake");
    expect((await preflight(guild, "x")).verdict).to.equal("do_not_delegate");
  });

  it("speaks on IPv6 loopback when asked to [S2]", async () => {
    const guild = await bench.guild({ host: "::1" });
    expect(guild.origin).to.match(/^http:\/\/\[::1\]:\d+$/);
    expect((await preflight(guild, "not a url")).verdict).to.equal("do_not_delegate");
  });

  it("probes over TLS when it is given the authority [S2]", async () => {
    const authority = createTestAuthority();
    const endpoint = await bench.endpoint(HEALTHY, authority.issue({ names: ["mcp.example.com"] }));
    const target = `https://mcp.example.com:${endpoint.port}/mcp`;
    expect(summary(await bench.probe(target, { lookup: toLoopback, ca: authority.ca }))).to.equal("ppuuuu");
    expect(summary(await bench.probe(target, { lookup: toLoopback }))).to.equal(UNREACHED);
  });
});

describe("a URL that the live Guild does not probe", () => {
  const bench = new LiveBench();

  afterEach(() => bench.close());

  const refused = (port: string): readonly (readonly [title: string, target: string])[] => [
    ["an empty one", ""],
    ["no URL", "mcp"],
    ["another scheme", `ftp://127.0.0.1:${port}/mcp`],
    ["user info", `http://me:secret@127.0.0.1:${port}/mcp`],
    ["more than 500 characters", `http://127.0.0.1:${port}/mcp/${"a".repeat(500)}`],
    ["whitespace", `http://127.0.0.1:${port}/mcp `],
    ["a private address", `http://10.0.0.1:${port}/mcp`],
    ["the address of cloud metadata", "http://169.254.169.254/mcp"],
  ];
  for (const [index, [title]] of refused("0").entries()) {
    it(`is not reachable, and no error: ${title} [S2, P7.1]`, async () => {
      const endpoint = await bench.endpoint(HEALTHY);
      const [, target = ""] = refused(endpoint.port)[index] ?? [];

      const body = await bench.probe(target);

      expect([summary(body), body.verdict]).to.deep.equal([UNREACHED, "do_not_delegate"]);
      expect(endpoint.listener.connections).to.equal(0);
    });
  }

  it("never shows in the details, which are prose of ours [S2]", async () => {
    const body = await bench.probe("http://me:secret@mcp.example.com/mcp");
    expect(checkOf(body, "endpoint_reachable")["detail"]).to.include("user info");
    expect(JSON.stringify({ ...body, target: "" })).to.not.include("secret");
  });

  it("is on loopback or an unusual port unless the service was started for that [S2]", async () => {
    const endpoint = await bench.endpoint(HEALTHY);
    const options = { allowLoopback: false, lookup: toLoopback };
    for (const target of [
      `${endpoint.origin}/mcp`,
      `http://mcp.example.com:${endpoint.port}/mcp`,
      "http://127.0.0.1/mcp",
      "http://[::1]:8080/mcp",
      "http://localhost/mcp",
      "https://mcp.example.com/mcp",
    ]) {
      expect(summary(await bench.probe(target, options)), target).to.equal(UNREACHED);
    }
    expect(endpoint.listener.connections).to.equal(0);
  });
});

describe("probes at the same time", () => {
  const bench = new LiveBench();

  afterEach(() => bench.close());

  it("are limited in number; the others wait for their turn [S2]", async () => {
    const held: (() => void)[] = [];
    let most = 0;
    const endpoint = await bench.endpoint({
      "POST /mcp": (response, request) => {
        most = Math.max(
          most,
          held.push(() => json(initializeResponse())(response, request)),
        );
      },
    });
    const guild = await bench.guild({ concurrency: 2 });
    const asking = Array.from({ length: 6 }, () => preflight(guild, `${endpoint.origin}/mcp`));
    for (let left = 6; left > 0; left -= 1) {
      // Two at a time as long as there are two: the limit is used, and kept.
      while (held.length < Math.min(2, left)) await endpoint.waitForRequests(endpoint.seen.length + 1);
      held.shift()?.();
    }
    const bodies = await Promise.all(asking);
    expect(bodies.map(summary)).to.deep.equal(Array.from({ length: 6 }, () => "ppuuuu"));
    expect(most).to.equal(2);
  });

  it("do not mix their findings [S2]", async () => {
    const good = await bench.endpoint(HEALTHY);
    const bad = await bench.endpoint({ "POST /mcp": hangUp, "HEAD /mcp": hangUp, [CARD_LINE]: answer(500) });
    const guild = await bench.guild();
    const origins = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? good : bad).origin);
    const bodies = await Promise.all(origins.map((origin) => preflight(guild, `${origin}/mcp`)));
    expect(bodies.map(summary)).to.deep.equal(
      origins.map((origin) => (origin === good.origin ? "ppuuuu" : UNREACHED)),
    );
  });

  it("end when who asked has left, and free their place [S2]", async () => {
    const endpoint = await bench.endpoint({ ...HEALTHY, "POST /mcp/silent": silence });
    const guild = await bench.guild({ concurrency: 1 });
    const asking = get(
      `${guild.origin}/preflight?url=${encodeURIComponent(`${endpoint.origin}/mcp/silent`)}`,
    );
    asking.on("error", () => undefined);
    await endpoint.waitForRequests(1);
    const waiting = preflight(guild, `${endpoint.origin}/mcp`);
    asking.destroy();
    expect(summary(await waiting)).to.equal("ppuuuu");
    expect(endpoint.lines).to.deep.equal(["POST /mcp/silent", "POST /mcp", CARD_LINE]);
  });

  it("never begin when who asked has left while waiting [S2]", async () => {
    const endpoint = await bench.endpoint({ ...HEALTHY, "POST /mcp/silent": silence });
    const guild = await bench.guild({ concurrency: 1, requestMs: 300 });
    const first = preflight(guild, `${endpoint.origin}/mcp/silent`);
    await endpoint.waitForRequests(1);
    const leaving = get(`${guild.origin}/preflight?url=${encodeURIComponent(`${endpoint.origin}/mcp/left`)}`);
    leaving.on("error", () => undefined);
    while (guild.requests < 2) await nextTurn();
    leaving.destroy();
    await first;
    expect(summary(await preflight(guild, `${endpoint.origin}/mcp`))).to.equal("ppuuuu");
    expect(endpoint.lines).to.not.include("POST /mcp/left");
  });
});

describe("closing the live Guild", () => {
  const bench = new LiveBench();

  afterEach(() => bench.close());

  it("ends probes and requests that are under way, and may be done again [S2]", async () => {
    const endpoint = await bench.endpoint({ "POST /mcp": silence });
    const guild = await bench.guild({ concurrency: 1 });
    const asking = [1, 2].map(() => failureOf(preflight(guild, `${endpoint.origin}/mcp`)));
    await endpoint.waitForRequests(1);
    await Promise.all([guild.close(), guild.close()]);
    expect(await Promise.all(asking)).to.not.include(null);
    await endpoint.listener.waitForSocketClose();
    expect(endpoint.lines).to.deep.equal(["POST /mcp"]);
    expect(await failureOf(ask(guild, "/"))).to.have.property("code", "ECONNREFUSED");
    await guild.close();
  });

  it("is done by its signal too [S2]", async () => {
    const end = new AbortController();
    const guild = await bench.guild({ signal: end.signal });
    await preflight(guild, "not a url");
    end.abort();
    await guild.close();
    expect(await failureOf(ask(guild, "/"))).to.have.property("code", "ECONNREFUSED");
  });

  it("frees the port [S2]", async () => {
    const guild = await bench.guild();
    const port = Number(new URL(guild.origin).port);
    await guild.close();
    const again = await bench.guild({ port });
    expect(again.origin).to.equal(guild.origin);
  });
});

describe("starting the live Guild", () => {
  const bad: readonly (readonly [title: string, options: LiveGuildOptions, message: RegExp])[] = [
    ["a port that is none", { port: 65_536 }, /^port: /],
    ["a port that is no whole number", { port: 80.5 }, /^port: /],
    ["no place for a probe", { concurrency: 0 }, /^concurrency: /],
    ["no time for a request", { requestMs: 0 }, /^requestMs: /],
    ["more time for a request than the service has", { requestMs: 3001 }, /^requestMs: /],
    ["an address beyond loopback", { host: "0.0.0.0" as "::1" }, /^host: /],
    ["a registry that cannot be read", { registry: "/nowhere/registry.json" }, /^registry: /],
    ["a registry that is none", { registry: { agent: {} as never } }, /^registry: /],
  ];
  for (const [title, options, message] of bad) {
    it(`refuses ${title} [S2]`, async () => {
      const error = await failureOf(startLiveGuild(options));
      expect(error).to.be.instanceOf(TypeError);
      expect((error as TypeError).message).to.match(message);
    });
  }

  it("fails with the system's error when the port is taken [S2]", async () => {
    const listener = new LoopbackListener(createServer());
    try {
      const port = Number((await listener.listen()).split(":")[1]);
      expect(await failureOf(startLiveGuild({ port }))).to.have.property("code", "EADDRINUSE");
    } finally {
      await listener.close();
    }
  });

  it("does not happen under a signal that has fired [S2]", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    expect(await failureOf(startLiveGuild({ signal }))).to.equal(signal.reason);
  });
});
