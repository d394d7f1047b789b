import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";

import { expect } from "chai";

import { DECISIONS_KEY } from "../../../../helpers/decision/evidence.ts";
import { protecting } from "../../../fixtures/gated_host.ts";
import type { GatedHost, GatedHostOptions } from "../../../fixtures/gated_host.ts";
import { preflightBody } from "../../../guild/preflight_bodies.ts";
import type { CheckName, CheckStatus } from "../../../guild/preflight_bodies.ts";
import type { Agent } from "../../../host/agents/agent.ts";
import { dispatch } from "../../../host/agents/dispatch.ts";
import { HandledException } from "../../../host/agents/exceptions.ts";
import { monologue } from "../../../host/agents/monologue.ts";
import type { ModelTurn } from "../../../host/agents/monologue.ts";
import type { LocalTool } from "../../../host/agents/local_tools.ts";
import type { ToolArgs } from "../../../host/agents/tool.ts";
import { packageRoot } from "../../../packaging/package_root.ts";
import {
  addExtension,
  ANSWERED,
  call,
  DONE,
  extension,
  hostsOfSuite,
  Latch,
  logged,
  noteTool,
  OTHER_EXCEPTIONS,
  rejection,
  said,
  text,
} from "./loop_support.ts";
import type { Note } from "./loop_support.ts";

/** The two paths by which a call comes, as turns of a model. */
const PATHS: Readonly<Record<string, (name: string, args: ToolArgs) => ModelTurn>> = {
  "a native function call": call,
  "JSON text": text,
};

/** Extensions that tell the test what they are handed, and which tool is the current one. */
const TELL_BEFORE = `agent.host.localTools.note({
  step: "tool_execute_before", toolName: kwargs.toolName, toolArgs: { ...kwargs.toolArgs },
  currentTool: agent.loopData.currentTool?.name }, { agent });`;
const TELL_AFTER = `agent.host.localTools.note({
  step: "tool_execute_after", toolName: kwargs.toolName, response: { ...kwargs.response },
  currentTool: agent.loopData.currentTool?.name }, { agent });`;

/** A local tool `job` that tells the test of each of its steps. */
function steppedTool(notes: Note[]): LocalTool {
  const tell = (step: string, agent: Agent, more: ToolArgs) => {
    notes.push({ agent, args: { step, ...more, currentTool: agent.loopData.currentTool?.name } });
  };
  return {
    beforeExecution: (args, { agent }) => tell("before-execution", agent, { args: { ...args } }),
    execute: (args, { agent }) => {
      tell("execute", agent, { args: { ...args } });
      return "worked";
    },
    afterExecution: (response, { agent }) => tell("after-execution", agent, { response: { ...response } }),
  };
}

const WORKED = { message: "worked", breakLoop: false };

