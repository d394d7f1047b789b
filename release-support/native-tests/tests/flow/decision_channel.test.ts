import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";

import { expect } from "chai";

import { DECISION_CHANNEL, tellDecision } from "../../../../helpers/decision/decision_channel.ts";
import type { DecisionEvent } from "../../../../helpers/decision/decision_event.ts";
import { DECISIONS_KEY, LAST_OBSERVATION_KEY } from "../../../../helpers/decision/evidence.ts";
import type { DecisionRecord } from "../../../../helpers/decision/evidence.ts";
import { CHECKS } from "../../../../helpers/preflight/preflight_contract.ts";
import { protecting } from "../../../fixtures/gated_host.ts";
import type { GatedHost } from "../../../fixtures/gated_host.ts";
import { preflightBody } from "../../../guild/preflight_bodies.ts";
import { gatedSuite } from "../gated_suite.ts";

const SECRET = "MARK";

describe("the channel of decisions", () => {
  const { open, openWith, openDenying, closings } = gatedSuite();

  /** Collects what is published until the test is over. */
  function listen(then: (event: DecisionEvent) => void = () => undefined): DecisionEvent[] {
    const events: DecisionEvent[] = [];
    const listener = (message: unknown) => {
      events.push(message as DecisionEvent);
      then(message as DecisionEvent);
    };
    subscribe(DECISION_CHANNEL, listener);
    closings.push(() => void unsubscribe(DECISION_CHANNEL, listener));
    return events;
  }

  it("has the name that subscribers know [P9.5]", () => {
    expect(DECISION_CHANNEL).to.equal("agent_guild_preflight.decision");
  });

  it("brings a call that is not denied, with everything that led to it [P9.5]", async () => {
    const host = await open();
    const events = listen();
    const before = performance.now();
    await host.call();
    const most = performance.now() - before;
    const [{ id, decided_at, took_ms, evidence, ...rest } = expect.fail("nothing was published")] = events;
    expect(events).to.have.lengthOf(1);
    expect(rest).to.deep.equal({
      v: 1,
      decision: "allow",
      reason: "not_denied",
      project: null,
      profile: null,
      server: "pub_server",
      tool: "search",
      endpoint: host.server().url.replace(/\/mcp$/, "/..."),
      policy: {
        required_proven: ["endpoint_reachable", "protocol_handshake"],
        tolerate_unknown_required: false,
        on_caution: "allow",
        on_unavailable: "deny",
      },
      configuration: null,
    });
    const record = host.agent.getData(LAST_OBSERVATION_KEY) as DecisionRecord;
    expect(decided_at).to.equal(record.decided_at);
    expect(id).to.match(/^[0-9a-f]{12}$/);
    expect(took_ms).to.be.above(0).and.at.most(most);
    expect(evidence).to.deep.equal({
      guild_origin: host.guild.origin,
      verdict: "no_failed_checks",
      statuses: Object.fromEntries(CHECKS.map((check) => [check, evidence?.statuses?.[check]])),
      unlisted: 0,
      observed_at: record.observation?.observed_at,
      cached: false,
      age_seconds: 0,
      error: null,
    });
    expect(evidence?.statuses?.endpoint_reachable).to.equal("proven");
  });

  it("names the agent's project and profile, where such names are plain [P9.5]", async () => {
    const host = await open({
      prepare: (root) => {
        root.write("usr/projects/my shop/.a0proj/project.json", {});
        root.write("usr/agents/clerk/agent.yaml", "");
      },
      context: { project: "my shop", profile: "clerk" },
    });
    const events = listen();
    await host.call();
    expect(events[0]).to.include({ project: "<project>", profile: "clerk" });
  });

  it("brings a call that the policy denies, and why there was no evidence [P9.5]", async () => {
    const host = await open();
    host.guild.answer("*", { kind: "html" });
    const events = listen();
    expect((await host.call()).kind).to.equal("denied");
    const [{ decision, reason, evidence } = expect.fail()] = events;
    expect([decision, reason]).to.deep.equal(["deny", "evidence_unavailable"]);
    expect(evidence).to.include({ verdict: null, statuses: null, error: "content_type" });
  });

  it("brings a call that the binding denies, without evidence [P9.5]", async () => {
    const host = await openWith({ protected_servers: { pub_server: "http://127.0.0.1:9/other" } });
    const events = listen();
    await host.call();
    expect(events[0]).to.include({
      reason: "url_mismatch",
      endpoint: "http://127.0.0.1:9/...",
      evidence: null,
    });
  });

  it("shows nothing of an endpoint that is not eligible [P9.5]", async () => {
    const host = await openWith({
      protected_servers: { pub_server: `https://u:${SECRET}@h.example.com/${SECRET}` },
    });
    const events = listen();
    await host.call();
    expect(events[0]).to.include({ reason: "ineligible_endpoint", endpoint: null });
    expect(JSON.stringify(events)).to.not.include(SECRET);
  });

  it("brings a denial over a configuration that cannot be used, though it has no record [P9.5]", async () => {
    const host = await openWith({ timeout_seconds: SECRET, policy: { on_cautoin: SECRET } });
    const events = listen();
    await host.call();
    expect(events).to.have.lengthOf(1);
    expect(events[0]).to.deep.include({
      decision: "deny",
      reason: "configuration_invalid",
      server: "pub_server",
      tool: "search",
      endpoint: null,
      policy: null,
      evidence: null,
      configuration: {
        where: 'config.json of scope "global"',
        errors: [
          { path: "timeout_seconds", expected: "a number above 0 and at most 60" },
          { path: "policy.on_cautoin", expected: "no such setting; did you mean on_caution?" },
        ].toSorted((a, b) => a.path.localeCompare(b.path)),
        more: 0,
      },
    });
    expect(JSON.stringify(events)).to.not.include(SECRET);
    expect(host.agent.getData(DECISIONS_KEY)).to.equal(undefined);
  });

  it("counts what a configuration has wrong beyond the first two dozen [P9.5]", async () => {
    const host = await open({
      config: () => Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, 1])),
    });
    const events = listen();
    await host.call();
    expect(events[0]?.configuration?.errors).to.have.lengthOf(24);
    expect(events[0]?.configuration?.more).to.equal(476);
  });

  it("brings nothing of what the Guild or a server wrote but enums [P9.5]", async () => {
    const tool = `${SECRET} tool`;
    const host = await open({
      servers: { pub_server: { transport: "streamable_http", tools: { [tool]: SECRET } } },
    });
    const body = (target: string) => {
      const plain = preflightBody(target, {}, { unlisted: { [`${SECRET}-check`]: "unknown" } });
      const checks = plain.checks.map((check) => ({ ...check, detail: SECRET, declared_name: SECRET }));
      return { ...plain, headline: SECRET, method: SECRET, limits: SECRET, checks };
    };
    host.guild.answer("*", { kind: "json", body });
    const events = listen();
    await host.call(`pub_server.${tool}`);
    expect(events[0]).to.include({ decision: "allow", tool: "<tool>" });
    expect(events[0]?.evidence).to.include({ unlisted: 1 });
    expect(JSON.stringify(events)).to.not.include(SECRET);
  });

  it("brings one event a call with an id of its own, also of calls at once [P9.5]", async () => {
    const host = await open();
    const events = listen();
    await Promise.all(
      Array.from({ length: 20 }, () => host.host.createContext().agent0).map((agent) =>
        host.call(undefined, undefined, agent),
      ),
    );
    expect(new Set(events.map(({ id }) => id)).size).to.equal(20);
  });

  it("brings nothing of a call that nobody protects, nor of one that is cancelled [P9.5]", async () => {
    const host = await open({
      servers: { pub_server: { transport: "streamable_http" }, other: { transport: "streamable_http" } },
    });
    const events = listen();
    expect((await host.call("other.search")).kind).to.equal("ran");
    const hold = host.guild.hold("*");
    const call = host.call();
    await hold.arrived;
    host.agent.context.cancel();
    await call;
    hold.release();
    expect(events).to.deep.equal([]);
  });

  it("lets no subscriber alter what the next one gets [P9.5]", async () => {
    const host = await open();
    const refused: unknown[] = [];
    listen((event) => {
      for (const part of [
        event,
        event.policy,
        event.policy?.required_proven,
        event.evidence,
        event.evidence?.statuses,
      ]) {
        refused.push(Object.isFrozen(part));
      }
    });
    await host.call();
    expect(refused).to.deep.equal(Array.from({ length: 5 }, () => true));
  });

  describe("with a subscriber that throws", () => {
    /** What ended in the process's uncaughtException, which else is the test runner's. */
    async function uncaughtDuring(action: () => Promise<void>): Promise<unknown> {
      const runners = process.listeners("uncaughtException");
      process.removeAllListeners("uncaughtException");
      try {
        const uncaught = once(process, "uncaughtException");
        await action();
        return (await uncaught)[0];
      } finally {
        for (const runner of runners) process.on("uncaughtException", runner);
      }
    }
    const explode = () => {
      throw new Error("of the subscriber");
    };

    async function expectUnchanged(host: GatedHost, kind: string): Promise<void> {
      const events = listen(explode);
      const error = await uncaughtDuring(async () => {
        expect((await host.call()).kind).to.equal(kind);
      });
      expect(error).to.have.property("message", "of the subscriber");
      expect(events).to.have.lengthOf(1);
    }

    it("does not stop a call that is not denied [P9.5]", async () => {
      await expectUnchanged(await open(), "ran");
    });

    it("does not let a denied call through [P9.5]", async () => {
      const host = await openDenying();
      await expectUnchanged(host, "denied");
      expect(host.server().toolCalls).to.be.empty;
    });

    it("does not let a call through for which no configuration can be used [P9.5]", async () => {
      const host = await open({
        config: () => ({ ...protecting({ guildOrigin: "", urls: {} }, []), nonsense: 1 }),
      });
      await expectUnchanged(host, "denied");
      expect(host.server().toolCalls).to.be.empty;
    });
  });

  it("costs nothing while nobody subscribes: nothing is looked at [P9.5]", () => {
    const untouchable = () =>
      new Proxy({}, { get: (_, name) => expect.fail(`${String(name)} was looked at`) }) as never;
    tellDecision(untouchable(), untouchable(), { logFile: null, tookMs: 0 });
    listen();
    expect(() => tellDecision(untouchable(), untouchable(), { logFile: null, tookMs: 0 })).to.throw(
      "was looked at",
    );
  });
});
