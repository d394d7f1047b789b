import { expect } from "chai";

import {
  exceptionKind,
  HandledException,
  InterventionException,
  RepairableException,
  repairableMessage,
} from "../../../host/agents/exceptions.ts";
import { monologue } from "../../../host/agents/monologue.ts";
import type { ModelTurn } from "../../../host/agents/monologue.ts";
import {
  addExtension,
  ANSWERED,
  call,
  DONE,
  hostsOfSuite,
  logged,
  noteTool,
  OTHER_EXCEPTIONS,
  rejection,
  said,
  text,
} from "./loop_support.ts";
import type { Note } from "./loop_support.ts";

type Exceptions = typeof import("../../../host/agents/exceptions.ts");

const ECHO = call("pub_server.echo", { text: "x" });

/** Whether a text shows a stack trace, or a place in a file. */
const STACK = /\n\s+at |\.[cm]?[jt]s:\d+/;

describe("the kind of an exception", () => {
  it("is told by its brand, whatever copy of the module its class comes from [H3, H7]", async () => {
    const other = (await import(OTHER_EXCEPTIONS)) as Exceptions;
    expect(new other.RepairableException("x")).to.not.be.instanceOf(RepairableException);
    for (const module of [{ RepairableException, InterventionException, HandledException }, other]) {
      expect(exceptionKind(new module.RepairableException("x"))).to.equal("repairable");
      expect(exceptionKind(new module.InterventionException("x"))).to.equal("intervention");
      expect(exceptionKind(new module.HandledException("x"))).to.equal("handled");
    }
  });

  it("is that of its class for a class derived from it [H7]", () => {
    class Denial extends RepairableException {}
    expect(exceptionKind(new Denial("x"))).to.equal("repairable");
  });

  it("is not told by its name [H7]", () => {
    const named = Object.assign(new Error("x"), { name: "RepairableException" });
    expect(exceptionKind(named)).to.equal("critical");
  });

  it("is critical for whatever is none of the framework's own [H7]", () => {
    const hostile = new Proxy(
      {},
      {
        get() {
          throw new Error("looked at");
        },
      },
    );
    for (const thrown of [
      undefined,
      null,
      "no",
      5,
      5n,
      {},
      [],
      String,
      Symbol("no"),
      new Error("x"),
      hostile,
    ]) {
      expect(exceptionKind(thrown)).to.equal("critical");
    }
  });

  it("leaves the agent a sentence also where a repairable one has no message [H7]", () => {
    expect(repairableMessage(new RepairableException("mend it"))).to.equal("mend it");
    const silent = Object.assign(new RepairableException("x"), { message: 5 });
    for (const thrown of [new RepairableException(""), silent, undefined]) {
      expect(repairableMessage(thrown)).to.equal("The tool call was not run.");
    }
  });
});

