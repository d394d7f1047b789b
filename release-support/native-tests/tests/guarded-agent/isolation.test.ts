import { expect } from "chai";
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from "undici";

import * as publicApi from "../../../guarded-agent/index.ts";
import {
  GuardedMcpAgent,
  PreflightPolicy,
  PublicMcpEndpoint,
  ScriptedPromptExecutor,
} from "../../../guarded-agent/index.ts";
import type {
  CheckName,
  GuardedMcpAgentOptions,
  JsonObject,
  ModelTurn,
  Prompt,
} from "../../../guarded-agent/index.ts";
import { createOnLoopback, loopbackNetwork } from "../../../guarded-agent/loopback.ts";
import { endpointDown } from "../../../guild/preflight_bodies.ts";
import {
  answering,
  Bench,
  calling,
  countingListener,
  endpointOf,
  HEALTHY_PASSES,
  loopback,
  rejection,
  resultsSeen,
  urlOf,
} from "./support.ts";

describe("guarded agent: isolation", () => {
  const bench = new Bench();
  afterEach(() => bench.close());

  describe("what was passed in, changed after creation, changes nothing:", () => {
    it("policy lists, endpoints, config and options [G8]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const other = await bench.server();
      guild.answer(urlOf(server), { kind: "json", body: endpointDown(urlOf(server)) });
      const allowedUnknowns: CheckName[] = ["agent_card_resolves", "agent_card_signed"];
      const endpoints = [endpointOf(server)];
      const config = { maxIterations: 2, systemPrompt: "as agreed" };
      const executor = new ScriptedPromptExecutor([calling(["search", "x"]), answering(), answering()]);
      const options = {
        promptExecutor: executor,
        config,
        endpoints,
        policy: PreflightPolicy.of({ allowedUnknowns }),
      };
      const agent = await createOnLoopback(loopback(guild), options);
      bench.onClose(() => agent.close());

      allowedUnknowns.push("payment_claim_holds", "independent_evidence");
      endpoints[0] = endpointOf(other);
      config.maxIterations = 0;
      config.systemPrompt = "something else";
      Object.assign(options, { policy: HEALTHY_PASSES, endpoints: [], promptExecutor: null });

      await agent.run("go");
      expect(resultsSeen(executor)[0]?.[0]).to.equal("denied");
      expect(executor.prompts[0]?.messages[0]).to.include({ text: "as agreed" });
      expect(guild.requests.map(({ url }) => url)).to.deep.equal([urlOf(server)]);
      expect([server.toolCalls.length, other.toolCalls.length]).to.deep.equal([0, 0]);
    });

    it("the methods of the executor and the audit callback [G8]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const executor = new ScriptedPromptExecutor([answering("as agreed")]);
      const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
      executor.execute = async () => await Promise.resolve(answering("something else"));
      expect((await agent.run("go")).answer).to.equal("as agreed");
    });

    it("what the model was given: tools, schemas and messages are frozen [G8]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const executor = new ScriptedPromptExecutor([calling(["search", "x"]), answering()]);
      const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
      await agent.run("go");
      for (const prompt of executor.prompts) expectDeeplyFrozen(prompt);
    });

    it("what the model said, changed while its calls are under way [G8]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const hold = guild.hold("*");
      const call = { id: "1", name: "search", arguments: { text: "as agreed" } };
      const turn: ModelTurn = { kind: "tool_calls", calls: [call] };
      const executor = new ScriptedPromptExecutor([turn, answering()]);
      const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
      const running = agent.run("go");
      await hold.arrived;
      call.name = "echo";
      call.arguments.text = "something else";
      hold.release();
      await running;
      expect(server.toolCalls).to.deep.equal([{ tool: "search", arguments: { text: "as agreed" } }]);
    });

    it("the server's own list of tools [G3, G8]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const executor = new ScriptedPromptExecutor([answering(), calling(["late", ""]), answering()]);
      const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
      await agent.run("one");
      await server.setTools({ late: "new" });
      await agent.run("two");
      expect(executor.prompts.at(-1)?.tools.map(({ name }) => name)).to.deep.equal(["search", "echo"]);
      expect(resultsSeen(executor)[0]?.[0]).to.equal("unknown_tool");
      expect(server.toolCalls).to.have.length(0);
    });
  });

  it("gives a copy of a tool, a context or a call no power: only the name selects [G3, G8]", async () => {
    const [server, other, guild] = [
      await bench.server({ tools: { mine: "1" } }),
      await bench.server(),
      await bench.guild(),
    ];
    guild.answer(urlOf(server), { kind: "json", body: endpointDown(urlOf(server)) });
    const withCopies = ({ tools, messages }: Prompt): ModelTurn => {
      const copy = { ...structuredClone(tools[0]), endpoint: urlOf(other), connection: {}, messages };
      return {
        kind: "tool_calls",
        calls: [
          { id: "1", name: "mine", arguments: {}, ...({ tool: copy, endpoint: urlOf(other) } as object) },
        ],
      };
    };
    const executor = new ScriptedPromptExecutor([withCopies, answering()]);
    const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
    await agent.run("go");
    expect(resultsSeen(executor)[0]?.[0]).to.equal("denied");
    expect(guild.requests.map(({ url }) => url)).to.deep.equal([urlOf(server)]);
    expect([server.toolCalls.length, other.connections]).to.deep.equal([0, 0]);
  });

  it("is not led elsewhere by proxies, fetch or dispatchers that are set after creation [G2, G8]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const proxy = await countingListener(bench, "127.0.0.1");
    const executor = new ScriptedPromptExecutor([calling(["search", "x"]), answering()]);
    const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
    const [fetchBefore, dispatcherBefore] = [globalThis.fetch, getGlobalDispatcher()];
    const names = [
      "HTTP_PROXY",
      "HTTPS_PROXY",
      "ALL_PROXY",
      "NODE_USE_ENV_PROXY",
      "http_proxy",
      "https_proxy",
    ];
    const before = names.map((name) => process.env[name]);
    for (const name of names) process.env[name] = `http://127.0.0.1:${proxy.port}`;
    globalThis.fetch = () => Promise.reject(new Error("the global fetch was used"));
    setGlobalDispatcher(new Agent({ connect: (_options, callback) => callback(new Error("global"), null) }));
    try {
      await agent.run("go");
    } finally {
      globalThis.fetch = fetchBefore;
      setGlobalDispatcher(dispatcherBefore);
      for (const [index, name] of names.entries()) {
        const value = before[index];
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    }
    expect(resultsSeen(executor)[0]?.[0]).to.equal("result");
    expect(proxy.connections).to.equal(0);
  });

  it("shows nothing of its inside, takes nothing in, and is made by nobody else [G8]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const agent = await bench.agent(guild, { endpoints: [endpointOf(server)] });
    expect(Reflect.ownKeys(agent)).to.deep.equal([]);
    expect(Object.isFrozen(agent)).to.equal(true);
    for (const name of ["registry", "guard", "policy", "connections", "run", "strategy"]) {
      expect(() => Object.assign(agent, { [name]: () => undefined }), name).to.throw(TypeError);
    }
    const methods = Reflect.ownKeys(GuardedMcpAgent.prototype);
    expect(methods).to.have.members([
      "constructor",
      "run",
      "tools",
      "endpoints",
      "close",
      Symbol.asyncDispose,
    ]);
    const Constructor = GuardedMcpAgent as unknown as new (...parts: unknown[]) => unknown;
    expect(() => new Constructor()).to.throw(TypeError, "GuardedMcpAgent.create");
    expect(() => new Constructor(Symbol("inside"), {})).to.throw(TypeError, "GuardedMcpAgent.create");
  });

  describe("the test-only door", () => {
    it("is no part of the public API [G9, G11]", () => {
      expect(Object.keys(publicApi).toSorted()).to.deep.equal([
        "GuardedAgentError",
        "GuardedMcpAgent",
        "PINNED_CONTRACT",
        "PreflightPolicy",
        "PublicMcpEndpoint",
        "ScriptedPromptExecutor",
        "traceOf",
      ]);
    });

    it("has no counterpart in the public factory: its options are unknown there [G9]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const options = {
        promptExecutor: new ScriptedPromptExecutor([]),
        config: { maxIterations: 1 },
        endpoints: [endpointOf(server)],
      };
      for (const name of Object.keys(loopback(guild))) {
        const more = { ...options, [name]: "127.0.0.1" } as GuardedMcpAgentOptions;
        expect(await rejection(GuardedMcpAgent.create(more)), name).to.be.instanceOf(TypeError);
      }
      expect(() => PublicMcpEndpoint.of(server.url, { discloseEndpointToAgentGuild: true })).to.throw(
        TypeError,
      );
      expect(server.connections).to.equal(0);
    });

    it("leads to loopback and nowhere else [G9]", () => {
      const guild = { origin: "http://127.0.0.1:1" };
      for (const address of [
        "8.8.8.8",
        "10.0.0.1",
        "0.0.0.0",
        "127.0.0.1.example.com",
        "::ffff:127.0.0.1",
        "",
      ]) {
        const network = loopback(guild, { treatAsPublic: ["127.0.0.1", address] });
        expect(() => loopbackNetwork(network), address).to.throw(TypeError);
      }
      for (const guildOrigin of [
        "https://8.8.8.8:443",
        "http://127.0.0.1",
        "https://[2606:4700::1]:443",
        "",
      ]) {
        expect(() => loopbackNetwork(loopback(guild, { guildOrigin })), guildOrigin).to.throw(TypeError);
      }
    });
  });
});

function expectDeeplyFrozen(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  expect(Object.isFrozen(value), JSON.stringify(value)).to.equal(true);
  for (const member of Object.values(value as JsonObject)) expectDeeplyFrozen(member);
}