describe("dispatching a tool call", () => {
  const { openPlain: open } = hostsOfSuite();

  async function openTelling(notes: Note[], more: GatedHostOptions = {}): Promise<GatedHost> {
    return await open({
      tools: { ...noteTool(notes), job: steppedTool(notes), ...more.tools },
      prepare: (root, world) => {
        addExtension(root, "_30_tell", TELL_BEFORE);
        addExtension(root, "_30_tell", TELL_AFTER, "tool_execute_after");
        more.prepare?.(root, world);
      },
    });
  }

  for (const [path, turn] of Object.entries(PATHS)) {
    describe(`by ${path}`, () => {
      it("goes through the framework's steps in their order [H6]", async () => {
        const notes: Note[] = [];
        const { agent } = await openTelling(notes);
        await monologue(agent, [turn("job", { size: 3 })]);
        expect(notes.map(({ args }) => args)).to.deep.equal([
          { step: "before-execution", args: { size: 3 }, currentTool: "job" },
          { step: "tool_execute_before", toolName: "job", toolArgs: { size: 3 }, currentTool: "job" },
          { step: "execute", args: { size: 3 }, currentTool: "job" },
          { step: "tool_execute_after", toolName: "job", response: WORKED, currentTool: "job" },
          { step: "after-execution", response: WORKED, currentTool: "job" },
        ]);
        expect(agent.history.messages.slice(1)).to.deep.equal([
          { role: "tool_result", toolName: "job", content: "worked" },
        ]);
        expect(logged(agent)).to.deep.equal(["tool: worked"]);
        expect(agent.loopData.currentTool).to.equal(null);
      });

      it("takes an MCP tool through the same extensions [H6]", async () => {
        const notes: Note[] = [];
        const host = await openTelling(notes);
        await monologue(host.agent, [turn("pub_server.echo", { text: "hello" })]);
        const [toolName, currentTool] = ["pub_server.echo", "pub_server.echo"];
        const response = { message: "hello", breakLoop: false };
        expect(notes.map(({ args }) => args)).to.deep.equal([
          { step: "tool_execute_before", toolName, toolArgs: { text: "hello" }, currentTool },
          { step: "tool_execute_after", toolName, response, currentTool },
        ]);
        expect(said(host.agent, "tool_result")).to.deep.equal(["hello"]);
      });

      it("takes a name that nobody has through the same extensions, to the tool unknown [H6]", async () => {
        const notes: Note[] = [];
        const { agent } = await openTelling(notes);
        await monologue(agent, [turn("no_such_tool", { a: 1 })]);
        expect(notes.map(({ args }) => [args["step"], args["toolName"]])).to.deep.equal([
          ["tool_execute_before", "no_such_tool"],
          ["tool_execute_after", "no_such_tool"],
        ]);
        expect(said(agent, "tool_result")).to.deep.equal(["There is no tool of this name."]);
      });
    });
  }

  it("takes a local tool for unknown unless the host has it as its own [H6]", async () => {
    const { agent } = await open();
    for (const name of ["constructor", "__proto__", "toString", "hasOwnProperty", "Response", " response"]) {
      const { message } = await dispatch(agent, { name, args: {} });
      expect(message, name).to.equal("There is no tool of this name.");
    }
  });

  it("finds an MCP tool before a local tool of the same name [H6]", async () => {
    const host = await open({
      tools: { "pub_server.echo": () => "local", "pub_server.other": () => "local" },
    });
    expect(
      (await dispatch(host.agent, { name: "pub_server.echo", args: { text: "remote" } })).message,
    ).to.equal("remote");
    expect((await dispatch(host.agent, { name: "pub_server.other", args: {} })).message).to.equal("local");
    expect(host.server().toolCalls.map(({ tool }) => tool)).to.deep.equal(["echo"]);
  });

  it("makes a failing MCP call a result that says so, with a warning in the log [H6]", async () => {
    const failing = () => {
      throw new Error("the synthetic tool broke");
    };
    const host = await open({
      servers: { pub_server: { transport: "streamable_http", tools: { search: failing } } },
    });
    expect(await monologue(host.agent, [call("pub_server.search"), DONE])).to.deep.equal(ANSWERED);
    expect(said(host.agent, "tool_result")[0]).to.match(/^ERROR: /);
    expect(said(host.agent, "warning")).to.deep.equal([]);
    expect(host.agent.context.log.items.map(({ type }) => type)).to.deep.equal([
      "warning",
      "tool",
      "response",
    ]);
  });

  describe("with extensions that change things", () => {
    it("hands the tool the arguments as an extension has changed them [H6]", async () => {
      const host = await open({
        tools: { local_echo: (args) => JSON.stringify(args) },
        prepare: (root) =>
          addExtension(
            root,
            "_30_change",
            `kwargs.toolArgs.text += "!"; kwargs.toolArgs.more = [1]; delete kwargs.toolArgs.gone;`,
          ),
      });
      const args = { text: "hello", gone: true };
      expect((await dispatch(host.agent, { name: "local_echo", args })).message).to.equal(
        '{"text":"hello!","more":[1]}',
      );
      await dispatch(host.agent, { name: "pub_server.echo", args });
      expect(host.server().toolCalls).to.deep.equal([
        { tool: "echo", arguments: { text: "hello!", more: [1] } },
      ]);
    });

    it("lets a later extension see what an earlier one has changed [H6]", async () => {
      const notes: Note[] = [];
      const host = await openTelling(notes, {
        prepare: (root) => addExtension(root, "_20_change", `kwargs.toolArgs.text = "changed";`),
      });
      await dispatch(host.agent, { name: "job", args: { text: "asked" } });
      expect(
        notes.find(({ args }) => args["step"] === "tool_execute_before")?.args["toolArgs"],
      ).to.deep.equal({ text: "changed" });
    });

    it("leaves the caller's own object of arguments alone [H6]", async () => {
      const host = await open({
        prepare: (root) => addExtension(root, "_30_change", `kwargs.toolArgs.text = "changed";`),
      });
      const args = Object.freeze({ text: "asked" });
      expect((await dispatch(host.agent, { name: "pub_server.echo", args })).message).to.equal("changed");
      expect(args).to.deep.equal({ text: "asked" });
    });

    it("shows every extension and the tool one object of arguments: another one put in its place counts for nobody [H6]", async () => {
      const notes: Note[] = [];
      const host = await openTelling(notes, {
        prepare: (root) => addExtension(root, "_20_replace", `kwargs.toolArgs = { text: "replaced" };`),
      });
      await dispatch(host.agent, { name: "job", args: { text: "asked" } });
      const seen = notes
        .map(({ args }) => args["toolArgs"] ?? args["args"])
        .filter((args) => args !== undefined);
      expect(seen).to.deep.equal([{ text: "asked" }, { text: "asked" }, { text: "asked" }]);
    });

    it("gives the model the response as an extension of tool_execute_after has changed it [H6]", async () => {
      const host = await open({
        tools: { frozen: () => Object.freeze({ message: "secret", breakLoop: true }) },
        prepare: (root) =>
          addExtension(root, "_30_mask", `kwargs.response.message = "masked";`, "tool_execute_after"),
      });
      expect(await monologue(host.agent, [call("frozen")])).to.deep.equal({
        kind: "answer",
        message: "masked",
      });
      expect(said(host.agent, "tool_result")).to.deep.equal(["masked"]);
      expect(logged(host.agent)).to.deep.equal(["response: masked"]);
    });
  });

  describe("where the current tool is replaced", () => {
    const REPLACEMENTS = {
      "by nothing": `agent.loopData.currentTool = null;`,
      "by a look-alike": `const { name, id } = agent.loopData.currentTool;
        agent.loopData.currentTool = { name, id, execute: async () => ({ message: "ran", breakLoop: true }) };`,
      "by a copy": `agent.loopData.currentTool = Object.create(agent.loopData.currentTool);`,
      "by another tool of the host": `
        agent.loopData.currentTool = await agent.host.mcp.findTool(agent, "pub_server.search");`,
    };

    for (const [how, body] of Object.entries(REPLACEMENTS)) {
      it(`executes neither tool when it is replaced ${how} [H6]`, async () => {
        const notes: Note[] = [];
        const host = await openTelling(notes, { prepare: (root) => addExtension(root, "_90_replace", body) });
        for (const name of ["pub_server.echo", "job"]) {
          expect((await host.call(name)).kind, name).to.equal("denied");
        }
        expect(host.server().toolCalls).to.deep.equal([]);
        const steps = notes.map(({ args }) => args["step"]);
        expect(steps).to.not.include("execute");
        expect(steps).to.not.include("tool_execute_after");
        expect(said(host.agent, "tool_result")).to.deep.equal([]);
      });
    }

    it("tells the agent, which can go on [H6, H7]", async () => {
      const host = await open({
        prepare: (root) =>
          addExtension(
            root,
            "_90_replace",
            `if (kwargs.toolName !== "response") agent.loopData.currentTool = null;`,
          ),
      });
      expect(await monologue(host.agent, [call("pub_server.echo"), DONE])).to.deep.equal(ANSWERED);
      expect(said(host.agent, "warning").join()).to.match(/replaced the tool/);
    });
  });

  describe("and its current tool", () => {
    it("is set before anybody looks, also for onlookers, and gone afterwards [H6]", async () => {
      const [running, done] = [new Latch(), new Latch()];
      const host = await open({
        tools: {
          slow: async () => {
            running.open();
            await done.opened;
            return "done";
          },
        },
      });
      const called = host.call("slow");
      await running.opened;
      expect(host.agent.loopData.currentTool?.name).to.equal("slow");
      done.open();
      await called;
      expect(host.agent.loopData.currentTool).to.equal(null);
    });

    const ENDS: Readonly<Record<string, { readonly name: string; readonly extension?: string }>> = {
      "a result": { name: "pub_server.echo" },
      "a tool that throws": { name: "broken" },
      "a result that is none": { name: "senseless" },
      "an unknown name": { name: "no_such_tool" },
      "a denial": { name: "pub_server.echo", extension: `throw new agent.host.RepairableException("no");` },
      "an extension that breaks": { name: "pub_server.echo", extension: `null.f();` },
      "a replacement": { name: "pub_server.echo", extension: `agent.loopData.currentTool = {};` },
      "an extension of tool_execute_after that breaks": { name: "after" },
      "a cancellation": { name: "pub_server.echo", extension: `agent.context.cancel();` },
    };

    for (const [end, { name, extension: body = "" }] of Object.entries(ENDS)) {
      it(`is cleared after ${end} [H6]`, async () => {
        const loops: (Agent["loopData"] | undefined)[] = [];
        const host = await open({
          tools: {
            keep: (_, { agent }) => {
              loops.push(agent.loopData);
              return "";
            },
            broken: () => {
              throw new Error("broken");
            },
            senseless: () => undefined as unknown as string,
            after: () => "done",
          },
          prepare: (root) => {
            addExtension(root, "_20_keep", `agent.host.localTools.keep({}, { agent });`);
            addExtension(root, "_30_end", body);
            addExtension(root, "_30_end", `if (kwargs.toolName === "after") null.f();`, "tool_execute_after");
          },
        });
        await host.call(name);
        expect(loops).to.have.lengthOf(1);
        expect(loops[0]?.currentTool).to.equal(null);
        expect(host.agent.loopData.currentTool).to.equal(null);
      });
    }

    it("is each call's own when many of one agent are under way [H6, P11.2]", async () => {
      const notes: Note[] = [];
      const all = new Latch();
      const host = await open({
        tools: {
          gather: async (_, { agent }) => {
            notes.push({ agent, args: {} });
            if (notes.length === 40) all.open();
            await all.opened;
            return "";
          },
          ...Object.fromEntries(
            Array.from({ length: 40 }, (_, index) => [
              `tool_${index}`,
              (_args: ToolArgs, { agent }: { agent: Agent }) => agent.loopData.currentTool?.name ?? "none",
            ]),
          ),
        },
        prepare: (root) =>
          addExtension(root, "_30_gather", `await agent.host.localTools.gather({}, { agent });`),
      });
      const outcomes = await Promise.all(
        Array.from({ length: 40 }, (_, index) => host.call(`tool_${index}`)),
      );
      expect(
        outcomes.map((outcome) => (outcome.kind === "ran" ? outcome.message : outcome.kind)),
      ).to.deep.equal(Array.from({ length: 40 }, (_, index) => `tool_${index}`));
    });

    it("is again that of the outer call when a tool has dispatched another one [H6]", async () => {
      const seen: (string | undefined)[] = [];
      const host = await open({
        tools: {
          outer: async (_, { agent }) => {
            seen.push(agent.loopData.currentTool?.name);
            await dispatch(agent, { name: "inner", args: {} });
            seen.push(agent.loopData.currentTool?.name);
            return "";
          },
          inner: (_, { agent }) => {
            seen.push(agent.loopData.currentTool?.name);
            return "";
          },
        },
      });
      await host.call("outer");
      expect(seen).to.deep.equal(["outer", "inner", "outer"]);
    });
  });

  describe("with odd arguments", () => {
    it("takes a call without arguments for one with none [H6]", async () => {
      const host = await open();
      const request = { name: "pub_server.echo" } as { name: string; args: ToolArgs };
      expect(await monologue(host.agent, [{ toolCalls: [request] }, DONE])).to.deep.equal(ANSWERED);
      await dispatch(host.agent, { name: "pub_server.echo", args: {} });
      expect(host.server().toolCalls).to.deep.equal([
        { tool: "echo", arguments: {} },
        { tool: "echo", arguments: {} },
      ]);
    });

    for (const args of [null, "text", 5, [], [{}], true]) {
      it(`refuses ${JSON.stringify(args)} in place of arguments, and the agent goes on [H6, H7]`, async () => {
        const host = await open();
        const odd = call("pub_server.echo", args as unknown as ToolArgs);
        expect(await monologue(host.agent, [odd, DONE])).to.deep.equal(ANSWERED);
        expect(said(host.agent, "warning")).to.have.lengthOf(1);
        expect(host.server().toolCalls).to.deep.equal([]);
      });
    }

    for (const name of [undefined, null, 5, "", {}]) {
      it(`refuses ${JSON.stringify(name)} in place of a name, and the agent goes on [H6, H7]`, async () => {
        const { agent } = await open();
        expect(await monologue(agent, [call(name as string), DONE])).to.deep.equal(ANSWERED);
        expect(said(agent, "warning")).to.have.lengthOf(1);
      });
    }

    it("lets members with the names of an object's own machinery reach a tool as plain members [H6]", async () => {
      const seen: ToolArgs[] = [];
      const host = await open({
        tools: {
          look: (args) => {
            seen.push(args);
            return "";
          },
        },
      });
      const json =
        '{"tool_name":"look","tool_args":{"__proto__":{"polluted":1},"constructor":2,"toString":3}}';
      await monologue(host.agent, [json]);
      await dispatch(host.agent, {
        name: "look",
        args: JSON.parse('{"__proto__":{"polluted":1},"constructor":2,"toString":3}') as ToolArgs,
      });
      for (const args of seen) {
        expect(Object.entries(args)).to.deep.equal([
          ["__proto__", { polluted: 1 }],
          ["constructor", 2],
          ["toString", 3],
        ]);
        expect(Object.getPrototypeOf(args)).to.equal(null);
      }
      expect(seen).to.have.lengthOf(2);
      expect(({} as ToolArgs)["polluted"]).to.equal(undefined);
    });

    it("lets the same members reach an MCP server without harm to anybody [H6]", async () => {
      const host = await open();
      const json =
        '{"tool_name":"pub_server.echo","tool_args":{"text":"x","__proto__":{"polluted":1},"constructor":2}}';
      expect(await monologue(host.agent, [json, DONE])).to.deep.equal(ANSWERED);
      expect(said(host.agent, "tool_result")[0]).to.equal("x");
      expect(({} as ToolArgs)["polluted"]).to.equal(undefined);
      const [received] = host.server().toolCalls;
      expect(received?.arguments).to.include({ text: "x", constructor: 2 });
    });

    it("lets arguments without a prototype reach an MCP server, nested ones too [H6]", async () => {
      const host = await open();
      const bare = (members: ToolArgs) => Object.assign(Object.create(null) as ToolArgs, members);
      await host.call("pub_server.echo", bare({ text: "x", inner: bare({ list: [bare({ deep: 1 })] }) }));
      expect(host.server().toolCalls[0]?.arguments).to.deep.equal({
        text: "x",
        inner: { list: [{ deep: 1 }] },
      });
    });

    const UNSENDABLE: Readonly<Record<string, () => ToolArgs>> = {
      "a number that is infinite": () => ({ text: "x", count: Infinity }),
      "a number that is none, deep inside,": () => ({ text: "x", list: [{ count: NaN }] }),
      "a circle": () => {
        const circle: ToolArgs = {};
        circle["self"] = circle;
        return circle;
      },
      "a member that cannot be written as JSON": () => ({
        toJSON() {
          throw new Error("no JSON");
        },
      }),
    };

    for (const [what, args] of Object.entries(UNSENDABLE)) {
      it(`makes ${what} in an MCP call that tool's error [H6]`, async () => {
        const host = await open();
        expect(await monologue(host.agent, [call("pub_server.echo", args()), DONE])).to.deep.equal(ANSWERED);
        expect(said(host.agent, "tool_result")[0]).to.match(/^ERROR: /);
        expect(host.server().toolCalls).to.deep.equal([]);
        expect(said(host.agent, "warning")).to.deep.equal([]);
        expect((await host.call("pub_server.echo", { text: "still there" })).kind).to.equal("ran");
      });
    }

    it("gets a big integer of a JSON text to a local tool with every digit [H6]", async () => {
      const seen: unknown[] = [];
      const host = await open({
        tools: {
          look: ({ count }) => {
            seen.push(count);
            return "";
          },
        },
      });
      await monologue(host.agent, ['{"tool_name":"look","tool_args":{"count":1180591620717411303424}}']);
      expect(seen).to.deep.equal([2n ** 70n]);
    });
  });

  it("takes what is no result of a local tool for that tool's mistake [H6, H7]", async () => {
    const results: readonly unknown[] = [
      undefined,
      null,
      5,
      [],
      {},
      { message: 5 },
      { message: "x", breakLoop: "yes" },
    ];
    for (const result of results) {
      const { agent } = await open({ tools: { senseless: () => result as string } });
      expect(await rejection(monologue(agent, [call("senseless"), DONE]))).to.be.instanceOf(HandledException);
      expect(logged(agent).join()).to.match(/^error: TypeError: a local tool must return/);
    }
  });
});