describe("an exception that leaves a turn", () => {
  const { openPlain, openBeside } = hostsOfSuite();

  /** A host whose extension of `tool_execute_before` does something to every call but that of `response`. */
  async function openObjecting(body: string, point?: string) {
    return await openPlain({
      prepare: (root) =>
        addExtension(root, "_50_object", `if (kwargs.toolName !== "response") { ${body} }`, point),
    });
  }

  describe("and is repairable", () => {
    const OBJECT = `throw new agent.host.RepairableException("Use another tool.\\nAnd tell the operator.");`;
    const MESSAGE = "Use another tool.\nAnd tell the operator.";

    for (const [path, turn] of Object.entries({
      native: ECHO,
      text: text("pub_server.echo", { text: "x" }),
    })) {
      it(`is a warning to the agent and in the log, by its message alone, and the loop goes on (${path}) [H7, P10.2]`, async () => {
        const host = await openObjecting(OBJECT);
        expect(await monologue(host.agent, [turn, DONE])).to.deep.equal(ANSWERED);
        expect(host.agent.history.messages.map(({ role }) => role)).to.deep.equal([
          "assistant",
          "warning",
          "assistant",
          "tool_result",
        ]);
        expect(said(host.agent, "warning")).to.deep.equal([MESSAGE]);
        expect(logged(host.agent)).to.deep.equal([`warning: ${MESSAGE}`, "response: done"]);
      });
    }

    it("shows no stack of it or of its cause anywhere [H7, P10.2]", async () => {
      const host = await openObjecting(`
        try { null.f(); } catch (cause) { throw Object.assign(new agent.host.RepairableException("no"), { cause }); }`);
      await monologue(host.agent, [ECHO, DONE]);
      expect(JSON.stringify([host.agent.history.messages, host.agent.context.log.items])).to.not.match(STACK);
    });

    it("may come from a tool, and from an extension of tool_execute_after [H7]", async () => {
      for (const point of ["tool_execute_before", "tool_execute_after"]) {
        const host = await openObjecting(OBJECT, point);
        expect(await monologue(host.agent, [ECHO, ECHO, DONE])).to.deep.equal(ANSWERED);
        expect(said(host.agent, "warning"), point).to.deep.equal([MESSAGE, MESSAGE]);
      }
      const host = await openPlain({
        tools: {
          strict: () => {
            throw new RepairableException("not so");
          },
        },
      });
      expect(await monologue(host.agent, [call("strict"), DONE])).to.deep.equal(ANSWERED);
      expect(said(host.agent, "warning")).to.deep.equal(["not so"]);
    });
  });

  describe("and is an intervention", () => {
    for (const from of ["this copy", "another copy"] as const) {
      it(`is dropped without a word, and the loop goes on (${from} of the module) [H7]`, async () => {
        const url = from === "this copy" ? OTHER_EXCEPTIONS.replace("?v=2", "") : OTHER_EXCEPTIONS;
        const host = await openObjecting(`
          const { InterventionException } = await import(${JSON.stringify(url)});
          throw new InterventionException("stepped in");`);
        expect(await monologue(host.agent, [ECHO, DONE])).to.deep.equal(ANSWERED);
        expect(said(host.agent, "warning")).to.deep.equal([]);
        expect(logged(host.agent)).to.deep.equal(["response: done"]);
        expect(host.server().toolCalls).to.deep.equal([]);
      });
    }
  });

  describe("and has been handled", () => {
    it("ends the loop as it is, and is not logged again [H7]", async () => {
      const host = await openObjecting(`
        const { HandledException } = await import(${JSON.stringify(OTHER_EXCEPTIONS)});
        throw new HandledException("reported before");`);
      const error = await rejection(monologue(host.agent, [ECHO, DONE]));
      expect(exceptionKind(error)).to.equal("handled");
      expect(error).to.have.property("message", "reported before");
      expect(logged(host.agent)).to.deep.equal([]);
    });
  });

  describe("and cannot be repaired", () => {
    const BREAK = `throw new TypeError("the plugin broke");`;

    it("is logged as an error without its stack, and ends the loop as handled, with its cause [H7]", async () => {
      const host = await openObjecting(BREAK);
      const error = await rejection(monologue(host.agent, [ECHO, DONE]));
      expect(error).to.be.instanceOf(HandledException);
      expect((error as Error).cause).to.be.instanceOf(TypeError);
      expect(logged(host.agent)).to.deep.equal(["error: TypeError: the plugin broke"]);
      expect(JSON.stringify(host.agent.context.log.items)).to.not.match(STACK);
      expect(host.server().toolCalls).to.deep.equal([]);
    });

    it("says nothing to the model [H7]", async () => {
      const host = await openObjecting(BREAK);
      await rejection(monologue(host.agent, [ECHO, DONE]));
      expect(host.agent.history.messages.map(({ role }) => role)).to.deep.equal(["assistant"]);
    });

    it("does not ask for another turn [H7]", async () => {
      const host = await openObjecting(BREAK);
      const asked: string[] = [];
      const model = function* (): Generator<ModelTurn> {
        asked.push("first");
        yield ECHO;
        asked.push("second");
        yield DONE;
      };
      await rejection(monologue(host.agent, model()));
      expect(asked).to.deep.equal(["first"]);
    });

    it("leaves the agent able to begin anew [H7]", async () => {
      const host = await openObjecting(BREAK);
      await rejection(monologue(host.agent, [ECHO]));
      expect(await monologue(host.agent, [DONE])).to.deep.equal(ANSWERED);
    });

    it("is handled and logged once when it comes from below a subordinate [H7, H9]", async () => {
      const host = await openObjecting("");
      const beside = await openBeside(host, {
        tools: {
          broken: () => {
            throw new Error("broke");
          },
        },
        subordinateModel: () => [call("broken")],
      });
      const { agent0 } = beside.createContext();
      const error = await rejection(
        monologue(agent0, [call("call_subordinate", { message: "do it" }), DONE]),
      );
      expect(error).to.be.instanceOf(HandledException);
      expect(logged(agent0)).to.deep.equal(["error: Error: broke"]);
    });

    it("may come from the model itself [H7]", async () => {
      const host = await openPlain();
      const model = async function* (): AsyncGenerator<ModelTurn> {
        yield ECHO;
        throw new Error("no connection to the model");
      };
      expect(await rejection(monologue(host.agent, model()))).to.be.instanceOf(HandledException);
      expect(logged(host.agent)).to.deep.equal(["tool: x", "error: Error: no connection to the model"]);
    });

    it("may be a turn that is none [H7]", async () => {
      for (const turn of [null, undefined, 5, {}, { toolCalls: null }, { toolCalls: [null] }]) {
        const host = await openPlain();
        const error = await rejection(monologue(host.agent, [turn as unknown as ModelTurn, DONE]));
        expect(error, JSON.stringify(turn)).to.be.instanceOf(HandledException);
      }
    });
  });

  describe("and is the cancellation of the task", () => {
    for (const [what, reason] of Object.entries({
      "an error": new Error("enough"),
      "a repairable exception": new RepairableException("enough"),
      "an intervention": new InterventionException("enough"),
    })) {
      it(`stays that, with ${what} for its reason: neither warning nor error [H7, P11.1]`, async () => {
        const notes: Note[] = [];
        const host = await openPlain({
          tools: {
            ...noteTool(notes),
            cancel: (_, { agent }) => {
              agent.context.cancel(reason);
              return "cancelled";
            },
          },
        });
        expect(await rejection(monologue(host.agent, [call("cancel"), call("note"), DONE]))).to.equal(reason);
        expect(logged(host.agent)).to.deep.equal([]);
        expect(host.agent.history.messages.map(({ role }) => role)).to.deep.equal(["assistant"]);
        expect(notes).to.deep.equal([]);
      });
    }

    it("counts before whatever else a step throws when it is cancelled [H7, P11.1]", async () => {
      const reason = new Error("enough");
      const host = await openPlain({
        tools: {
          cancel: (_, { agent }) => {
            agent.context.cancel(reason);
            throw new RepairableException("something else");
          },
        },
      });
      expect(await rejection(monologue(host.agent, [call("cancel"), DONE]))).to.equal(reason);
      expect(said(host.agent, "warning")).to.deep.equal([]);
    });

    it("is an AbortError when nobody gave a reason [H7, P11.1]", async () => {
      const host = await openPlain({
        tools: {
          cancel: (_, { agent }) => {
            agent.context.cancel();
            return "";
          },
        },
      });
      expect(await rejection(monologue(host.agent, [call("cancel"), DONE]))).to.have.property(
        "name",
        "AbortError",
      );
    });
  });
});
