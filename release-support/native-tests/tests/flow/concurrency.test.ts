import { getEventListeners } from "node:events";
import { performance } from "node:perf_hooks";

import { expect } from "chai";

import { DECISIONS_KEY, LAST_OBSERVATION_KEY } from "../../../../helpers/decision/evidence.ts";
import type { DecisionRecord } from "../../../../helpers/decision/evidence.ts";
import { protecting } from "../../../fixtures/gated_host.ts";
import type { GatedHost } from "../../../fixtures/gated_host.ts";
import type { CallOutcome } from "../../../fixtures/gated_host.ts";
import { endpointDown } from "../../../guild/preflight_bodies.ts";
import { Agent } from "../../../host/agents/agent.ts";
import { monologue } from "../../../host/agents/monologue.ts";
import { gatedSuite } from "../gated_suite.ts";

function decisionsOf(agent: Agent): readonly DecisionRecord[] {
  return (agent.getData(DECISIONS_KEY) ?? []) as readonly DecisionRecord[];
}

/** How many decisions the gate wrote to the chat log of an agent's context. */
function summariesOf({ context }: Agent): number {
  return context.log.items.filter(({ heading }) => heading === "Agent Guild preflight").length;
}

function range(length: number): number[] {
  return Array.from({ length }, (_, index) => index);
}

describe("calls that are under way at once", () => {
  const { open } = gatedSuite();

  /** A host with two protected servers: the Guild has nothing against `good`, and everything against `bad`. */
  async function openGoodAndBad(): Promise<GatedHost> {
    const host = await open({
      servers: { good: { transport: "streamable_http" }, bad: { transport: "streamable_http" } },
      config: (world) => protecting(world, ["good", "bad"]),
    });
    host.guild.answer(host.server("bad").url, { kind: "json", body: endpointDown });
    return host;
  }

  /** 32 calls of `search` by one agent and 32 of `echo` by another, in turns, all before the first answer. */
  async function callFromTwoAgents(host: GatedHost) {
    const [first, second] = [host.host.createContext().agent0, host.host.createContext().agent0];
    const hold = host.guild.hold("*");
    const calls = range(32).flatMap((index) => [
      host.call("pub_server.search", { text: `first ${index}` }, first),
      host.call("pub_server.echo", { text: `second ${index}` }, second),
    ]);
    await hold.arrived;
    hold.release();
    return { first, second, outcomes: await Promise.all(calls) };
  }

  it("share one request, and each of two agents keeps its own records [P6.7, P9.3, P11.2]", async () => {
    const host = await open();
    const { first, second, outcomes } = await callFromTwoAgents(host);
    expect(outcomes).to.deep.equal(
      range(32).flatMap((index) => [
        { kind: "ran", message: `Synthetic result for: first ${index}` },
        { kind: "ran", message: `second ${index}` },
      ]),
    );
    expect(host.guild.requests).to.have.lengthOf(1);
    expect(host.server().toolCalls).to.have.lengthOf(64);
    for (const [agent, tool] of [
      [first, "search"],
      [second, "echo"],
    ] as const) {
      expect(summariesOf(agent)).to.equal(32);
      expect(decisionsOf(agent).map((record) => record.tool)).to.deep.equal(Array<string>(20).fill(tool));
      expect(agent.getData(LAST_OBSERVATION_KEY)).to.deep.equal(decisionsOf(agent).at(-1));
    }
    expect(decisionsOf(host.agent)).to.have.lengthOf(0);
  });

  it("are all denied over one do_not_delegate [P11.2]", async () => {
    const host = await open();
    host.guild.answer("*", { kind: "json", body: endpointDown });
    const { first, second, outcomes } = await callFromTwoAgents(host);
    expect(outcomes.map(({ kind }) => kind)).to.deep.equal(Array<string>(64).fill("denied"));
    expect(host.guild.requests).to.have.lengthOf(1);
    expect(host.server().toolCalls).to.have.lengthOf(0);
    expect([summariesOf(first), summariesOf(second)]).to.deep.equal([32, 32]);
  });

  it("do not look like a leak of listeners to Node, however many they are [P11.2]", async () => {
    const host = await open();
    const warnings: string[] = [];
    const note = ({ name }: Error) => warnings.push(name);
    process.on("warning", note);
    try {
      await callFromTwoAgents(host);
    } finally {
      process.off("warning", note);
    }
    expect(warnings).to.deep.equal([]);
  });

  it("are each decided and recorded by their own tool, also of one agent [P11.2, P9.3]", async () => {
    const host = await openGoodAndBad();
    const outcomes = await Promise.all(
      range(20).map((index) => host.call(index % 2 === 0 ? "good.search" : "bad.search")),
    );
    expect(outcomes.map(({ kind }) => kind)).to.deep.equal(
      range(20).map((index) => (index % 2 === 0 ? "ran" : "denied")),
    );
    const records = decisionsOf(host.agent).map(({ server, decision, reason, endpoint, observation }) =>
      [server, decision, reason, endpoint === host.server(server).url, observation?.verdict].join(" "),
    );
    expect(records.toSorted()).to.deep.equal([
      ...Array<string>(10).fill("bad deny do_not_delegate true do_not_delegate"),
      ...Array<string>(10).fill("good allow not_denied true no_failed_checks"),
    ]);
    expect([host.server("good"), host.server("bad")].map(({ toolCalls }) => toolCalls.length)).to.deep.equal([
      10, 0,
    ]);
  });

  it("of worker agents are gated and recorded on the worker [P11.2]", async () => {
    const host = await openGoodAndBad();
    const workers = range(8).map((index) => new Agent(host.agent.context, index + 1, { profile: "" }));
    const outcomes = await Promise.all(
      workers.map((worker, index) => host.call(index < 4 ? "good.search" : "bad.search", {}, worker)),
    );
    expect(outcomes.map(({ kind }) => kind)).to.deep.equal(
      range(8).map((index) => (index < 4 ? "ran" : "denied")),
    );
    expect(workers.map((worker) => decisionsOf(worker).map(({ reason }) => reason))).to.deep.equal(
      range(8).map((index) => [index < 4 ? "not_denied" : "do_not_delegate"]),
    );
    expect(decisionsOf(host.agent)).to.have.lengthOf(0);
  });
});