/** The parts of case G-19 that are used here. */
interface DispatchCase {
  readonly id: string;
  readonly input: {
    readonly config: { readonly policy: unknown };
    readonly guild_response: {
      readonly verdict: string;
      readonly checks: readonly { readonly check: CheckName; readonly status: CheckStatus }[];
    };
  };
}

function caseG19(): DispatchCase["input"] {
  const file = join(packageRoot, "release-support/native-tests/cases/cases.json");
  const cases = JSON.parse(readFileSync(file, "utf8")) as readonly DispatchCase[];
  const found = cases.find(({ id }) => id === "G-19");
  if (found === undefined) throw new Error("cases.json has no G-19");
  return found.input;
}

describe("a protected call, whichever way it is dispatched (case G-19)", () => {
  const { open, openBeside } = hostsOfSuite();
  const { config, guild_response: answer } = caseG19();
  const statuses = Object.fromEntries(answer.checks.map(({ check, status }) => [check, status]));
  const SEARCH = { name: "pub_server.search", args: { text: "x" } };

  async function openCase(prepare: GatedHostOptions["prepare"] = () => undefined): Promise<GatedHost> {
    const host = await open({
      config: (world) => protecting(world, "pub_server", { policy: config.policy }),
      prepare,
    });
    const body = (target: string) => preflightBody(target, statuses);
    expect(body(host.server().url).verdict).to.equal(answer.verdict);
    host.guild.answer("*", { kind: "json", body });
    return host;
  }

  it("is denied on every path after one request to the Guild, and never reaches the server (a to d) [H6, H9, P1.2, P11.2]", async () => {
    const gated = await openCase((root) => {
      root.write("usr/agents/researcher/agent.yaml", "title: Researcher\n");
      addExtension(
        root,
        "_30_dispatch",
        `if (kwargs.toolName === "by_extension") await agent.host.localTools.by_tool({}, { agent });`,
      );
    });
    const subordinates: Agent[] = [];
    const host = await openBeside(gated, {
      tools: {
        by_tool: async (_, { agent }) => (await dispatch(agent, SEARCH)).message,
        by_extension: () => "ran",
      },
      subordinateModel: (subordinate) => {
        subordinates.push(subordinate);
        return [call(SEARCH.name, SEARCH.args), DONE];
      },
    });
    const { agent0 } = host.createContext();
    const paths: Readonly<Record<string, readonly [ModelTurn, () => Agent | undefined]>> = {
      a: [text(SEARCH.name, SEARCH.args), () => agent0],
      b: [call(SEARCH.name, SEARCH.args), () => agent0],
      c: [call("call_subordinate", { profile: "researcher", message: "search" }), () => subordinates[0]],
      "d, by a tool": [call("by_tool"), () => agent0],
      "d, by an extension": [call("by_extension"), () => agent0],
    };
    for (const [path, [turn, denied]] of Object.entries(paths)) {
      const before = said(agent0, "warning").length;
      expect(await monologue(agent0, [turn, DONE]), path).to.deep.equal(ANSWERED);
      const warnings =
        denied() === agent0 ? said(agent0, "warning").slice(before) : said(denied() as Agent, "warning");
      expect(warnings, path).to.have.lengthOf(1);
      expect(warnings[0], path).to.match(/^agent_guild_preflight blocked this tool call/);
    }
    expect(gated.guild.requests).to.have.lengthOf(1);
    expect(gated.server().toolCalls).to.deep.equal([]);
    expect(subordinates.map(({ config: { profile } }) => profile)).to.deep.equal(["researcher"]);
  });

  it("ends the calls behind it in its turn, and those before it have run (e) [H6]", async () => {
    const gated = await openCase();
    const notes: Note[] = [];
    const host = await openBeside(gated, { tools: { local_note: noteTool(notes)["note"] as LocalTool } });
    const { agent0 } = host.createContext();
    const turn = { toolCalls: [{ name: "local_note", args: {} }, SEARCH, SEARCH] };
    expect(await monologue(agent0, [turn, DONE])).to.deep.equal(ANSWERED);
    expect(notes).to.have.lengthOf(1);
    expect(gated.server().toolCalls).to.deep.equal([]);
    expect(agent0.getData(DECISIONS_KEY)).to.have.lengthOf(1);
    expect(said(agent0, "warning")).to.have.lengthOf(1);
  });
});

