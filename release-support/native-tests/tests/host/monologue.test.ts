import { expect } from "chai";

import { endpointDown } from "../../../guild/preflight_bodies.ts";
import { monologue } from "../../../host/agents/monologue.ts";
import type { ModelTurn } from "../../../host/agents/monologue.ts";
import type { ToolArgs } from "../../../host/agents/tool.ts";
import {
  ANSWERED,
  call,
  DONE,
  hostsOfSuite,
  logged,
  noteTool,
  rejection,
  said,
  text,
} from "./loop_support.ts";
import type { Note } from "./loop_support.ts";

const REPEATED = /sent the same message again/;
const MISFORMATTED = /not well formed/;

describe("a monologue", () => {
  const { open, openPlain } = hostsOfSuite();

  /** An agent whose local tool `note` tells the test of every call. */
  async function openNoting() {
    const notes: Note[] = [];
    const { agent } = await openPlain({ tools: noteTool(notes) });
    return { agent, notes, noted: () => notes.map(({ args }) => args["n"]) };
  }

  describe("ends", () => {
    it("with a text that asks for no tool, which is the answer [H9]", async () => {
      const { agent, notes } = await openNoting();
      const turns = [call("note"), "That is all: {not json", call("note")];
      expect(await monologue(agent, turns)).to.deep.equal({
        kind: "answer",
        message: "That is all: {not json",
      });
      expect(notes).to.have.lengthOf(1);
      expect(said(agent, "assistant").at(-1)).to.equal("That is all: {not json");
    });

    it("with an empty text too [H9]", async () => {
      const { agent } = await openNoting();
      expect(await monologue(agent, [""])).to.deep.equal({ kind: "answer", message: "" });
    });

    for (const [path, turn] of Object.entries({ native: DONE, text: text("response", { text: "done" }) })) {
      it(`with the tool response, whose text is the answer (${path}) [H9]`, async () => {
        const { agent, notes } = await openNoting();
        expect(await monologue(agent, [call("note"), turn, call("note")])).to.deep.equal(ANSWERED);
        expect(notes).to.have.lengthOf(1);
      });
    }

    it("within a turn: what stands behind response is not run [H9]", async () => {
      const { agent, noted } = await openNoting();
      const turn = {
        toolCalls: [
          { name: "note", args: { n: 1 } },
          { name: "response", args: { text: "done" } },
          { name: "note", args: { n: 2 } },
        ],
      };
      expect(await monologue(agent, [turn])).to.deep.equal(ANSWERED);
      expect(noted()).to.deep.equal([1]);
    });

    it("with any tool whose response breaks the loop [H6, H9]", async () => {
      const { agent } = await openPlain({ tools: { stop: () => ({ message: "stopped", breakLoop: true }) } });
      expect(await monologue(agent, [call("stop"), DONE])).to.deep.equal({
        kind: "answer",
        message: "stopped",
      });
    });

    it("without an answer when the script is over [H9]", async () => {
      const { agent } = await openNoting();
      expect(await monologue(agent, [])).to.deep.equal({ kind: "script_over" });
      expect(await monologue(agent, [call("note"), { toolCalls: [] }])).to.deep.equal({
        kind: "script_over",
      });
    });
  });

  describe("answers by the tool response", () => {
    const ODD: readonly (readonly [args: ToolArgs, answer: string])[] = [
      [{}, ""],
      [{ text: "" }, ""],
      [{ text: null }, ""],
      [{ message: "by message" }, "by message"],
      [{ text: 5 }, "5"],
      [{ text: false }, "false"],
      [{ text: ["a", { b: 1 }] }, '["a",{"b":1}]'],
      [{ text: 2n ** 70n }, '"1180591620717411303424"'],
      [{ text: { n: [2n ** 70n] } }, '{"n":["1180591620717411303424"]}'],
    ];

    for (const [index, [args, answer]] of ODD.entries()) {
      it(`with a text for odd arguments, number ${index + 1} [H9]`, async () => {
        const { agent } = await openNoting();
        expect(await monologue(agent, [call("response", args)])).to.deep.equal({
          kind: "answer",
          message: answer,
        });
      });
    }

    it("with a sentence for arguments that no text can show [H9]", async () => {
      const { agent } = await openNoting();
      const circle: ToolArgs = {};
      circle["text"] = circle;
      const result = await monologue(agent, [call("response", circle)]);
      expect(result).to.deep.equal({ kind: "answer", message: "(a value that cannot be shown)" });
    });
  });

  describe("given a text turn equal to the one before", () => {
    const NOTE = text("note", { n: 1 });

    it("warns instead of dispatching it, as often as it comes [H9]", async () => {
      const { agent, notes } = await openNoting();
      expect(await monologue(agent, [NOTE, NOTE, NOTE, DONE])).to.deep.equal(ANSWERED);
      expect(notes).to.have.lengthOf(1);
      expect(said(agent, "warning")).to.have.lengthOf(2);
      for (const warning of said(agent, "warning")) expect(warning).to.match(REPEATED);
      expect(logged(agent).filter((item) => item.startsWith("warning: "))).to.have.lengthOf(2);
    });

    it("dispatches it again once something else came between [H9]", async () => {
      const { agent, noted } = await openNoting();
      await monologue(agent, [NOTE, text("note", { n: 2 }), NOTE, call("note", { n: 3 }), NOTE]);
      expect(noted()).to.deep.equal([1, 2, 1, 3, 1]);
      expect(said(agent, "warning")).to.deep.equal([]);
    });

    it("compares the texts as they are, not what they ask for [H9]", async () => {
      const { agent, notes } = await openNoting();
      await monologue(agent, [NOTE, ` ${NOTE}`, `${NOTE}\n`]);
      expect(notes).to.have.lengthOf(3);
    });

    it("does so also when the one before was denied [H9]", async () => {
      const host = await open();
      host.guild.answer("*", { kind: "json", body: endpointDown });
      const search = text("pub_server.search", { text: "x" });
      await monologue(host.agent, [search, search]);
      expect(said(host.agent, "warning")).to.have.lengthOf(2);
      expect(said(host.agent, "warning")[0]).to.match(/^agent_guild_preflight blocked/);
      expect(said(host.agent, "warning")[1]).to.match(REPEATED);
    });

    it("does so also when it was no tool request of the right form [H9]", async () => {
      const { agent } = await openNoting();
      const fenced = `\`\`\`json\n${NOTE}\n\`\`\``;
      await monologue(agent, [fenced, fenced]);
      expect(said(agent, "warning")[0]).to.match(MISFORMATTED);
      expect(said(agent, "warning")[1]).to.match(REPEATED);
    });

    it("leaves native turns alone, which may be equal [H9]", async () => {
      const { agent, notes } = await openNoting();
      const turn = call("note");
      await monologue(agent, [turn, turn, turn]);
      expect(notes).to.have.lengthOf(3);
    });

    it("forgets the turns of an earlier monologue [H9]", async () => {
      const { agent, notes } = await openNoting();
      await monologue(agent, [NOTE]);
      await monologue(agent, [NOTE]);
      expect(notes).to.have.lengthOf(2);
    });
  });

  it("warns of a tool request that is not well formed, and goes on [H6]", async () => {
    const { agent, notes } = await openNoting();
    const fenced = `Here it is:\n\`\`\`json\n${text("note")}\n\`\`\``;
    expect(await monologue(agent, [fenced, DONE])).to.deep.equal(ANSWERED);
    expect(notes).to.deep.equal([]);
    expect(said(agent, "warning")).to.have.lengthOf(1);
    expect(said(agent, "warning")[0]).to.match(MISFORMATTED);
  });

  describe("of a turn with a call that is denied", () => {
    async function openDenying() {
      const notes: Note[] = [];
      const host = await open({ tools: noteTool(notes) });
      host.guild.answer("*", { kind: "json", body: endpointDown });
      return { host, notes, noted: () => notes.map(({ args }) => args["n"]) };
    }
    const SEARCH = { name: "pub_server.search", args: { text: "x" } };

    it("does not run the calls behind it, and goes on with the next turn [H6, H7]", async () => {
      const { host, noted } = await openDenying();
      const turn = {
        toolCalls: [{ name: "note", args: { n: 1 } }, SEARCH, { name: "note", args: { n: 2 } }, SEARCH],
      };
      expect(await monologue(host.agent, [turn, call("note", { n: 3 }), DONE])).to.deep.equal(ANSWERED);
      expect(noted()).to.deep.equal([1, 3]);
      expect(said(host.agent, "warning")).to.have.lengthOf(1);
      expect(host.guild.requests).to.have.lengthOf(1);
      expect(host.server().toolCalls).to.deep.equal([]);
    });

    it("gates each later turn anew [H6, P11.2]", async () => {
      const { host } = await openDenying();
      await monologue(host.agent, [
        { toolCalls: [SEARCH] },
        { toolCalls: [SEARCH, SEARCH] },
        text(SEARCH.name),
      ]);
      expect(said(host.agent, "warning")).to.have.lengthOf(3);
      expect(host.server().toolCalls).to.deep.equal([]);
    });
  });

  it("runs the calls of a native turn one after another [H6]", async () => {
    const steps: string[] = [];
    const { agent } = await openPlain({
      tools: {
        step: async ({ n }) => {
          steps.push(`begin ${String(n)}`);
          await Promise.resolve();
          steps.push(`end ${String(n)}`);
          return "";
        },
      },
    });
    const turn = { toolCalls: [1, 2].map((n) => ({ name: "step", args: { n } })) };
    await monologue(agent, [turn]);
    expect(steps).to.deep.equal(["begin 1", "end 1", "begin 2", "end 2"]);
  });

  it("shows a native turn in the history as JSON, big integers included [H9]", async () => {
    const { agent } = await openNoting();
    expect(await monologue(agent, [call("note", { n: 2n ** 70n }), DONE])).to.deep.equal(ANSWERED);
    expect(said(agent, "assistant")[0]).to.equal(
      '{"toolCalls":[{"name":"note","args":{"n":"1180591620717411303424"}}]}',
    );
  });

  describe("with its model", () => {
    it("asks for a turn when the one before is done, so that the model sees what came of it [H9]", async () => {
      const { agent } = await openNoting();
      const seen: number[] = [];
      const model = async function* (): AsyncGenerator<ModelTurn> {
        await Promise.resolve();
        for (const turn of [call("note"), text("note"), DONE]) {
          seen.push(agent.history.messages.length);
          yield turn;
        }
      };
      expect(await monologue(agent, model())).to.deep.equal(ANSWERED);
      expect(seen).to.deep.equal([0, 2, 4]);
    });

    for (const [end, last] of Object.entries({ "an answer": DONE, "an error": call("broken") })) {
      it(`tells it that nobody asks any more after ${end} [H9]`, async () => {
        const { agent } = await openPlain({
          tools: {
            broken: () => {
              throw new Error("broke");
            },
          },
        });
        let isLeft = false;
        const model = function* (): Generator<ModelTurn> {
          try {
            yield last;
            yield DONE;
          } finally {
            isLeft = true;
          }
        };
        await monologue(agent, model()).catch(() => undefined);
        expect(isLeft).to.equal(true);
      });
    }

    it("refuses a script that is none [H9]", async () => {
      const { agent } = await openNoting();
      expect(await rejection(monologue(agent, null as unknown as ModelTurn[]))).to.be.instanceOf(TypeError);
    });
  });
});
