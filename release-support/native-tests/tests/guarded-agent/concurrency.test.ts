import { EventEmitter, once } from "node:events";

import { expect } from "chai";

import { GuardedAgentError, ScriptedPromptExecutor } from "../../../guarded-agent/index.ts";
import type { ModelTurn, Prompt, PromptExecutor } from "../../../guarded-agent/index.ts";
import {
  answering,
  Bench,
  calling,
  deafServer,
  endpointOf,
  rejection,
  rejectionCode,
  resultsSeen,
  stallingServer,
} from "./support.ts";

const reason = new Error("the caller changed his mind");

describe("guarded agent: concurrency and cancellation", () => {
  const bench = new Bench();
  afterEach(() => bench.close());

  it("makes 32 preflights and 32 invocations for 32 calls of one turn, at once, results in order [G5, G7]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const hold = guild.hold("*");
    const names = Array.from({ length: 32 }, (_, index) => ["echo", `text ${index}`] as const);
    const executor = new ScriptedPromptExecutor([calling(...names), answering()]);
    const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
    const running = agent.run("go");
    // None is released before all have arrived: they run in parallel.
    await guild.waitForRequests(32);
    hold.release();
    await running;
    expect([guild.requests.length, server.toolCalls.length]).to.deep.equal([32, 32]);
    expect(resultsSeen(executor)).to.deep.equal(names.map(([, text]) => ["result", text]));
    await guild.waitForSocketClose();
  });

  it("serialises 8 simultaneous runs in the order of the calls [G7]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const executor = new EndlessExecutor();
    const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
    const tasks = Array.from({ length: 8 }, (_, index) => `task ${index}`);
    expect(await Promise.all(tasks.map(async (task) => (await agent.run(task)).answer))).to.deep.equal(
      tasks.map((task) => `answer to ${task}`),
    );
    expect(executor.log).to.deep.equal(tasks.flatMap((task) => [`${task}: call`, `${task}: answer`]));
    expect(executor.mostAtOnce).to.equal(1);
    expect(server.toolCalls).to.have.length(8);
  });

  it("lets a run that gives up waiting let no other one pass [G7]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const hold = guild.hold("*");
    const executor = new EndlessExecutor();
    const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
    const controller = new AbortController();
    const first = agent.run("first");
    const second = agent.run("second", { signal: controller.signal });
    const third = agent.run("third");
    await hold.arrived;
    controller.abort(reason);
    expect(await rejection(second)).to.equal(reason);
    expect(executor.log).to.deep.equal(["first: call"]);
    hold.release();
    await Promise.all([first, third]);
    expect(executor.log).to.deep.equal(["first: call", "first: answer", "third: call", "third: answer"]);
  });

  describe("an abort", () => {
    it("before anything rejects with its reason and does nothing [G7]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const executor = new ScriptedPromptExecutor([answering()]);
      const creating = bench.agent(guild, {
        endpoints: [endpointOf(server)],
        signal: AbortSignal.abort(reason),
      });
      expect(await rejection(creating)).to.equal(reason);
      expect(server.connections).to.equal(0);
      const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
      expect(await rejection(agent.run("go", { signal: AbortSignal.abort(reason) }))).to.equal(reason);
      expect(executor.prompts).to.have.length(0);
    });

    it("during resolution rejects with its reason and connects to nothing, even if the resolver answers late [G7]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const controller = new AbortController();
      let answer: (addresses: string[]) => void = () => undefined;
      const resolve = () => {
        queueMicrotask(() => controller.abort(reason));
        return new Promise<string[]>((resolved) => {
          answer = resolved;
        });
      };
      const creating = bench.agent(
        guild,
        { endpoints: [endpointOf(server)], signal: controller.signal },
        { resolve },
      );
      expect(await rejection(creating)).to.equal(reason);
      answer(["127.0.0.1"]);
      // A connection that followed would be made by now: this one is begun after it.
      await bench.agent(guild, { endpoints: [endpointOf(await bench.server())] });
      expect(server.connections).to.equal(0);
    });

    it("while TLS shakes hands rejects with its reason and closes the connection [G7]", async () => {
      const guild = await bench.guild();
      const stalling = await stallingServer(bench);
      const controller = new AbortController();
      const endpoint = endpointOf(stalling);
      const creating = bench.agent(guild, { endpoints: [endpoint], signal: controller.signal });
      await Promise.race([stalling.connected, creating]);
      controller.abort(reason);
      expect(await rejection(creating)).to.equal(reason);
      await stalling.listener.waitForSocketClose();
    });

    for (const method of ["initialize", "tools/list"]) {
      it(`during ${method} rejects with its reason and closes the connection [G7]`, async () => {
        const [server, guild] = [await bench.server(), await bench.guild()];
        const hold = server.holdMethod(method);
        const controller = new AbortController();
        const creating = bench.agent(guild, {
          endpoints: [endpointOf(server)],
          signal: controller.signal,
        });
        await hold.arrived;
        controller.abort(reason);
        expect(await rejection(creating)).to.equal(reason);
        hold.release();
        await server.waitForSocketClose();
      });
    }

    it("during the model's turn rejects with its reason, even if the executor does not listen [G7]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const controller = new AbortController();
      let answer: (turn: ModelTurn) => void = () => undefined;
      const executor = new ScriptedPromptExecutor([
        () => {
          queueMicrotask(() => controller.abort(reason));
          return new Promise<ModelTurn>((resolve) => {
            answer = resolve;
          });
        },
        answering("next"),
      ]);
      const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
      expect(await rejection(agent.run("go", { signal: controller.signal }))).to.equal(reason);
      answer(calling(["search", "x"]));
      expect((await agent.run("next")).answer).to.equal("next");
      expect([guild.requests.length, server.toolCalls.length]).to.deep.equal([0, 0]);
    });

    it("tells an executor that listens [G7]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const controller = new AbortController();
      const heard: unknown[] = [];
      const executor: PromptExecutor = {
        execute: async (_prompt, { signal }) => {
          queueMicrotask(() => controller.abort(reason));
          await once(signal, "abort");
          heard.push(signal.reason);
          throw new Error("something else");
        },
        close: () => undefined,
      };
      const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
      expect(await rejection(agent.run("go", { signal: controller.signal }))).to.equal(reason);
      expect(heard).to.deep.equal([reason]);
    });

    it("during the preflight rejects with its reason, closes the connection and calls no tool [G7]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const hold = guild.hold("*");
      const controller = new AbortController();
      const executor = new ScriptedPromptExecutor([
        calling(["search", "1"], ["search", "2"]),
        answering("next"),
      ]);
      const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
      const running = agent.run("go", { signal: controller.signal });
      await guild.waitForRequests(2);
      controller.abort(reason);
      expect(await rejection(running)).to.equal(reason);
      await guild.waitForSocketClose();
      hold.release();
      expect((await agent.run("next")).answer).to.equal("next");
      expect(server.toolCalls).to.have.length(0);
    });

    it("while the Guild's TLS shakes hands rejects with its reason and closes that connection [G7]", async () => {
      const server = await bench.server();
      const stalling = await stallingServer(bench);
      const controller = new AbortController();
      const executor = new ScriptedPromptExecutor([calling(["search", "1"])]);
      const agent = await bench.agent(stalling, {
        endpoints: [endpointOf(server)],
        promptExecutor: executor,
      });
      const running = agent.run("go", { signal: controller.signal });
      await Promise.race([stalling.connected, running]);
      controller.abort(reason);
      expect(await rejection(running)).to.equal(reason);
      await stalling.listener.waitForSocketClose();
      expect(server.toolCalls).to.have.length(0);
    });

    it("during a tool call rejects with its reason, cuts the request off and tells the server, not why [G7]", async () => {
      const guild = await bench.guild();
      const events = new EventEmitter();
      const slow = async (_args: unknown, signal: AbortSignal) => {
        const cancelled = once(signal, "abort");
        events.emit("begun");
        await cancelled;
        events.emit("cancelled", String(signal.reason));
        return "late";
      };
      const server = await bench.server({ tools: { slow } });
      const controller = new AbortController();
      const executor = new ScriptedPromptExecutor([calling(["slow", "x"]), answering("next")]);
      const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
      const [begun, cancelled] = [once(events, "begun"), once(events, "cancelled")];
      const run = agent.run("go", { signal: controller.signal });
      await begun;
      controller.abort(reason);
      expect(await rejection(run)).to.equal(reason);
      expect(await cancelled).to.deep.equal(["cancelled"]);
      expect((await agent.run("next")).answer).to.equal("next");
      expect(server.toolCalls).to.have.length(1);
    });

    it("leaves no listener on a signal that outlives the run [G7]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const { signal } = new AbortController();
      let listening = 0;
      const add = signal.addEventListener.bind(signal);
      const remove = signal.removeEventListener.bind(signal);
      signal.addEventListener = (...args: Parameters<typeof add>) => ((listening += 1), add(...args));
      signal.removeEventListener = (...args: Parameters<typeof add>) => ((listening -= 1), remove(...args));
      const executor = new ScriptedPromptExecutor([calling(["search", "1"]), answering()]);
      const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
      await agent.run("go", { signal });
      expect(listening).to.equal(0);
    });
  });

  describe("close", () => {
    it("closes every connection, then the executor, once, however often it is called [G7]", async () => {
      const guild = await bench.guild();
      const servers = [
        await bench.server({ tools: { one: "1" } }),
        await bench.server({ tools: { two: "2" } }),
      ];
      const executor = new ScriptedPromptExecutor([calling(["one", ""], ["two", ""]), answering()]);
      const agent = await bench.agent(guild, {
        endpoints: servers.map((server) => endpointOf(server)),
        promptExecutor: executor,
      });
      await agent.run("go");
      await Promise.all([agent.close(), agent.close()]);
      await agent.close();
      await Promise.all(servers.map((server) => server.waitForSocketClose()));
      expect(executor.closed).to.equal(1);
      expect(servers.map((server) => server.openSessions)).to.deep.equal([0, 0]);
    });

    it("rejects runs afterwards and those that wait [G7]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const executor = new ScriptedPromptExecutor([() => new Promise<ModelTurn>(() => undefined)]);
      const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
      const codes = Promise.all([rejectionCode(agent.run("running")), rejectionCode(agent.run("waiting"))]);
      await agent.close();
      expect(await codes).to.deep.equal(["closed", "closed"]);
      expect(await rejection(agent.run("late"))).to.be.instanceOf(GuardedAgentError);
      expect(executor.closed).to.equal(1);
    });

    it("during a preflight ends it; no tool is called and the executor is closed last [G7]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const hold = guild.hold("*");
      const events: string[] = [];
      const executor = new ScriptedPromptExecutor([calling(["search", "x"])]);
      const closing: PromptExecutor = {
        execute: (prompt) => executor.execute(prompt),
        close: async () => {
          await server.waitForSocketClose();
          events.push("executor closed");
        },
      };
      const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: closing });
      const run = rejectionCode(agent.run("go")).then((code) => events.push(String(code)));
      await hold.arrived;
      await agent.close();
      await run;
      expect(events).to.deep.equal(["closed", "executor closed"]);
      await guild.waitForSocketClose();
      hold.release();
      expect(server.toolCalls).to.have.length(0);
    });

    it("during a tool call ends it and closes its connection [G7]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const hold = server.holdTool("search");
      const executor = new ScriptedPromptExecutor([calling(["search", "x"])]);
      const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
      const code = rejectionCode(agent.run("go"));
      await hold.arrived;
      await agent.close();
      expect(await code).to.equal("closed");
      await server.waitForSocketClose();
      hold.release();
      expect(executor.closed).to.equal(1);
    });

    it("called from inside a run neither waits for itself nor runs twice [G7]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const executor = new ScriptedPromptExecutor([
        async () => {
          await agent.close();
          return answering();
        },
      ]);
      const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
      expect(await rejectionCode(agent.run("go"))).to.equal("closed");
      await agent.close();
      expect(executor.closed).to.equal(1);
    });

    it("is not held up by a server that does not take the farewell [G7]", async () => {
      const [server, guild] = [await deafServer(bench), await bench.guild()];
      const executor = new ScriptedPromptExecutor([]);
      const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
      await agent.close();
      expect(executor.closed).to.equal(1);
      await server.listener.waitForSocketClose();
    });

    it("reports what the executor's close throws, after everything else is closed [G7]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const failure = new Error("the provider does not close");
      const promptExecutor: PromptExecutor = {
        execute: () => answering(),
        close: () => {
          throw failure;
        },
      };
      const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor });
      expect(await rejection(agent.close())).to.equal(failure);
      await server.waitForSocketClose();
    });
  });
});

/** A model without a script: calls `echo` once for each task, then answers; sees how many tasks it serves at once. */
class EndlessExecutor implements PromptExecutor {
  readonly log: string[] = [];
  mostAtOnce = 0;
  #running = 0;

  async execute({ messages }: Prompt): Promise<ModelTurn> {
    this.#running += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#running);
    await new Promise(setImmediate);
    this.#running -= 1;
    const [user] = messages;
    const task = user?.role === "user" ? user.text : "";
    const called = messages.length > 1;
    this.log.push(`${task}: ${called ? "answer" : "call"}`);
    return called ? answering(`answer to ${task}`) : calling(["echo", task]);
  }

  close(): void {
    this.log.push("closed");
  }
}
