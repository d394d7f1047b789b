import { getEventListeners } from "node:events";
import { setImmediate } from "node:timers/promises";

import { expect } from "chai";

import { DECISIONS_KEY } from "../../../../helpers/decision/evidence.ts";
import type { DecisionRecord } from "../../../../helpers/decision/evidence.ts";
import { protecting } from "../../../fixtures/gated_host.ts";
import type { GatedHostOptions } from "../../../fixtures/gated_host.ts";
import { endpointDown } from "../../../guild/preflight_bodies.ts";
import type { Agent } from "../../../host/agents/agent.ts";
import type { ContextOptions } from "../../../host/agents/agent.ts";
import { dispatch } from "../../../host/agents/dispatch.ts";
import { HandledException } from "../../../host/agents/exceptions.ts";
import { monologue } from "../../../host/agents/monologue.ts";
import type { ModelTurn } from "../../../host/agents/monologue.ts";
import { runInParallel } from "../../../host/agents/parallel.ts";
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
} from "./loop_support.ts";
import type { Note } from "./loop_support.ts";

interface WorkerResult {
  readonly tool_name: string;
  readonly status: "done" | "error";
  readonly result: string;
}

type Request = Readonly<Record<string, unknown>>;

const SEARCH: Request = { tool_name: "pub_server.search", tool_args: { text: "x" } };
const BLOCKED = /^agent_guild_preflight blocked this tool call/;

function parallel(...calls: readonly unknown[]): ModelTurn {
  return call("parallel", { tool_calls: calls });
}

function note(n: number): Request {
  return { tool_name: "note", tool_args: { n } };
}

function repeat<Value>(count: number, value: Value): Value[] {
  return Array<Value>(count).fill(value);
}

/** Runs one `parallel` call of an agent and gives its results. */
async function results(agent: Agent, ...calls: readonly unknown[]): Promise<WorkerResult[]> {
  const { message } = await dispatch(agent, { name: "parallel", args: { tool_calls: calls } });
  return JSON.parse(message) as WorkerResult[];
}

function decisionsOf(agent: Agent): readonly DecisionRecord[] {
  return (agent.getData(DECISIONS_KEY) ?? []) as readonly DecisionRecord[];
}

