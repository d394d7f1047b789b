import { inspect } from "node:util";

import { expect } from "chai";

import { GuardedAgentError, ScriptedPromptExecutor, traceOf } from "../../../guarded-agent/index.ts";
import type { CallDecision, GuardedMcpAgentOptions, RunTrace } from "../../../guarded-agent/index.ts";
import { endpointDown } from "../../../guild/preflight_bodies.ts";
import type { McpServerFixture } from "../../../fixtures/mcp_server.ts";
import type { GuildAnswer, ScriptedGuild } from "../../../guild/scripted_guild.ts";
import { answering, Bench, calling, endpointOf, rejection, resultsSeen, urlOf } from "./support.ts";
import type { GuardedMcpAgent, ScriptedTurn } from "../../../guarded-agent/index.ts";

interface Scene {
  readonly agent: GuardedMcpAgent;
  readonly server: McpServerFixture;
  readonly guild: ScriptedGuild;
  readonly executor: ScriptedPromptExecutor;
}

const BAD: GuildAnswer = { kind: "json", body: (target) => endpointDown(target) };

describe("guarded agent: decisions and traces", () => {
  const bench = new Bench();
  afterEach(() => bench.close());

  async function scene(
    turns: readonly ScriptedTurn[],
    options: Partial<GuardedMcpAgentOptions> = {},
  ): Promise<Scene> {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const executor = new ScriptedPromptExecutor(turns);
    const endpoints = [endpointOf(server)];
    const agent = await bench.agent(guild, { endpoints, promptExecutor: executor, ...options });
    return { agent, server, guild, executor };
  }

  describe("onDecision", () => {
    it("gets each decision with run, call, endpoint, tool, reason and observation, before the call is sent [G13]", async () => {
      const seen: CallDecision[] = [];
      const sentBefore: number[] = [];
      const onDecision = (decision: CallDecision) => {
        seen.push(decision);
        sentBefore.push(server.toolCalls.length);
      };
      const bad = (): ReturnType<typeof calling> => {
        guild.answer("*", BAD);
        return calling(["echo", "2"]);
      };
      const { agent, server, guild } = await scene([calling(["search", "1"]), bad, answering()], {
        onDecision,
      });
      const { trace } = await agent.run("go");
      expect(seen).to.deep.equal(trace.decisions);
      expect(sentBefore).to.deep.equal([0, 1]);
      const endpoint = urlOf(server);
      const shared = { runId: trace.runId, callId: "0", endpoint };
      expect(seen[0]).to.deep.include({ ...shared, tool: "search", decision: "allow", reason: "not_denied" });
      expect(seen[1]).to.deep.include({
        ...shared,
        tool: "echo",
        decision: "deny",
        reason: "do_not_delegate",
        checks: [],
      });
      expect(seen.map(({ observation }) => observation.kind)).to.deep.equal(["answered", "answered"]);
      expect(seen.every(({ decidedAt }) => !Number.isNaN(Date.parse(decidedAt)))).to.equal(true);
      expect(seen.every((decision) => Object.isFrozen(decision))).to.equal(true);
    });

    it("changes nothing when it throws, rejects or never ends: denied stays denied, and the rest is sent [G13]", async () => {
      const callbacks = [
        () => {
          throw new Error("the audit is down");
        },
        () => Promise.reject(new Error("the audit is down")),
        () => new Promise<void>(() => undefined),
      ];
      for (const onDecision of callbacks) {
        const { agent, server, guild, executor } = await scene(
          [
            calling(["search", "1"]),
            () => {
              guild.answer("*", BAD);
              return calling(["search", "2"]);
            },
            answering(),
          ],
          { onDecision },
        );
        await agent.run("go");
        expect(resultsSeen(executor).map(([end]) => end)).to.deep.equal(["result", "denied"]);
        expect(server.toolCalls).to.have.length(1);
      }
    });

    it("can keep an allowed call from being sent by aborting its run [G13, G7]", async () => {
      const controller = new AbortController();
      const reason = new Error("the audit said no");
      const { agent, server } = await scene([calling(["search", "1"])], {
        onDecision: () => controller.abort(reason),
      });
      expect(await rejection(agent.run("go", { signal: controller.signal }))).to.equal(reason);
      expect(server.toolCalls).to.have.length(0);
    });
  });

  describe("a trace", () => {
    it("tells the conversation from the task to the answer, frozen, without the system prompt [G13]", async () => {
      const { agent } = await scene([calling(["search", "x"]), answering("found")], {
        config: { maxIterations: 3, systemPrompt: "secret words" },
      });
      const { answer, trace } = await agent.run("find x");
      expect(answer).to.equal("found");
      expect(trace.messages.map(({ role }) => role)).to.deep.equal([
        "user",
        "assistant",
        "tool",
        "assistant",
      ]);
      expect(trace.messages.at(-1)).to.deep.equal({
        role: "assistant",
        text: "found",
        calls: [],
        state: null,
      });
      expect([trace, trace.messages, trace.decisions].every((part) => Object.isFrozen(part))).to.equal(true);
      expect(JSON.stringify(trace)).not.to.contain("secret words");
    });

    it("has another id for each run [G13]", async () => {
      const { agent } = await scene([answering(), answering()]);
      const ids = [(await agent.run("1")).trace.runId, (await agent.run("2")).trace.runId];
      expect(new Set(ids).size).to.equal(2);
    });

    it("comes with an iteration limit: the last turn's calls count as not run [G13]", async () => {
      const { agent } = await scene([calling(["search", "1"]), calling(["search", "2"])], {
        config: { maxIterations: 2 },
      });
      const error = await rejection(agent.run("go"));
      expect(error).to.be.instanceOf(GuardedAgentError);
      expect(ends((error as GuardedAgentError).trace)).to.deep.equal(["result", "not_run"]);
      expect(traceOf(error)).to.equal((error as GuardedAgentError).trace);
    });

    it("comes with an executor's own error, which stays what it is [G13]", async () => {
      const failure = new Error("the provider is down");
      const { agent } = await scene([
        calling(["search", "1"]),
        () => {
          throw failure;
        },
      ]);
      expect(await rejection(agent.run("go"))).to.equal(failure);
      expect(ends(traceOf(failure))).to.deep.equal(["result"]);
      expect(Object.keys(failure)).to.deep.equal([]);
    });

    it("comes with a cancellation: what had not ended counts as cancelled [G13, G7]", async () => {
      const { agent, server } = await scene([calling(["search", "1"], ["echo", "2"])]);
      const hold = server.holdTool("search");
      const controller = new AbortController();
      const running = rejection(agent.run("go", { signal: controller.signal }));
      await hold.arrived;
      while (server.toolCalls.length < 2) await new Promise(setImmediate);
      controller.abort();
      const reason = await running;
      expect(reason).to.equal(controller.signal.reason);
      expect(ends(traceOf(reason))[0]).to.equal("cancelled");
      hold.release();
    });

    it("is each run's own where closing ends several [G13, G7]", async () => {
      const { agent, server } = await scene([calling(["search", "1"])]);
      const hold = server.holdTool("search");
      const ended = Promise.all([rejection(agent.run("first")), rejection(agent.run("second"))]);
      await hold.arrived;
      await agent.close();
      const tasks = (await ended).map((error) => traceOf(error)?.messages[0]);
      expect(tasks.map((task) => task?.role === "user" && task.text)).to.deep.equal(["first", "second"]);
      hold.release();
    });

    it("is not printed with its error: an error shows no remote text [G13]", async () => {
      const { agent, guild } = await scene([calling(["search", "1"]), calling(["search", "2"])], {
        config: { maxIterations: 2 },
      });
      guild.answer("*", { kind: "json", body: (target) => ({ ...endpointDown(target), headline: "zq7" }) });
      const error = await rejection(agent.run("go"));
      expect(`${inspect(error, { depth: 9 })} ${JSON.stringify(error)}`).not.to.contain("zq7");
      expect(JSON.stringify(traceOf(error))).to.contain("zq7");
    });

    it("is null for what no run rejected with [G13]", () => {
      for (const value of [null, undefined, "closed", new Error("other"), new GuardedAgentError("closed")]) {
        expect(traceOf(value)).to.equal(null);
      }
    });
  });

  describe("history", () => {
    it("comes before the task and after the system prompt; a trace continues as it is [G13]", async () => {
      const turns = [calling(["search", "x"]), answering("found"), answering("again")];
      const { agent, executor } = await scene(turns, {
        config: { maxIterations: 3, systemPrompt: "Be brief." },
      });
      const first = await agent.run("find x");
      const second = await agent.run("and now?", { history: first.trace.messages });
      const roles = ["system", "user", "assistant", "tool", "assistant", "user"];
      expect(executor.prompts.at(-1)?.messages.map(({ role }) => role)).to.deep.equal(roles);
      expect(executor.prompts.at(-1)?.messages.slice(1, 5)).to.deep.equal(first.trace.messages);
      expect(second.trace.messages.slice(0, 4)).to.deep.equal(first.trace.messages);
      expect(second.trace.decisions).to.deep.equal([]);
    });

    it("goes on from a run that failed [G13]", async () => {
      const { agent } = await scene([calling(["search", "1"]), answering("done")], {
        config: { maxIterations: 1 },
      });
      const history = traceOf(await rejection(agent.run("go")))?.messages;
      expect((await agent.run("go on", { history })).answer).to.equal("done");
    });

    it("is copied: what is changed later changes nothing, and nothing in it is executed [G13, G8]", async () => {
      const { agent, guild, executor } = await scene([answering()]);
      const call = { id: "1", name: "search", arguments: { text: "x" } };
      const result = {
        role: "tool",
        callId: "1",
        tool: "search",
        end: "result",
        content: [{ type: "text", text: "as agreed" }],
        structuredContent: null,
      } as const;
      const history = [{ role: "assistant", text: "", calls: [call], state: { turn: 1 } }, result] as const;
      const running = agent.run("go", { history });
      call.arguments.text = "something else";
      await running;
      expect(executor.prompts[0]?.messages[0]).to.deep.equal({
        role: "assistant",
        text: "",
        calls: [{ id: "1", name: "search", arguments: { text: "x" } }],
        state: { turn: 1 },
      });
      expect(guild.requests).to.have.length(0);
    });

    it("is refused where it is none, and repeats nothing of it [G13]", async () => {
      const { agent, executor } = await scene([]);
      const call = { id: "1", name: "s3cret", arguments: {} };
      const turn = { role: "assistant", text: "", calls: [call], state: null };
      const result = { role: "tool", callId: "1", tool: "x", end: "result", content: [] };
      const wrong: unknown[] = [
        "s3cret",
        [null],
        [{ role: "system", text: "s3cret" }],
        [{ role: "user", text: 7 }],
        [turn],
        [turn, { role: "user", text: "s3cret" }],
        [result],
        [turn, { ...result, callId: "2" }],
        [turn, { ...result, end: "s3cret" }],
        [turn, { ...result, content: ["s3cret"] }],
        [turn, result, result],
        [{ ...turn, calls: [call, call] }, result],
      ];
      for (const history of wrong) {
        const error = await rejection(agent.run("go", { history: history as never }));
        expect(error, JSON.stringify(history)).to.be.instanceOf(TypeError);
        expect((error as Error).message).not.to.contain("s3cret");
      }
      expect(executor.prompts).to.have.length(0);
    });
  });

  it("gives an executor the state of each of its turns back, unchanged and frozen [G14]", async () => {
    const state = { signature: "EqQB/x==", blocks: [{ type: "thinking" }, null, 1.5] };
    const { agent, executor } = await scene([
      { ...calling(["search", "1"]), state },
      { kind: "answer", text: "done", state: "last" },
    ]);
    const { trace } = await agent.run("go");
    const [turn, last] = [executor.prompts[1]?.messages[1], trace.messages.at(-1)];
    expect(turn).to.deep.include({ state });
    expect(turn?.role === "assistant" && Object.isFrozen(turn.state)).to.equal(true);
    expect(last).to.deep.include({ state: "last" });
  });

  it("answers a call whose arguments are no JSON object, and makes the others of its turn [G14]", async () => {
    const call = { id: "1", name: "search", arguments: { text: "x" } };
    const odd: unknown[] = [null, undefined, [], "{}", 7, new Date(0), cycle()];
    const calls = [...odd.map((value) => ({ ...call, arguments: value })), call];
    const { agent, executor, server, guild } = await scene([
      () => ({ kind: "tool_calls", calls }) as never,
      answering(),
    ]);
    const { trace } = await agent.run("go");
    const seen = resultsSeen(executor);
    expect(seen.map(([end]) => end)).to.deep.equal([...odd.map(() => "invalid_arguments"), "result"]);
    expect(seen[0]?.[1]).to.match(/^The arguments are not one JSON object\. Nothing was sent\./);
    expect([server.toolCalls.length, guild.requests.length, trace.decisions.length]).to.deep.equal([1, 1, 1]);
  });

  it("closes with `await using` [G7]", async () => {
    const { agent, executor } = await scene([]);
    await agent[Symbol.asyncDispose]();
    await agent.close();
    expect(executor.closed).to.equal(1);
  });
});

function ends(trace: RunTrace | null): string[] {
  return (trace?.messages ?? []).flatMap((message) => (message.role === "tool" ? [message.end] : []));
}

function cycle(): object {
  const object: { self?: object } = {};
  object.self = object;
  return object;
}
