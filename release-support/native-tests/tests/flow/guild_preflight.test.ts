import { lookup as systemLookup } from "node:dns";
import type { LookupFunction } from "node:net";

import { expect } from "chai";

import { GuildPreflight } from "../../../../helpers/preflight/guild_preflight.ts";
import type { PreflightOutcome, PreflightQuestion } from "../../../../helpers/preflight/guild_preflight.ts";
import { startScriptedGuild } from "../../../guild/scripted_guild.ts";
import type { ScriptedGuild } from "../../../guild/scripted_guild.ts";

const URL_A = "https://pub.example.com/mcp";

describe("asking the Guild", () => {
  let guild: ScriptedGuild;
  let preflight: GuildPreflight;

  beforeEach(async () => {
    guild = await startScriptedGuild();
    preflight = new GuildPreflight();
  });

  afterEach(async () => {
    await guild.close();
  });

  function question(more: Partial<PreflightQuestion> = {}): PreflightQuestion {
    const signal = new AbortController().signal;
    return { origin: guild.origin, url: URL_A, timeoutSeconds: 5, cacheTtlSeconds: 300, signal, ...more };
  }

  function kindOf(outcome: PreflightOutcome): string {
    return outcome.kind === "observation" ? "observation" : outcome.error;
  }

  it("shares one request among all who ask about an endpoint at once [P6.7]", async () => {
    const hold = guild.hold(URL_A);
    const asked = Array.from({ length: 20 }, () => preflight.ask(question()));
    await hold.arrived;
    hold.release();
    const outcomes = await Promise.all(asked);
    expect(outcomes.map(kindOf)).to.deep.equal(Array<string>(20).fill("observation"));
    expect(outcomes.every((one) => one.kind === "observation" && !one.observation.cached)).to.equal(true);
    expect(guild.requests).to.have.lengthOf(1);
  });

  it("makes separate requests for separate URLs [P6.7]", async () => {
    await Promise.all([preflight.ask(question()), preflight.ask(question({ url: `${URL_A}2` }))]);
    expect(guild.requests.map(({ url }) => url)).to.have.members([URL_A, `${URL_A}2`]);
  });

  it("lets one caller's cancellation leave the others alone [P6.7]", async () => {
    const hold = guild.hold(URL_A);
    const cancelled = new AbortController();
    const first = preflight.ask(question({ signal: cancelled.signal }));
    const second = preflight.ask(question());
    await hold.arrived;
    const reason = new Error("cancelled by the test");
    cancelled.abort(reason);
    expect(await first.catch((error: unknown) => error)).to.equal(reason);
    hold.release();
    expect(kindOf(await second)).to.equal("observation");
  });

  it("ends the request when the last caller is gone [P6.7]", async () => {
    guild.answer(URL_A, { kind: "silent" });
    const cancelled = new AbortController();
    const asked = preflight.ask(question({ signal: cancelled.signal }));
    await guild.waitForRequests(1);
    cancelled.abort();
    await asked.catch(() => undefined);
    await guild.waitForSocketClose();
  });

  it("gives each caller its own deadline, and the request the latest of them [P6.7]", async () => {
    const hold = guild.hold(URL_A);
    const hasty = preflight.ask(question({ timeoutSeconds: 0.1 }));
    const patient = preflight.ask(question({ timeoutSeconds: 20 }));
    expect(kindOf(await hasty)).to.equal("deadline");
    hold.release();
    expect(kindOf(await patient)).to.equal("observation");
    expect(guild.requests).to.have.lengthOf(1);
  });

  it("begins a new request for who comes after an abandoned one [P6.7]", async () => {
    guild.answer(URL_A, { kind: "silent" });
    expect(kindOf(await preflight.ask(question({ timeoutSeconds: 0.05 })))).to.equal("deadline");
    guild.answer(URL_A, { kind: "json" });
    expect(kindOf(await preflight.ask(question()))).to.equal("observation");
  });

  it("joins no earlier request where nothing may be reused [P6.6]", async () => {
    const hold = guild.hold(URL_A);
    const first = preflight.ask(question());
    await hold.arrived;
    const second = preflight.ask(question({ cacheTtlSeconds: 0 }));
    await guild.waitForRequests(2);
    hold.release();
    expect([kindOf(await first), kindOf(await second)]).to.deep.equal(["observation", "observation"]);
  });

  it("reuses an observation, labelled with its age and its original time [P6.6]", async () => {
    const outcome = await preflight.ask(question());
    if (outcome.kind !== "observation") throw new Error("no observation");
    const cached = preflight.cached(question());
    expect(cached?.cached).to.equal(true);
    expect(cached?.observedAt).to.equal(outcome.observation.observedAt);
    expect(cached?.ageSeconds).to.be.greaterThan(0).and.lessThan(60);
  });

  it("reuses nothing that is older than the reader's own time to live [P6.6]", async () => {
    await preflight.ask(question());
    expect(preflight.cached(question({ cacheTtlSeconds: 1e-9 }))).to.equal(null);
    expect(preflight.cached(question({ cacheTtlSeconds: 0 }))).to.equal(null);
    expect(preflight.cached(question({ cacheTtlSeconds: 60 }))).to.not.equal(null);
  });

  it("reuses nothing of another origin or URL [P6.6]", async () => {
    await preflight.ask(question());
    expect(preflight.cached(question({ url: `${URL_A}/` }))).to.equal(null);
    expect(preflight.cached(question({ origin: "http://127.0.0.1:1" }))).to.equal(null);
  });

  it("never caches a failure [P6.6]", async () => {
    guild.answer(URL_A, { kind: "html" });
    expect(kindOf(await preflight.ask(question()))).to.equal("content_type");
    expect(preflight.cached(question())).to.equal(null);
  });

  it("keeps the 1,024 observations used last [P6.6]", async () => {
    const url = (index: number) => `https://pub.example.com/${index}`;
    for (let index = 0; index < 1024; index += 1) await preflight.ask(question({ url: url(index) }));
    expect(preflight.cached(question({ url: url(0) }))).to.not.equal(null);
    await preflight.ask(question({ url: url(1024) }));
    expect(preflight.cached(question({ url: url(0) }))).to.not.equal(null);
    expect(preflight.cached(question({ url: url(1) }))).to.equal(null);
  });

  it("meets the deadline while a lookup never returns, and connects nowhere afterwards [P6.3]", async () => {
    let answer: (() => void) | null = null;
    const neverYet: LookupFunction = (hostname, options, callback) => {
      answer = () => systemLookup("127.0.0.1", options, callback);
    };
    const slow = new GuildPreflight(neverYet);
    const origin = guild.origin.replace("127.0.0.1", "guild.example.com");
    expect(kindOf(await slow.ask(question({ origin, timeoutSeconds: 0.1 })))).to.equal("deadline");
    // The lookup comes back after all; its result must lead nowhere.
    (answer as (() => void) | null)?.();
    await preflight.ask(question());
    expect(guild.requests).to.have.lengthOf(1);
  });

  it("reports a host name without addresses as a failed connection [P6.3]", async () => {
    const nowhere: LookupFunction = (_hostname, _options, callback) => {
      callback(Object.assign(new Error("no such host"), { code: "ENOTFOUND" }), "", 4);
    };
    const outcome = await new GuildPreflight(nowhere).ask(question({ origin: "http://guild.example.com:1" }));
    expect(kindOf(outcome)).to.equal("connect");
  });
});
