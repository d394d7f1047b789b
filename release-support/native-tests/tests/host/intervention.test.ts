import { getEventListeners } from "node:events";
import { setImmediate } from "node:timers/promises";

import { expect } from "chai";

import { DECISIONS_KEY } from "../../../../helpers/decision/evidence.ts";
import { protecting } from "../../../fixtures/gated_host.ts";
import type { GatedHost, GatedHostOptions } from "../../../fixtures/gated_host.ts";
import type { Agent } from "../../../host/agents/agent.ts";
import { dispatch } from "../../../host/agents/dispatch.ts";
import { monologue } from "../../../host/agents/monologue.ts";
import type { ModelTurn } from "../../../host/agents/monologue.ts";
import type { LocalTool } from "../../../host/agents/local_tools.ts";
import {
  addExtension,
  ANSWERED,
  call,
  DONE,
  hostsOfSuite,
  Latch,
  logged,
  noteTool,
  rejection,
  said,
  text,
} from "./loop_support.ts";
import type { Note } from "./loop_support.ts";

/** Lets everything run that needs no event from outside. */
async function settle(): Promise<void> {
  for (let round = 0; round < 5; round += 1) await setImmediate();
}

/** Local tools that do something to the context of whoever calls them. */
const CONTROLS: Readonly<Record<string, LocalTool>> = {
  pause: (_, { agent }) => {
    agent.context.pause();
    return "";
  },
  intervene: ({ message }, { agent }) => {
    agent.context.intervene(String(message));
    return "";
  },
};

/** A tool or extension that waits for the test, and hears of no cancellation. */
class Slow {
  readonly begun = new Latch();
  readonly released = new Latch();
  readonly over = new Latch();
  readonly run = async (): Promise<string> => {
    this.begun.open();
    await this.released.opened;
    this.over.open();
    return "late";
  };
}

