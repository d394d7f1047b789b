import { performance } from "node:perf_hooks";

import { expect } from "chai";

import type { PreflightObservation } from "../../../guarded-agent/index.ts";
import type { Network } from "../../../guarded-agent/network.ts";
import { askGuild } from "../../../guarded-agent/strict_preflight.ts";
import { loopbackNetwork } from "../../../guarded-agent/loopback.ts";
import { healthy, preflightBody } from "../../../guild/preflight_bodies.ts";
import type { GuildAnswer, ScriptedGuild } from "../../../guild/scripted_guild.ts";
import { authority, Bench, countingListener, loopback, rejection } from "./support.ts";

const target = "https://mcp.example.com/mcp";
const never = new AbortController().signal;

describe("guarded agent: preflight", () => {
  const bench = new Bench();
  afterEach(() => bench.close());

  async function guildAnd(answer?: GuildAnswer): Promise<{ guild: ScriptedGuild; network: Network }> {
    const guild = await bench.guild();
    if (answer !== undefined) guild.answer("*", answer);
    return { guild, network: loopbackNetwork(loopback(guild)) };
  }

  /** The error of the one request that an answer leads to; `none` when it is good. */
  async function errorOf(answer: GuildAnswer): Promise<string> {
    const { guild, network } = await guildAnd(answer);
    const observation = await askGuild(target, network, never);
    expect(guild.requests, "requests").to.have.length(1);
    return observation.kind === "failed" ? observation.error : "none";
  }

  it("asks GET /preflight about the endpoint, with no header or body that tells more [G5]", async () => {
    const { guild, network } = await guildAnd();
    await askGuild(target, network, never);
    expect(guild.requests).to.have.length(1);
    const [request] = guild.requests;
    expect(request).to.deep.include({
      method: "GET",
      path: "/preflight?url=https%3A%2F%2Fmcp.example.com%2Fmcp",
      bodyBytes: 0,
    });
    const names = request?.rawHeaders.filter((_text, index) => index % 2 === 0);
    expect(names?.map((name) => name.toLowerCase()).toSorted()).to.deep.equal([
      "accept",
      "connection",
      "host",
      "user-agent",
    ]);
  });

  it("tells origin, target, times, cache headers and the whole body [G6]", async () => {
    const body = preflightBody(target, { payment_claim_holds: "proven" });
    const headers = { "cache-control": "no-store", "x-cache": ["MISS", "BYPASS"], age: "0", "x-other": "1" };
    const { guild, network } = await guildAnd({ kind: "json", body, headers });
    const before = new Date().toISOString();
    const observation = await askGuild(target, network, never);
    const after = new Date().toISOString();
    expect(observation).to.deep.include({
      kind: "answered",
      serviceOrigin: guild.origin,
      target,
      verdict: "no_failed_checks",
      returnedCacheHeaders: { age: "0", "cache-control": "no-store", "x-cache": "MISS, BYPASS" },
      untrustedResponseJson: JSON.stringify(body),
    });
    const times = [before, observation.requestedAt, observation.receivedAt, after];
    expect(times).to.deep.equal(times.toSorted());
  });

  it("leaves unknown unknown [G6]", async () => {
    const { network } = await guildAnd();
    const observation = await askGuild(target, network, never);
    if (observation.kind !== "answered") expect.fail(observation.error);
    expect(observation.statuses).to.deep.equal({
      endpoint_reachable: "proven",
      protocol_handshake: "proven",
      agent_card_resolves: "unknown",
      agent_card_signed: "unknown",
      payment_claim_holds: "unknown",
      independent_evidence: "unknown",
    });
  });

  it("gives observations that nobody can change [G6, G8]", async () => {
    const { network } = await guildAnd();
    const observation = await askGuild(target, network, never);
    if (observation.kind !== "answered") expect.fail(observation.error);
    for (const part of [observation, observation.statuses, observation.returnedCacheHeaders]) {
      expect(Object.isFrozen(part)).to.equal(true);
    }
  });

  it("asks afresh every time and keeps nothing [G5]", async () => {
    const { guild, network } = await guildAnd();
    const verdicts: string[] = [];
    for (const endpoint_reachable of ["proven", "failed", "proven"] as const) {
      guild.answer("*", { kind: "json", body: preflightBody(target, { endpoint_reachable }) });
      const observation = await askGuild(target, network, never);
      verdicts.push(observation.kind === "answered" ? observation.verdict : observation.error);
    }
    expect(verdicts).to.deep.equal(["no_failed_checks", "do_not_delegate", "no_failed_checks"]);
    expect(guild.requests).to.have.length(3);
  });

  it("never repeats a request that failed, nor follows a redirect [G5]", async () => {
    const elsewhere = await bench.guild();
    const location = `${elsewhere.origin}/preflight?url=${encodeURIComponent(target)}`;
    for (const status of [301, 302, 303, 307, 308]) {
      expect(await errorOf({ kind: "redirect", location, status })).to.equal("redirect");
    }
    expect(elsewhere.requests).to.have.length(0);
  });

  it("refuses every status but 200, and never repeats the request [G5]", async () => {
    for (const status of [201, 204, 400, 401, 402, 404, 422, 429, 500, 503]) {
      expect(await errorOf({ kind: "json", status }), String(status)).to.equal("status");
    }
  });

  it("refuses compressed answers and those of another content type [G5]", async () => {
    expect(await errorOf({ kind: "gzip" })).to.equal("encoding");
    expect(await errorOf({ kind: "html" })).to.equal("content_type");
    expect(await errorOf({ kind: "json", headers: { "content-type": "text/plain" } })).to.equal(
      "content_type",
    );
  });

  it("refuses an answer that looks cached, good as it may be [G5]", async () => {
    expect(await errorOf({ kind: "json", headers: { age: "1" } })).to.equal("cached");
    expect(await errorOf({ kind: "json", headers: { "cf-cache-status": "HIT" } })).to.equal("cached");
    expect(await errorOf({ kind: "json", headers: { "x-cache": ["MISS", "HIT"] } })).to.equal("cached");
    expect(await errorOf({ kind: "json", headers: { "cf-cache-status": "EXPIRED", age: "0" } })).to.equal(
      "none",
    );
  });

  for (const framing of ["length", "chunked"] as const) {
    it(`takes a body of 64 KiB and refuses one byte more (${framing}) [G5]`, async () => {
      expect(await errorOf({ kind: "padded", totalBytes: 65_536, framing })).to.equal("none");
      expect(await errorOf({ kind: "padded", totalBytes: 65_537, framing })).to.equal("too_large");
    });
  }

  it("refuses an announced length beyond 64 KiB without waiting for the body [G5]", async () => {
    expect(await errorOf({ kind: "announced", bytes: 65_537 })).to.equal("too_large");
  });

  it("refuses a body that breaks off, two documents and an answer about another URL [G5]", async () => {
    expect(await errorOf({ kind: "truncated", framing: "length" })).to.equal("truncated");
    expect(await errorOf({ kind: "reset", at: "body" })).to.equal("truncated");
    expect(await errorOf({ kind: "two_documents" })).to.equal("invalid_json");
    expect(await errorOf({ kind: "json", body: healthy(`${target}/`) })).to.equal("other_target");
  });

  it("gives up after five seconds in all, however often a byte arrives, and closes the connection [G5]", async () => {
    const { guild, network } = await guildAnd({ kind: "drip_body", everyMs: 100, spaces: 200 });
    const begun = performance.now();
    const observation = await askGuild(target, network, never);
    const seconds = (performance.now() - begun) / 1000;
    expect(observation).to.include({ kind: "failed", error: "deadline" });
    expect(seconds).to.be.within(4.9, 7);
    await guild.waitForSocketClose();
  });

  it("lets the caller's cancellation be a cancellation, and closes the connection [G5, G7]", async () => {
    const { guild, network } = await guildAnd();
    const hold = guild.hold("*");
    const controller = new AbortController();
    const asking = askGuild(target, network, controller.signal);
    await hold.arrived;
    const reason = new Error("the operator changed his mind");
    controller.abort(reason);
    expect(await rejection(asking)).to.equal(reason);
    await guild.waitForSocketClose();
    hold.release();
  });

  describe("the Guild's own addresses", () => {
    /** Asks a Guild that is known by name, and tells what came of it. */
    async function askByName(
      guild: { readonly origin: string },
      addresses: () => readonly string[],
    ): Promise<PreflightObservation> {
      const guildOrigin = `https://guild.example.com:${new URL(guild.origin).port}`;
      const network = loopbackNetwork(loopback(guild, { guildOrigin, resolve: addresses }));
      return await askGuild(target, network, never);
    }

    it("are resolved and screened; TLS names the host [G2, G5]", async () => {
      const tls = authority().issue({ names: ["guild.example.com"] });
      const guild = await bench.guild({ tls });
      expect(await askByName(guild, () => ["127.0.0.1"])).to.include({ kind: "answered" });
      expect(guild.requests).to.have.length(1);
    });

    it("refuse the Guild if a single one is not public, with no connection to any [G2]", async () => {
      const guild = await countingListener(bench, "127.0.0.1");
      const origin = `http://127.0.0.1:${guild.port}`;
      const observation = await askByName({ origin }, () => ["127.0.0.1", "10.0.0.5"]);
      expect(observation).to.include({ kind: "failed", error: "connect" });
      expect(guild.connections).to.equal(0);
    });

    it("are awaited no longer than the caller wants: a late answer leads to no connection [G5, G7]", async () => {
      const guild = await countingListener(bench, "127.0.0.1");
      const guildOrigin = `https://guild.example.com:${guild.port}`;
      const controller = new AbortController();
      const reason = new Error("the caller changed his mind");
      let answer: (addresses: string[]) => void = () => undefined;
      const resolve = () => {
        queueMicrotask(() => controller.abort(reason));
        return new Promise<string[]>((resolved) => {
          answer = resolved;
        });
      };
      const network = loopbackNetwork(loopback({ origin: guildOrigin }, { resolve }));
      expect(await rejection(askGuild(target, network, controller.signal))).to.equal(reason);
      answer(["127.0.0.1"]);
      // A connection that followed would be counted by now: this one is begun after it.
      const later = loopbackNetwork(loopback({ origin: guildOrigin }));
      expect(await askGuild(target, later, never)).to.include({ kind: "failed" });
      expect(guild.connections).to.equal(1);
    });

    it("do not stand in for its certificate [G2]", async () => {
      const tls = authority().issue({ ips: ["127.0.0.1"] });
      const guild = await bench.guild({ tls });
      expect(await askByName(guild, () => ["127.0.0.1"])).to.include({ kind: "failed", error: "tls" });
      expect(guild.requests).to.have.length(0);
    });
  });
});