describe("the tool parallel", () => {
  const { open, openPlain, openBeside } = hostsOfSuite();

  /** A host whose extension tells the test of every call's agent, workers included, before the gate. */
  async function openTelling(options: GatedHostOptions = {}, from = open) {
    const notes: Note[] = [];
    const host = await from({
      ...options,
      tools: { ...noteTool(notes), ...options.tools },
      prepare: (root, world) => {
        addExtension(
          root,
          "_20_tell",
          `agent.host.localTools.note({ toolName: kwargs.toolName }, { agent });`,
        );
        options.prepare?.(root, world);
      },
    });
    /** The workers whose call of anything but `note` was about to run. */
    const workers = () =>
      notes
        .filter(({ agent, args }) => agent !== host.agent && args["toolName"] !== undefined)
        .map(({ agent }) => agent);
    return { host, notes, workers };
  }

  describe("runs its calls", () => {
    it("by workers, from 1 to 8 of them, and gives the results in the order of the calls [H9]", async () => {
      for (const count of [1, 2, 8]) {
        const gates = Array.from({ length: count }, () => new Latch());
        const { agent } = await openPlain({
          tools: {
            // The last call is done first.
            turn: async ({ n }) => {
              const index = Number(n);
              await gates[index + 1]?.opened;
              gates[index]?.open();
              return `result ${index}`;
            },
          },
        });
        const calls = gates.map((_, n) => ({ tool_name: "turn", tool_args: { n } }));
        expect(await results(agent, ...calls)).to.deep.equal(
          gates.map((_, n) => ({ tool_name: "turn", status: "done", result: `result ${n}` })),
        );
      }
    });

    it("whatever form a request has that the framework takes [H6, H9]", async () => {
      const { host, notes } = await openTelling({}, openPlain);
      const outcomes = await results(
        host.agent,
        note(1),
        { tool: "note", args: { n: 2 } },
        { type: "function", name: "note", parameters: { n: 3 } },
        { actions: [note(4)] },
        { tool_name: "note:look", tool_args: { n: 5 } },
      );
      expect(outcomes.map(({ status }) => status)).to.deep.equal(repeat(5, "done"));
      expect(notes.map(({ args }) => args["n"]).filter((n) => n !== undefined)).to.deep.equal([
        1, 2, 3, 4, 5,
      ]);
    });

    it("with an unknown tool's result where a name is nobody's [H9]", async () => {
      const { agent } = await openPlain();
      expect(await results(agent, { tool_name: "no_such_tool", tool_args: {} })).to.deep.equal([
        { tool_name: "no_such_tool", status: "done", result: "There is no tool of this name." },
      ]);
    });

    it("each in a context of its own, which remembers its parent and has its project and profile [H9]", async () => {
      const { host, workers } = await openTelling(
        { context: { project: "site", profile: "coder" } },
        openPlain,
      );
      await results(host.agent, note(1), note(2));
      expect(workers()).to.have.lengthOf(2);
      for (const worker of workers()) {
        expect(worker.context).to.not.equal(host.agent.context);
        expect(worker.context.parent).to.equal(host.agent);
        expect(worker.context.project).to.equal("site");
        expect(worker.config.profile).to.equal("coder");
        expect(worker.context.agent0).to.equal(worker);
      }
      expect(new Set(workers().map(({ context }) => context)).size).to.equal(2);
    });

    it("and shows the parent one result, and its log what the workers logged [H9]", async () => {
      const { agent } = await openPlain({ tools: { one: () => "1", two: () => "2" } });
      await monologue(agent, [parallel({ tool: "one", args: {} }, { tool: "two", args: {} })]);
      expect(said(agent, "tool_result")).to.have.lengthOf(1);
      expect(logged(agent).slice(0, 2)).to.have.members(["tool: 1", "tool: 2"]);
      expect(logged(agent)).to.have.lengthOf(3);
    });
  });

  describe("is refused, and no call runs", () => {
    const UNUSABLE: Readonly<Record<string, unknown>> = {
      "no list": undefined,
      "an empty list": [],
      "more than 8 calls": repeat(9, note(1)),
      "a call without a list around it": note(1),
      "a list in a text": JSON.stringify([note(1)]),
      "an entry that is no request": [note(1), { tool_name: "note" }],
      "an entry that is nothing": [note(1), null],
      "an entry that is a text": [note(1), "note"],
      "a list with a hole": Object.assign([note(1)], { length: 2 }),
    };

    for (const [what, calls] of Object.entries(UNUSABLE)) {
      it(`for ${what}, and the agent goes on [H9, H7]`, async () => {
        const notes: Note[] = [];
        const { agent } = await openPlain({ tools: noteTool(notes) });
        expect(await monologue(agent, [call("parallel", { tool_calls: calls }), DONE])).to.deep.equal(
          ANSWERED,
        );
        expect(said(agent, "warning")).to.have.lengthOf(1);
        expect(notes).to.deep.equal([]);
      });
    }

    it("in a worker, whose other siblings go on [H9, H7]", async () => {
      const { host, notes } = await openTelling({}, openPlain);
      const inner = { tool_name: "parallel", tool_args: { tool_calls: [note(1)] } };
      const outcomes = await results(host.agent, inner, note(2));
      expect(outcomes.map(({ status }) => status)).to.deep.equal(["error", "done"]);
      expect(outcomes[0]?.result).to.match(/A worker cannot use parallel itself/);
      expect(notes.map(({ args }) => args["n"]).filter((n) => n !== undefined)).to.deep.equal([2]);
    });

    it("in a subordinate of a worker, but not in a subordinate of the agent [H9]", async () => {
      const gated = await openPlain();
      const notes: Note[] = [];
      const warnings: string[][] = [];
      const host = await openBeside(gated, {
        tools: noteTool(notes),
        subordinateModel: function* (agent) {
          yield parallel(note(1));
          warnings.push(said(agent, "warning"));
        },
      });
      const { agent0 } = host.createContext();
      await monologue(agent0, [parallel({ tool: "call_subordinate", args: { message: "x" } })]);
      expect(notes).to.deep.equal([]);
      expect(warnings.flat().join()).to.match(/A worker cannot use parallel itself/);
      await monologue(agent0, [call("call_subordinate", { message: "x" })]);
      expect(notes).to.have.lengthOf(1);
    });
  });

  describe("with the gate", () => {
    it("asks the Guild once for all workers, and each has its own record [H9, P11.2, P6.7]", async () => {
      const { host, workers } = await openTelling();
      const outcomes = await results(host.agent, ...repeat(8, SEARCH));
      expect(outcomes.map(({ status }) => status)).to.deep.equal(repeat(8, "done"));
      expect(host.guild.requests).to.have.lengthOf(1);
      expect(host.server().toolCalls).to.have.lengthOf(8);
      expect(workers().map((worker) => decisionsOf(worker).map(({ reason }) => reason))).to.deep.equal(
        repeat(8, ["not_denied"]),
      );
      expect(new Set(workers()).size).to.equal(8);
      expect(decisionsOf(host.agent)).to.deep.equal([]);
    });

    it("denies every worker alike, and no call reaches the server [H9, P11.2]", async () => {
      const { host, workers } = await openTelling();
      host.guild.answer("*", { kind: "json", body: endpointDown });
      const outcomes = await results(host.agent, ...repeat(8, SEARCH));
      for (const { status, result } of outcomes) {
        expect(status).to.equal("error");
        expect(result).to.match(BLOCKED);
      }
      expect(outcomes).to.have.lengthOf(8);
      expect(host.guild.requests).to.have.lengthOf(1);
      expect(host.server().toolCalls).to.deep.equal([]);
      expect(workers().map((worker) => decisionsOf(worker).map(({ reason }) => reason))).to.deep.equal(
        repeat(8, ["do_not_delegate"]),
      );
      const summaries = host.agent.context.log.items.filter(
        ({ heading }) => heading === "Agent Guild preflight",
      );
      expect(summaries).to.have.lengthOf(8);
    });

    it("does not stop the others by one denied worker [H9, P11.2]", async () => {
      const { host } = await openTelling({
        servers: { good: { transport: "streamable_http" }, bad: { transport: "streamable_http" } },
        config: (world) => protecting(world, ["good", "bad"]),
      });
      host.guild.answer(host.server("bad").url, { kind: "json", body: endpointDown });
      const outcomes = await results(
        host.agent,
        { tool: "bad.echo", args: { text: "a" } },
        { tool: "good.echo", args: { text: "b" } },
        { tool: "bad.search", args: {} },
        note(1),
      );
      expect(outcomes.map(({ status }) => status)).to.deep.equal(["error", "done", "error", "done"]);
      expect(outcomes[1]?.result).to.equal("b");
      expect(host.server("bad").toolCalls).to.deep.equal([]);
    });

    const SCOPES: Readonly<Record<string, ContextOptions>> = {
      "the project": { project: "site" },
      "the profile": { profile: "coder" },
      "the project's profile": { project: "site", profile: "coder" },
    };

    for (const [whose, place] of Object.entries(SCOPES)) {
      it(`goes by the configuration of ${whose}, where the global one protects nothing [H9, P11.2]`, async () => {
        const { host } = await openTelling({
          context: { project: "site", profile: "coder" },
          config: (world) => protecting(world, []),
          prepare: (root, world) => root.writeConfig(protecting(world, "pub_server"), place),
        });
        host.guild.answer("*", { kind: "json", body: endpointDown });
        const outcomes = await results(host.agent, SEARCH, SEARCH);
        expect(outcomes.map(({ status }) => status)).to.deep.equal(["error", "error"]);
        expect(host.server().toolCalls).to.deep.equal([]);
        const elsewhere = host.host.createContext().agent0;
        expect((await results(elsewhere, SEARCH)).map(({ status }) => status)).to.deep.equal(["done"]);
      });
    }

    for (const project of ["a/b", "..", " site ", "no\0name", 5, { name: "site" }]) {
      it(`gives workers the very project of their parent, however odd: ${JSON.stringify(project)} [H9]`, async () => {
        const { host, workers } = await openTelling({
          config: (world) => protecting(world, []),
          prepare: (root, world) => root.writeConfig(protecting(world, "pub_server"), { project: "site" }),
        });
        host.agent.context.setData("project", project);
        const own = await host.call();
        const before = host.server().toolCalls.length;
        const together = await results(host.agent, SEARCH).then(
          (outcomes) => outcomes.map(({ status }) => status),
          () => ["error"],
        );
        for (const worker of workers()) expect(worker.context.getData("project")).to.equal(project);
        if (own.kind !== "ran") {
          expect(together).to.deep.equal(["error"]);
          expect(host.server().toolCalls).to.have.lengthOf(before);
        }
      });
    }
  });

  describe("with a worker that meets what no agent can repair", () => {
    /** Tools: `broken` fails once the others are under way; `stuck` hears of nothing until the test lets it go. */
    async function openBreaking(thrown: unknown) {
      const [underWay, released, over] = [new Latch(), new Latch(), new Latch()];
      const notes: Note[] = [];
      const tools: Readonly<Record<string, LocalTool>> = {
        ...noteTool(notes),
        broken: async () => {
          await underWay.opened;
          throw thrown;
        },
        stuck: async (_, { agent }) => {
          underWay.open();
          await released.opened;
          await dispatch(agent, { name: "note", args: {} }).catch(() => undefined);
          over.open();
          return "late";
        },
      };
      const host = await openPlain({ tools });
      return { host, notes, released, over };
    }

    const CALLS = parallel({ tool: "stuck", args: {} }, { tool: "broken", args: {} });

    it("ends the whole call at once, and nothing of it goes on [H9, H7]", async () => {
      const { host, notes, released, over } = await openBreaking(new Error("broke"));
      expect(await rejection(monologue(host.agent, [CALLS, call("note"), DONE]))).to.be.instanceOf(
        HandledException,
      );
      expect(logged(host.agent)).to.deep.equal(["error: Error: broke"]);
      released.open();
      await over.opened;
      await setImmediate();
      expect(notes).to.deep.equal([]);
      expect(said(host.agent, "tool_result")).to.deep.equal([]);
    });

    for (const thrown of ["no", undefined, null]) {
      it(`passes on just what was thrown: ${JSON.stringify(thrown) ?? "undefined"} [H9, H7]`, async () => {
        const { host, released } = await openBreaking(thrown);
        const calls = [
          { tool: "stuck", args: {} },
          { tool: "broken", args: {} },
        ];
        expect(await rejection(results(host.agent, ...calls))).to.equal(thrown);
        released.open();
      });
    }

    it("leaves the parent's task as it is: it is not cancelled [H9, P11.1]", async () => {
      const { host, released } = await openBreaking(new Error("broke"));
      const { signal } = host.agent.context;
      await rejection(monologue(host.agent, [CALLS]));
      released.open();
      expect(signal.aborted).to.equal(false);
      expect(getEventListeners(signal, "abort")).to.deep.equal([]);
    });
  });

  describe("of a task that is cancelled", () => {
    it("stops its workers at once: nothing runs afterwards, and no listener is left [H9, P11.1]", async () => {
      const { host, notes, workers } = await openTelling({
        config: (world) => protecting(world, "pub_server", { timeout_seconds: 60 }),
      });
      host.guild.answer("*", { kind: "silent" });
      const { context } = host.agent;
      const { signal } = context;
      const running = monologue(host.agent, [parallel(...repeat(8, SEARCH)), call("note"), DONE]);
      await host.guild.waitForRequests(1);
      const reason = new Error("enough");
      context.cancel(reason);
      expect(await rejection(running)).to.equal(reason);
      await host.guild.waitForSocketClose();
      expect(host.server().toolCalls).to.deep.equal([]);
      expect(workers().map(decisionsOf)).to.deep.equal(repeat(8, []));
      expect(notes.filter(({ args }) => args["toolName"] === "note")).to.deep.equal([]);
      for (const one of [signal, context.signal, ...workers().map((worker) => worker.context.signal)]) {
        expect(getEventListeners(one, "abort")).to.deep.equal([]);
      }
      expect(logged(host.agent)).to.deep.equal([]);
    });

    it("does not wait for a worker whose tool hears of nothing [H9, P11.1]", async () => {
      const [underWay, never] = [new Latch(), new Latch()];
      const { agent } = await openPlain({
        tools: {
          stuck: async () => {
            underWay.open();
            await never.opened;
            return "late";
          },
        },
      });
      const running = results(agent, { tool: "stuck", args: {} });
      await underWay.opened;
      const reason = new Error("enough");
      agent.context.cancel(reason);
      expect(await rejection(running)).to.equal(reason);
      never.open();
    });

    it("has no listener on the signal of its call when it is done [H9, P11.1]", async () => {
      const { signal } = new AbortController();
      const { agent } = await openPlain({ tools: { one: () => "1" } });
      await runInParallel(agent, { tool_calls: [{ tool: "one", args: {} }] }, signal);
      expect(getEventListeners(signal, "abort")).to.deep.equal([]);
    });

    it("leaves the agent able to work in parallel again [H9, P11.1]", async () => {
      const notes: Note[] = [];
      const { agent } = await openPlain({
        tools: {
          ...noteTool(notes),
          cancel: (_, { agent: { context } }) => {
            context.parent?.context.cancel();
            return "";
          },
        },
      });
      await rejection(results(agent, { tool: "cancel", args: {} }, note(1)));
      expect(await results(agent, note(2))).to.have.lengthOf(1);
    });
  });

  it("holds its workers while their parent is paused [H9]", async () => {
    const { host, notes } = await openTelling({}, openPlain);
    const ran = () => notes.map(({ args }) => args["n"]).filter((n) => n !== undefined);
    const { context } = host.agent;
    addExtension(host.root, "_30_pause", `if (kwargs.toolName === "parallel") agent.context.pause();`);
    await host.host.extensions.reload();
    const running = results(host.agent, note(1), note(2));
    for (let round = 0; round < 5; round += 1) await setImmediate();
    expect(ran()).to.deep.equal([]);
    context.resume();
    expect(await running).to.have.lengthOf(2);
    expect(ran()).to.have.members([1, 2]);
  });
});