describe("stepping into a conversation", () => {
  const { open, openPlain, openBeside } = hostsOfSuite();

  async function openNoting(more: GatedHostOptions = {}) {
    const notes: Note[] = [];
    const host = await openPlain({ ...more, tools: { ...CONTROLS, ...noteTool(notes), ...more.tools } });
    return { host, agent: host.agent, context: host.agent.context, notes };
  }

  describe("by a pause", () => {
    it("holds the agent before its model is asked, until it is resumed [H7]", async () => {
      const { agent, context } = await openNoting();
      const asked: string[] = [];
      const model = function* (): Generator<ModelTurn> {
        asked.push("asked");
        yield DONE;
      };
      context.pause();
      const running = monologue(agent, model());
      await settle();
      expect(asked).to.deep.equal([]);
      context.resume();
      expect(await running).to.deep.equal(ANSWERED);
    });

    it("holds the agent before the next tool of its turn, until it is resumed [H7]", async () => {
      const { agent, context, notes } = await openNoting();
      const turn = {
        toolCalls: [
          { name: "pause", args: {} },
          { name: "note", args: {} },
        ],
      };
      const running = monologue(agent, [turn, DONE]);
      await settle();
      expect(notes).to.deep.equal([]);
      expect(said(agent, "tool_result")).to.deep.equal([""]);
      context.resume();
      expect(await running).to.deep.equal(ANSWERED);
      expect(notes).to.have.lengthOf(1);
    });

    it("asks neither the gate nor the server while it holds a call [H7, P1.2]", async () => {
      const host = await open();
      host.agent.context.pause();
      const running = host.call();
      await settle();
      expect(host.guild.requests).to.deep.equal([]);
      host.agent.context.resume();
      expect((await running).kind).to.equal("ran");
    });

    it("is over with one resume, however often it was begun, and one too many does no harm [H7]", async () => {
      const { agent, context } = await openNoting();
      context.resume();
      context.pause();
      context.pause();
      const running = monologue(agent, [DONE]);
      await settle();
      context.resume();
      context.resume();
      expect(await running).to.deep.equal(ANSWERED);
    });

    it("holds again when it is begun anew right after a resume [H7]", async () => {
      const { agent, context, notes } = await openNoting();
      context.pause();
      const running = monologue(agent, [call("note"), DONE]);
      await settle();
      context.resume();
      context.pause();
      await settle();
      expect(notes).to.deep.equal([]);
      context.resume();
      expect(await running).to.deep.equal(ANSWERED);
    });

    it("holds any number of calls, and Node sees no leak [H7]", async () => {
      const warnings: string[] = [];
      const warn = ({ name }: Error) => warnings.push(name);
      process.on("warning", warn);
      try {
        const { host, context, notes } = await openNoting();
        context.pause();
        const calls = Array.from({ length: 50 }, () => host.call("note"));
        await settle();
        expect(notes).to.deep.equal([]);
        context.resume();
        await Promise.all(calls);
        expect(notes).to.have.lengthOf(50);
        await settle();
      } finally {
        process.off("warning", warn);
      }
      expect(warnings).to.deep.equal([]);
    });

    it("leaves other conversations alone [H7]", async () => {
      const { host, context } = await openNoting();
      context.pause();
      expect(await monologue(host.host.createContext().agent0, [DONE])).to.deep.equal(ANSWERED);
    });

    it("ends with the reason of a cancellation, and nothing runs on a later resume [H7, P11.1]", async () => {
      const { agent, context, notes } = await openNoting();
      context.pause();
      const { signal } = context;
      const running = monologue(agent, [call("note"), DONE]);
      await settle();
      const reason = new Error("enough");
      context.cancel(reason);
      expect(await rejection(running)).to.equal(reason);
      context.resume();
      await settle();
      expect(notes).to.deep.equal([]);
      expect(agent.history.messages).to.deep.equal([]);
      expect(getEventListeners(signal, "abort")).to.deep.equal([]);
    });
  });

  describe("by a message", () => {
    it("shows it to the agent before its model is asked [H7]", async () => {
      const { agent, context } = await openNoting();
      const seen: string[][] = [];
      const model = function* (): Generator<ModelTurn> {
        seen.push(said(agent, "user"));
        yield DONE;
      };
      context.intervene("look here");
      expect(await monologue(agent, model())).to.deep.equal(ANSWERED);
      expect(seen).to.deep.equal([["look here"]]);
    });

    it("drops what is left of the turn, and the loop goes on without a warning [H7]", async () => {
      const { agent, notes } = await openNoting();
      const turn = {
        toolCalls: [
          { name: "intervene", args: { message: "stop that" } },
          { name: "note", args: { n: 1 } },
        ],
      };
      expect(await monologue(agent, [turn, call("note", { n: 2 }), DONE])).to.deep.equal(ANSWERED);
      expect(notes.map(({ args }) => args["n"])).to.deep.equal([2]);
      expect(said(agent, "user")).to.deep.equal(["stop that"]);
      expect(said(agent, "warning")).to.deep.equal([]);
      expect(logged(agent).filter((item) => item.startsWith("error"))).to.deep.equal([]);
    });

    for (const [what, turn] of Object.entries({
      "a tool request": text("note"),
      "an answer": "This is the answer.",
      "native calls": call("note"),
    })) {
      it(`drops ${what} that the model was busy with, which the agent remembers to have said [H7]`, async () => {
        const { agent, context, notes } = await openNoting();
        const [asked, answer] = [new Latch(), new Latch()];
        const model = async function* (): AsyncGenerator<ModelTurn> {
          asked.open();
          await answer.opened;
          yield turn;
          yield DONE;
        };
        const running = monologue(agent, model());
        await asked.opened;
        context.intervene("not that");
        answer.open();
        expect(await running).to.deep.equal(ANSWERED);
        expect(notes).to.deep.equal([]);
        expect(agent.history.messages.slice(0, 2).map(({ role }) => role)).to.deep.equal([
          "assistant",
          "user",
        ]);
      });
    }

    it("keeps a call from the gate and the server [H7, P1.2]", async () => {
      const host = await open({ tools: CONTROLS });
      const turn = {
        toolCalls: [
          { name: "intervene", args: { message: "stop" } },
          { name: "pub_server.search", args: {} },
        ],
      };
      await monologue(host.agent, [turn]);
      expect(host.guild.requests).to.deep.equal([]);
      expect(host.server().toolCalls).to.deep.equal([]);
      expect(host.agent.getData(DECISIONS_KEY)).to.equal(undefined);
    });

    it("is seen in full when there are several, in their order [H7]", async () => {
      const { agent, context } = await openNoting();
      context.intervene("first");
      context.intervene("second");
      expect(await monologue(agent, [DONE])).to.deep.equal(ANSWERED);
      expect(said(agent, "user")).to.deep.equal(["first", "second"]);
    });

    it("waits for the end of a pause [H7]", async () => {
      const { agent, context } = await openNoting();
      context.pause();
      context.intervene("look here");
      const running = monologue(agent, [DONE]);
      await settle();
      expect(agent.history.messages).to.deep.equal([]);
      context.resume();
      expect(await running).to.deep.equal(ANSWERED);
      expect(said(agent, "user")).to.deep.equal(["look here"]);
    });

    it("reaches the subordinate that is at work, and its superior goes on [H7, H9]", async () => {
      const { host: gated } = await openNoting();
      const subordinates: Agent[] = [];
      const host = await openBeside(gated, {
        tools: CONTROLS,
        subordinateModel: (agent) => {
          subordinates.push(agent);
          return [call("intervene", { message: "look here" }), "dropped", "It is done."];
        },
      });
      const { agent0 } = host.createContext();
      expect(await monologue(agent0, [call("call_subordinate", { message: "do it" }), DONE])).to.deep.equal(
        ANSWERED,
      );
      expect(said(subordinates[0] as Agent, "user")).to.deep.equal(["do it", "look here"]);
      expect(said(agent0, "user")).to.deep.equal([]);
    });
  });

  describe("by a cancellation", () => {
    const REASON = new Error("enough");

    interface Cancelled {
      readonly host: GatedHost;
      readonly agent: Agent;
      readonly notes: readonly Note[];
    }

    /**
     * Runs turns until something of them is under way, cancels, and checks that the loop ends at once with the reason,
     * before anything that it awaits has ended.
     */
    async function cancelDuring(host: GatedHost, begun: Promise<void>, agent = host.agent): Promise<void> {
      const { signal } = agent.context;
      const turns = [call("pub_server.echo", { text: "x" }), call("note"), DONE];
      const running = monologue(agent, turns);
      await begun;
      const before = agent.history.messages.length;
      agent.context.cancel(REASON);
      expect(await rejection(running)).to.equal(REASON);
      expect(agent.history.messages).to.have.lengthOf(before);
      expect(getEventListeners(signal, "abort")).to.deep.equal([]);
      expect(getEventListeners(agent.context.signal, "abort")).to.deep.equal([]);
      expect(agent.loopData.currentTool).to.equal(null);
    }

    async function expectNothingAfterwards(
      { host, agent, notes }: Cancelled,
      toolCalls: number,
    ): Promise<void> {
      await settle();
      expect(notes).to.deep.equal([]);
      expect(host.server().toolCalls).to.have.lengthOf(toolCalls);
      expect(said(agent, "tool_result")).to.deep.equal([]);
      expect(logged(agent)).to.deep.equal([]);
      expect(agent.getData(DECISIONS_KEY)).to.equal(undefined);
    }

    it("leaves an MCP call at once, and its server hears of it [P11.1, H7]", async () => {
      const [begun, heard] = [new Latch(), new Latch()];
      const endless = (_: unknown, signal: AbortSignal) =>
        new Promise<string>((resolve) => {
          begun.open();
          signal.addEventListener("abort", () => {
            heard.open();
            resolve("late");
          });
        });
      const { host, agent, notes } = await openNoting({
        servers: { pub_server: { transport: "streamable_http", tools: { echo: endless } } },
      });
      await cancelDuring(host, begun.opened);
      await heard.opened;
      await expectNothingAfterwards({ host, agent, notes }, 1);
    });

    it("leaves a preflight at once [P11.1]", async () => {
      const notes: Note[] = [];
      const host = await open({
        tools: noteTool(notes),
        config: (world) => protecting(world, "pub_server", { timeout_seconds: 60 }),
      });
      host.guild.answer("*", { kind: "silent" });
      await cancelDuring(host, host.guild.waitForRequests(1));
      await host.guild.waitForSocketClose();
      await expectNothingAfterwards({ host, agent: host.agent, notes }, 0);
    });

    it("leaves the connecting of a server at once [P11.1, H7]", async () => {
      const { host, agent, notes } = await openNoting({
        servers: { pub_server: { transport: "streamable_http" } },
        mcpServers: () => ({ mcpServers: {} }),
      });
      const hold = host.server().holdMethod("initialize");
      host.root.writeMcpServers({
        mcpServers: { pub_server: { url: host.server().url, type: "streamable-http" } },
      });
      try {
        await cancelDuring(host, hold.arrived);
      } finally {
        hold.release();
      }
      await expectNothingAfterwards({ host, agent, notes }, 0);
    });

    it("leaves a slow extension at once, and neither the extensions behind it nor the tool run [P11.1, H7]", async () => {
      const slow = new Slow();
      const { host, agent, notes } = await openNoting({
        tools: { slow: slow.run },
        prepare: (root) => {
          addExtension(root, "_30_slow", `await agent.host.localTools.slow();`);
          addExtension(root, "_40_behind", `agent.host.localTools.note({}, { agent });`);
        },
      });
      await cancelDuring(host, slow.begun.opened);
      slow.released.open();
      await slow.over.opened;
      await expectNothingAfterwards({ host, agent, notes }, 0);
    });

    it("leaves a slow extension of tool_execute_after at once, and the result reaches nobody [P11.1, H7]", async () => {
      const slow = new Slow();
      const { host, agent, notes } = await openNoting({
        tools: { slow: slow.run },
        prepare: (root) =>
          addExtension(root, "_30_slow", `await agent.host.localTools.slow();`, "tool_execute_after"),
      });
      await cancelDuring(host, slow.begun.opened);
      slow.released.open();
      await slow.over.opened;
      await expectNothingAfterwards({ host, agent, notes }, 1);
    });

    it("leaves a local tool that hears of nothing at once [P11.1, H7]", async () => {
      const slow = new Slow();
      const { host, agent, notes } = await openNoting({
        mcpServers: () => ({ mcpServers: {} }),
        tools: { "pub_server.echo": slow.run },
      });
      await cancelDuring(host, slow.begun.opened);
      slow.released.open();
      await slow.over.opened;
      await expectNothingAfterwards({ host, agent, notes }, 0);
    });

    it("leaves a model that is thinking at once [P11.1, H7]", async () => {
      const slow = new Slow();
      const { agent, context, notes } = await openNoting();
      const model = async function* (): AsyncGenerator<ModelTurn> {
        await slow.run();
        yield call("note");
      };
      const running = monologue(agent, model());
      await slow.begun.opened;
      context.cancel(REASON);
      expect(await rejection(running)).to.equal(REASON);
      slow.released.open();
      await slow.over.opened;
      await settle();
      expect(notes).to.deep.equal([]);
      expect(agent.history.messages).to.deep.equal([]);
    });

    it("leaves a subordinate at once, whatever that one awaits [P11.1, H9]", async () => {
      const slow = new Slow();
      const { host: gated } = await openNoting();
      const notes: Note[] = [];
      const host = await openBeside(gated, {
        tools: { ...noteTool(notes), slow: slow.run },
        subordinateModel: () => [call("slow"), call("note"), DONE],
      });
      const { agent0 } = host.createContext();
      const running = monologue(agent0, [call("call_subordinate", { message: "do it" }), call("note"), DONE]);
      await slow.begun.opened;
      agent0.context.cancel(REASON);
      expect(await rejection(running)).to.equal(REASON);
      slow.released.open();
      await slow.over.opened;
      await settle();
      expect(notes).to.deep.equal([]);
      expect(logged(agent0)).to.deep.equal([]);
    });

    it("begins nothing more, where it comes between two calls of a turn [P11.1, H7]", async () => {
      for (const point of ["tool_execute_before", "tool_execute_after"]) {
        const { host, agent, notes } = await openNoting({
          prepare: (root) =>
            addExtension(
              root,
              "_30_cancel",
              `if (kwargs.toolName === "pub_server.echo") agent.context.cancel(new Error("enough"));`,
              point,
            ),
        });
        const turn = {
          toolCalls: [
            { name: "pub_server.echo", args: { text: "x" } },
            { name: "note", args: {} },
          ],
        };
        expect(await rejection(monologue(agent, [turn, DONE]))).to.have.property("message", "enough");
        expect(host.server().toolCalls, point).to.have.lengthOf(point === "tool_execute_before" ? 0 : 1);
        expect(notes, point).to.deep.equal([]);
      }
    });

    it("keeps a tool that hears of nothing from dispatching other calls afterwards [P11.1]", async () => {
      const slow = new Slow();
      const outcomes: unknown[] = [];
      const { host, agent, context, notes } = await openNoting({
        tools: {
          dispatching: async (_, call_) => {
            await slow.run();
            outcomes.push(await rejection(dispatch(call_.agent, { name: "note", args: {} })));
            outcomes.push(await rejection(monologue(call_.agent, [call("note")])));
            outcomes.push(
              await rejection(
                dispatch(call_.agent, {
                  name: "parallel",
                  args: { tool_calls: [{ tool: "note", args: {} }] },
                }),
              ),
            );
            return "";
          },
        },
      });
      const running = host.call("dispatching");
      await slow.begun.opened;
      context.cancel(REASON);
      await running;
      slow.released.open();
      await slow.over.opened;
      await settle();
      expect(outcomes).to.deep.equal([REASON, REASON, REASON]);
      expect(notes).to.deep.equal([]);
      expect(agent.history.messages).to.deep.equal([]);
    });

    it("reaches what a call that is done has left running in its task [P11.1]", async () => {
      const [begin, over] = [new Latch(), new Latch()];
      const outcomes: unknown[] = [];
      const { agent, context, notes } = await openNoting({
        tools: {
          leave_running: (_, call_) => {
            void begin.opened
              .then(() => dispatch(call_.agent, { name: "note", args: {} }))
              .catch((error: unknown) => outcomes.push(error))
              .finally(over.open);
            return "";
          },
        },
      });
      const slow = new Slow();
      const model = async function* (): AsyncGenerator<ModelTurn> {
        yield call("leave_running");
        await slow.run();
        yield DONE;
      };
      const running = monologue(agent, model());
      await slow.begun.opened;
      context.cancel(REASON);
      expect(await rejection(running)).to.equal(REASON);
      begin.open();
      await over.opened;
      slow.released.open();
      expect(outcomes).to.deep.equal([REASON]);
      expect(notes).to.deep.equal([]);
    });

    it("cancels what a call that is done has left running after its task as well [P11.1]", async () => {
      const slow = new Slow();
      const [begin, over] = [new Latch(), new Latch()];
      const outcomes: unknown[] = [];
      const { agent, context } = await openNoting({
        tools: {
          slow: slow.run,
          leave_running: (_, call_) => {
            void begin.opened
              .then(() => dispatch(call_.agent, { name: "slow", args: {} }))
              .catch((error: unknown) => outcomes.push(error))
              .finally(over.open);
            return "";
          },
        },
      });
      await monologue(agent, [call("leave_running"), DONE]);
      begin.open();
      await slow.begun.opened;
      context.cancel(REASON);
      await over.opened;
      slow.released.open();
      expect(outcomes).to.deep.equal([REASON]);
    });

    it("leaves what begins afterwards, and other conversations, alone [P11.1]", async () => {
      const slow = new Slow();
      const { host, agent, context } = await openNoting({ tools: { slow: slow.run } });
      const other = host.host.createContext().agent0;
      const [mine, theirs] = [host.call("slow"), host.call("slow", {}, other)];
      await slow.begun.opened;
      context.cancel(REASON);
      expect(await mine).to.deep.equal({ kind: "failed", error: REASON });
      expect(await monologue(agent, [DONE])).to.deep.equal(ANSWERED);
      slow.released.open();
      expect(await theirs).to.deep.equal({ kind: "ran", message: "late" });
    });

    it("comes with the end of the host [P11.1]", async () => {
      const slow = new Slow();
      const { host: gated } = await openNoting();
      const host = await openBeside(gated, { tools: { slow: slow.run } });
      const ended = rejection(monologue(host.createContext().agent0, [call("slow"), DONE]));
      await slow.begun.opened;
      await host.close();
      expect(await ended).to.have.property("name", "AbortError");
      slow.released.open();
    });
  });
});
