import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { expect } from "chai";

import { AiSdkExecutor } from "../../../guarded-agent/executors/ai_sdk.ts";
import type { AiSdkExecutorOptions, AiSdkModel } from "../../../guarded-agent/executors/ai_sdk.ts";
import type { GuardedMcpAgent, Message } from "../../../guarded-agent/index.ts";
import type { McpServerFixture } from "../../../fixtures/mcp_server.ts";
import { dataLines, namedEvents, providerEndpoint } from "./provider_endpoint.ts";
import type { ProviderAnswer, ProviderEndpoint } from "./provider_endpoint.ts";
import { Bench, endpointOf, rejection } from "./support.ts";

/** What no double holds. */
const LONG = "725653563933458433";

interface Scene {
  readonly agent: GuardedMcpAgent;
  readonly provider: ProviderEndpoint;
  readonly server: McpServerFixture;
}

const MODELS = {
  compatible: (origin: string): AiSdkModel =>
    createOpenAICompatible({ name: "synthetic", baseURL: origin })("synthetic"),
  anthropic: (origin: string): AiSdkModel =>
    createAnthropic({ apiKey: "synthetic", baseURL: origin })("synthetic"),
};

describe("guarded agent: the executor for the AI SDK", () => {
  const bench = new Bench();
  afterEach(() => bench.close());

  async function scene(
    maker: keyof typeof MODELS,
    answers: readonly ProviderAnswer[],
    options: Partial<AiSdkExecutorOptions> = {},
  ): Promise<Scene> {
    const tools = {
      search: "found",
      "odd.name": () => ({ isError: true, content: [{ type: "text" as const, text: "no" }] }),
    };
    const [server, guild] = [await bench.server({ tools }), await bench.guild()];
    const provider = await providerEndpoint(bench, answers);
    const model = MODELS[maker](provider.origin);
    const promptExecutor = new AiSdkExecutor({
      model,
      settings: { maxRetries: 0, maxOutputTokens: 1000 },
      ...options,
    });
    const config = { maxIterations: 4, systemPrompt: "Be brief." };
    const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor, config });
    return { agent, provider, server };
  }

  const call = (id: string, name: string, text: string) => ({
    id,
    type: "function",
    function: { name, arguments: text },
  });
  const said = (message: object): ProviderAnswer => ({
    kind: "json",
    body: {
      id: "a",
      created: 0,
      model: "synthetic",
      choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", ...message } }],
    },
  });
  const done = said({ content: "done" });
  const delta = (piece: object, finish: string | null = null) => ({
    id: "a",
    created: 0,
    model: "synthetic",
    choices: [{ index: 0, delta: piece, finish_reason: finish }],
  });
  const usage = { input_tokens: 1, output_tokens: 1 };
  const thinking = { type: "thinking", thinking: "first this", signature: "EqQB/x==" };
  const wrote = (...content: readonly object[]): ProviderAnswer => ({
    kind: "json",
    body: {
      type: "message",
      id: "m",
      model: "s",
      role: "assistant",
      content,
      stop_reason: "end_turn",
      usage,
    },
  });

  it("asks with the conversation and the tools, and the agent makes the calls of the answer [G14]", async () => {
    const { agent, provider, server } = await scene("compatible", [
      said({ content: null, tool_calls: [call("c1", "search", '{"text":"x"}')] }),
      done,
    ]);
    const { answer } = await agent.run("find x");
    expect(answer).to.equal("done");
    expect(server.toolCalls).to.deep.equal([{ tool: "search", arguments: { text: "x" } }]);
    expect(provider.request(0)["messages"]).to.deep.equal([
      { role: "system", content: "Be brief." },
      { role: "user", content: "find x" },
    ]);
    expect((provider.request(0)["tools"] as object[])[0]).to.deep.include({ type: "function" });
    expect((provider.request(1)["messages"] as object[]).at(-1)).to.deep.equal({
      role: "tool",
      tool_call_id: "c1",
      content: "found",
    });
  });

  it("puts a streamed answer together [G14]", async () => {
    const pieces: string[] = [];
    const first = dataLines([
      delta({ role: "assistant", content: "let me " }),
      delta({ content: "see" }),
      delta({ tool_calls: [{ index: 0, ...call("c1", "search", "") }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: '{"text":' } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: '"x"}' } }] }),
      delta({}, "tool_calls"),
    ]);
    const last = dataLines([delta({ content: "done" }), delta({}, "stop")]);
    const { agent, provider, server } = await scene("compatible", [first, last], {
      stream: true,
      onText: (piece) => pieces.push(piece),
    });
    const { answer } = await agent.run("go");
    expect(answer).to.equal("done");
    expect(server.toolCalls).to.deep.equal([{ tool: "search", arguments: { text: "x" } }]);
    expect(pieces).to.deep.equal(["let me ", "see", "done"]);
    expect((provider.request(1)["messages"] as object[])[2]).to.deep.include({
      role: "assistant",
      content: "let me see",
      tool_calls: [call("c1", "search", '{"text":"x"}')],
    });
  });

  it("gives a provider's signatures back, unchanged [G14]", async () => {
    const use = { type: "tool_use", id: "t1", name: "search", input: { text: "x" } };
    const { agent, provider, server } = await scene("anthropic", [
      wrote(thinking, { type: "text", text: "let me see" }, use),
      wrote({ type: "text", text: "done" }),
    ]);
    const { answer } = await agent.run("go");
    expect(answer).to.equal("done");
    expect(server.toolCalls).to.have.length(1);
    const turn = (provider.request(1)["messages"] as { content: object[] }[])[1];
    expect(turn?.content).to.deep.equal([thinking, { type: "text", text: "let me see" }, use]);
  });

  it("gives the signatures of a streamed answer back, unchanged [G14]", async () => {
    const message = { id: "m", type: "message", role: "assistant", model: "s", content: [], usage };
    const blocks = [
      [
        { type: "thinking", thinking: "", signature: "" },
        { type: "thinking_delta", thinking: "first this" },
        { type: "signature_delta", signature: "EqQB/x==" },
      ],
      [
        { type: "tool_use", id: "t1", name: "search", input: {} },
        { type: "input_json_delta", partial_json: '{"text":"x"}' },
      ],
    ] as const;
    const first = namedEvents([
      { type: "message_start", message },
      ...blocks.flatMap(([start, ...deltas], index) => [
        { type: "content_block_start", index, content_block: start },
        ...deltas.map((piece) => ({ type: "content_block_delta", index, delta: piece })),
        { type: "content_block_stop", index },
      ]),
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage },
      { type: "message_stop" },
    ]);
    const { agent, provider } = await scene("anthropic", [first], { stream: true });
    await rejection(agent.run("go"));
    const turn = (provider.request(1)["messages"] as { content: object[] }[])[1];
    expect(turn?.content).to.deep.equal([
      thinking,
      { type: "tool_use", id: "t1", name: "search", input: { text: "x" } },
    ]);
  });

  for (const stream of [false, true]) {
    it(`keeps long integers exact in ${stream ? "streamed" : "whole"} arguments [G14, H11]`, async () => {
      const written = call("c1", "nothing", `{"id":${LONG}}`);
      const whole = said({ content: null, tool_calls: [written] });
      const inPieces = dataLines([
        delta({ role: "assistant", tool_calls: [{ index: 0, ...written }] }),
        delta({}, "tool_calls"),
      ]);
      const last = dataLines([delta({ content: "done" }), delta({}, "stop")]);
      const { agent } = await scene("compatible", stream ? [inPieces, last] : [whole, done], { stream });
      const { trace } = await agent.run("go");
      const turn = trace.messages[1] as Extract<Message, { role: "assistant" }>;
      expect(turn.calls[0]?.arguments).to.deep.equal({ id: BigInt(LONG) });
    });

    it(`makes malformed ${stream ? "streamed" : "whole"} arguments that call's error; the run goes on [G14]`, async () => {
      const calls = [call("c1", "search", '{"text":'), call("c2", "search", '{"text":"y"}')];
      const whole = said({ content: null, tool_calls: calls });
      const inPieces = dataLines([
        delta({ role: "assistant", tool_calls: calls.map((one, index) => ({ index, ...one })) }),
        delta({}, "tool_calls"),
      ]);
      const last = dataLines([delta({ content: "done" }), delta({}, "stop")]);
      const { agent, server, provider } = await scene(
        "compatible",
        stream ? [inPieces, last] : [whole, done],
        {
          stream,
        },
      );
      const { answer, trace } = await agent.run("go");
      expect(answer).to.equal("done");
      const ends = trace.messages.flatMap((message) => (message.role === "tool" ? [message.end] : []));
      expect(ends).to.deep.equal(["invalid_arguments", "result"]);
      expect(server.toolCalls).to.have.length(1);
      const results = (provider.request(1)["messages"] as { role: string }[]).filter(
        ({ role }) => role === "tool",
      );
      expect(results).to.have.length(2);
    });
  }

  it("offers tools under names that providers take, calls them by their own, and tells of their errors [G14]", async () => {
    const first = await scene("compatible", [done]);
    await first.agent.run("go");
    const names = (first.provider.request(0)["tools"] as { function: { name: string } }[]).map(
      (offered) => offered.function.name,
    );
    const { agent, server, provider } = await scene("compatible", [
      said({ content: null, tool_calls: [call("c1", names[1] ?? "", "{}")] }),
      done,
    ]);
    const { trace } = await agent.run("go");
    expect(server.toolCalls.map(({ tool }) => tool)).to.deep.equal(["odd.name"]);
    expect(trace.messages[2]).to.deep.include({ end: "tool_error", tool: "odd.name" });
    expect((provider.request(1)["messages"] as object[]).at(-1)).to.deep.include({ content: "no" });
  });

  it("continues a conversation that another model began [G14]", async () => {
    const { agent, provider } = await scene("compatible", [done]);
    const history: Message[] = [
      { role: "user", text: "first" },
      {
        role: "assistant",
        text: "",
        calls: [{ id: "a1", name: "search", arguments: { n: BigInt(LONG) } }],
        state: null,
      },
      { role: "tool", callId: "a1", tool: "search", end: "result", content: [], structuredContent: null },
      { role: "assistant", text: "first answer", calls: [], state: null },
    ];
    await agent.run("second", { history });
    const roles = (provider.request(0)["messages"] as { role: string }[]).map(({ role }) => role);
    expect(roles).to.deep.equal(["system", "user", "assistant", "tool", "assistant", "user"]);
  });

  it("rejects with the provider's own error, streamed or not [G14]", async () => {
    for (const stream of [false, true]) {
      const answer: ProviderAnswer = { kind: "json", status: 500, body: { error: { message: "down" } } };
      const { agent } = await scene("compatible", [answer], { stream });
      expect(await rejection(agent.run("go"))).to.have.property("statusCode", 500);
    }
  });

  it("is cancelled with its run [G7]", async () => {
    const { agent } = await scene("compatible", [done], { stream: true });
    const controller = new AbortController();
    const running = rejection(agent.run("go", { signal: controller.signal }));
    controller.abort();
    expect(await running).to.equal(controller.signal.reason);
  });

  it("takes a model object of a provider, not a name [G14]", () => {
    expect(() => new AiSdkExecutor({ model: "provider/name" as never })).to.throw(TypeError, /^model: /);
  });
});