describe("a call that an extension stops, in whatever way (case G-20)", () => {
  const { openPlain } = hostsOfSuite();
  const SEARCH = call("pub_server.search", { text: "x" });
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);

  beforeEach(() => process.on("unhandledRejection", note));
  afterEach(async () => {
    // Node tells of a rejection that nobody handles once the microtasks are done.
    await setImmediate();
    process.off("unhandledRejection", note);
    expect(unhandled.splice(0)).to.deep.equal([]);
  });

  const REPAIRABLE: Readonly<Record<string, readonly string[]>> = {
    "a: a repairable exception of another copy of its class": [
      `const { RepairableException } = await import(${JSON.stringify(OTHER_EXCEPTIONS)});
       if (new RepairableException("") instanceof agent.host.RepairableException) throw new Error("the same copy");
       throw new RepairableException("stopped");`,
    ],
    "e: a rejection after a while": [
      `await new Promise((resolve) => setTimeout(resolve, 50));
       throw new agent.host.RepairableException("stopped");`,
    ],
    "d: a thenable, not a promise, that rejects after a while": [
      `return await { then: (_, reject) => setTimeout(reject, 50, new agent.host.RepairableException("stopped")) };`,
    ],
    "f: an exception of the second extension, when the first allows": [
      `return true;`,
      `throw new agent.host.RepairableException("stopped");`,
    ],
  };

  for (const [variant, bodies] of Object.entries(REPAIRABLE)) {
    it(`does not run, and the agent goes on: ${variant} [H3, H6, H7]`, async () => {
      const host = await openPlain({
        prepare: (root) => {
          for (const [index, body] of bodies.entries()) {
            addExtension(root, `_5${index}_object`, `if (kwargs.toolName !== "response") { ${body} }`);
          }
        },
      });
      expect(await monologue(host.agent, [SEARCH, DONE])).to.deep.equal(ANSWERED);
      expect(said(host.agent, "warning")).to.deep.equal(["stopped"]);
      expect(host.server().toolCalls).to.deep.equal([]);
    });
  }

  const CRITICAL: Readonly<Record<string, readonly [file: string, problem: string]>> = {
    "b: a TypeError": [extension(`throw new TypeError("no");`), "TypeError: no"],
    "c: a text": [extension(`throw "no";`), "Something else than an error was thrown: string"],
    "a thrown undefined": [
      extension(`throw undefined;`),
      "Something else than an error was thrown: undefined",
    ],
    "a thrown null": [extension(`throw null;`), "Something else than an error was thrown: object"],
    "a promise that rejects with nothing": [
      extension(`return Promise.reject();`),
      "Something else than an error was thrown: undefined",
    ],
    "d: a returned thenable that rejects after a while": [
      `export default class {
        execute() { return { then: (_, reject) => { setTimeout(reject, 50, new Error("no")); } }; }
      }`,
      "Error: no",
    ],
    "a returned thenable that throws": [
      `export default class { execute() { return { then() { throw new Error("no"); } }; } }`,
      "Error: no",
    ],
    "an exception of a method that is not async": [
      `export default class { execute() { throw new Error("no"); } }`,
      "Error: no",
    ],
    "an exception of its constructor": [
      `export default class { constructor() { throw new Error("no"); } execute() {} }`,
      "Error: no",
    ],
    "e: a rejection after a while": [
      extension(`await new Promise((resolve) => setTimeout(resolve, 50)); throw new Error("no");`),
      "Error: no",
    ],
    "an object that throws whenever it is looked at": [
      extension(`throw new Proxy({}, { get() { throw new Error("again"); } });`),
      "Something else than an error was thrown: object",
    ],
  };

  for (const [variant, [file, problem]] of Object.entries(CRITICAL)) {
    it(`does not run, and the error comes up: ${variant} [H3, H6, H7]`, async () => {
      const host = await openPlain({
        prepare: (root) => root.write("usr/extensions/node/tool_execute_before/_50_object.mjs", file),
      });
      expect(await rejection(monologue(host.agent, [SEARCH, DONE]))).to.be.instanceOf(HandledException);
      expect(logged(host.agent)).to.deep.equal([`error: ${problem}`]);
      expect(host.server().toolCalls).to.deep.equal([]);
    });
  }

  it("does not run the extensions behind the one that stops it [H3, H6]", async () => {
    const notes: Note[] = [];
    const host = await openPlain({
      tools: noteTool(notes),
      prepare: (root) => {
        addExtension(root, "_50_object", `throw new agent.host.RepairableException("stopped");`);
        addExtension(root, "_60_behind", `agent.host.localTools.note({}, { agent });`);
      },
    });
    expect(await host.call()).to.deep.equal({ kind: "denied", message: "stopped" });
    expect(notes).to.deep.equal([]);
  });
});