describe("cancelling a task while a preflight is under way", () => {
  const { openWith } = gatedSuite();

  async function open(): Promise<GatedHost> {
    // Who waits for the answer or the deadline waits longer than the test may take.
    const host = await openWith({ timeout_seconds: 60, cache_ttl_seconds: 0 });
    host.guild.answer("*", { kind: "silent" });
    return host;
  }

  function reasonOf(outcome: CallOutcome): unknown {
    return outcome.kind === "failed" ? outcome.error : outcome.kind;
  }

  function expectNothingHappened(host: GatedHost): void {
    expect(host.server().toolCalls).to.deep.equal([]);
    expect(host.agent.getData(DECISIONS_KEY)).to.equal(undefined);
    expect(host.agent.getData(LAST_OBSERVATION_KEY)).to.equal(undefined);
    expect(host.agent.context.log.items).to.deep.equal([]);
  }

  it("rejects the call with the reason at once, runs nothing, records nothing [P11.1]", async () => {
    const host = await open();
    const call = host.call();
    await host.guild.waitForRequests(1);
    const reason = new Error("cancelled by the test");
    const cancelledAt = performance.now();
    host.agent.context.cancel(reason);
    expect(reasonOf(await call)).to.equal(reason);
    expect(performance.now() - cancelledAt).to.be.lessThan(1000);
    await host.guild.waitForSocketClose();
    expectNothingHappened(host);
    expect(host.agent.history.messages).to.deep.equal([]);
  });

  it("ends a monologue with the reason and without a warning [P11.1]", async () => {
    const host = await open();
    const turn = { toolCalls: [{ name: "pub_server.search", args: { text: "x" } }] };
    const running = monologue(host.agent, [
      turn,
      { toolCalls: [{ name: "response", args: { text: "done" } }] },
    ]);
    const ended = running.then(
      () => "answered",
      (error: unknown) => error,
    );
    await host.guild.waitForRequests(1);
    const reason = new Error("cancelled by the test");
    host.agent.context.cancel(reason);
    expect(await ended).to.equal(reason);
    await host.guild.waitForSocketClose();
    expectNothingHappened(host);
    expect(host.agent.history.messages.map(({ role }) => role)).to.deep.equal(["assistant"]);
  });

  it("ends a monologue of text turns in the same way [P11.1]", async () => {
    const host = await open();
    const turn = JSON.stringify({ tool_name: "pub_server.search", tool_args: { text: "x" } });
    const ended = monologue(host.agent, [turn]).catch((error: unknown) => error);
    await host.guild.waitForRequests(1);
    host.agent.context.cancel();
    expect(await ended).to.include({ name: "AbortError" });
    expectNothingHappened(host);
    expect(host.agent.history.messages.map(({ role }) => role)).to.deep.equal(["assistant"]);
  });

  it("stops every call of the task, those of its workers too [P11.1, P11.2]", async () => {
    const host = await open();
    const worker = new Agent(host.agent.context, 1, { profile: "" });
    const calls = [
      ...range(4).map(() => host.call()),
      ...range(4).map(() => host.call("pub_server.echo", {}, worker)),
    ];
    await host.guild.waitForRequests(8);
    const reason = new Error("cancelled by the test");
    host.agent.context.cancel(reason);
    expect((await Promise.all(calls)).map(reasonOf)).to.deep.equal(calls.map(() => reason));
    await host.guild.waitForSocketClose();
    expectNothingHappened(host);
    expect(decisionsOf(worker)).to.deep.equal([]);
  });

  it("leaves a call of another task alone that shares the request [P11.1, P6.7]", async () => {
    const host = await open();
    host.root.writeConfig(protecting(host.addresses, "pub_server", { timeout_seconds: 60 }));
    host.guild.answer("*", { kind: "json" });
    const hold = host.guild.hold("*");
    const other = host.host.createContext().agent0;
    const [cancelled, kept] = [host.call(), host.call("pub_server.echo", { text: "kept" }, other)];
    await hold.arrived;
    const reason = new Error("cancelled by the test");
    host.agent.context.cancel(reason);
    expect(reasonOf(await cancelled)).to.equal(reason);
    hold.release();
    expect(await kept).to.deep.equal({ kind: "ran", message: "kept" });
    expect(decisionsOf(other)).to.have.lengthOf(1);
    expect(host.agent.getData(DECISIONS_KEY)).to.equal(undefined);
    expect(host.server().toolCalls.map(({ tool }) => tool)).to.deep.equal(["echo"]);
  });

  for (const [look, when] of [
    [1, "before the preflight"],
    [2, "after the preflight"],
  ] as const) {
    it(`stays a cancellation while the binding is looked at ${when} [P11.1]`, async () => {
      const host = await open();
      host.guild.answer("*", { kind: "json" });
      const reason = new Error("cancelled by the test");
      cancelAtLook(host, look, reason);
      expect(reasonOf(await host.call())).to.equal(reason);
      expectNothingHappened(host);
      expect(host.guild.requests).to.have.lengthOf(look - 1);
    });
  }

  it("leaves the agent able to go on [P11.1]", async () => {
    const host = await open();
    const call = host.call();
    await host.guild.waitForRequests(1);
    host.agent.context.cancel();
    await call;
    host.guild.answer("*", { kind: "json" });
    expect((await host.call()).kind).to.equal("ran");
    expect(decisionsOf(host.agent)).to.have.lengthOf(1);
  });

  it("finds no trace of calls that were denied before [P11.1]", async () => {
    const host = await open();
    host.guild.answer("*", { kind: "html" });
    for (const _ of range(3)) expect((await host.call()).kind).to.equal("denied");
    expect(getEventListeners(host.agent.context.signal, "abort")).to.have.lengthOf(0);
  });

  it("tells the MCP server nothing, also about calls that were done before [P11.1]", async () => {
    const host = await open();
    host.guild.answer("*", { kind: "json" });
    for (const text of ["one", "two", "three"]) await host.call("pub_server.echo", { text });
    host.guild.answer("*", { kind: "silent" });
    const call = host.call();
    await host.guild.waitForRequests(4);
    host.agent.context.cancel();
    await call;
    host.guild.answer("*", { kind: "json" });
    expect((await host.call("pub_server.echo", { text: "four" })).kind).to.equal("ran");
    const sent = host.server().requests.map(({ rpcMethod }) => rpcMethod);
    expect(sent.filter((method) => method === "tools/call")).to.have.lengthOf(4);
    expect(sent).to.not.include("notifications/cancelled");
  });
});

/** Cancels the task in the moment in which the gate looks at the MCP configuration for the n-th time. */
function cancelAtLook({ host }: GatedHost, nth: number, reason: Error): void {
  const look = host.mcpConfiguration.bind(host);
  let looks = 0;
  host.mcpConfiguration = (agent) => {
    looks += 1;
    if (looks === nth) agent.context.cancel(reason);
    return look(agent);
  };
}
