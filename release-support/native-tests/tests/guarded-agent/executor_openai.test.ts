import { expect } from "chai";
import OpenAI from "openai";

import { OpenAIChatExecutor } from "../../../guarded-agent/executors/openai.ts";
import type { OpenAIChatExecutorOptions } from "../../../guarded-agent/executors/openai.ts";
import { traceOf } from "../../../guarded-agent/index.ts";
import type { GuardedMcpAgent, Message } from "../../../guarded-agent/index.ts";
import { endpointDown } from "../../../guild/preflight_bodies.ts";
import type { McpServerFixture } from "../../../fixtures/mcp_server.ts";
import { dataLines, providerEndpoint } from "./provider_endpoint.ts";
import type { ProviderAnswer, ProviderEndpoint } from "./provider_endpoint.ts";
import { Bench, endpointOf, rejection } from "./support.ts";

/** What no double holds. */
const LONG = "725653563933458433";

interface Scene {
  readonly agent: GuardedMcpAgent;
  readonly provider: ProviderEndpoint;
  readonly server: McpServerFixture;
}

describe("guarded agent: the executor for chat completions", () => {
  const bench = new Bench();
  afterEach(() => bench.close());

  async function scene(
    answers: readonly ProviderAnswer[],
    options: Partial<OpenAIChatExecutorOptions> = {},
    isDenied = false,
  ): Promise<Scene> {
    const tools = { search: "found", "odd.name/with space": "odd" };
    const [server, guild] = [await bench.server({ tools }), await bench.guild()];
    if (isDenied) guild.answer("*", { kind: "json", body: (target) => endpointDown(target) });
    const provider = await providerEndpoint(bench, answers);
    const client = new OpenAI({ apiKey: "synthetic", baseURL: `${provider.origin}/v1`, maxRetries: 0 });
    const promptExecutor = new OpenAIChatExecutor({ client, model: "synthetic", ...options });
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
    body: { choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", ...message } }] },
  });
  const done = said({ content: "done" });

  it("asks with the conversation and the tools, and the agent makes the calls of the answer [G14]", async () => {
    const { agent, provider, server } = await scene(
      [said({ content: null, tool_calls: [call("c1", "search", '{"text":"x"}')] }), done],
      { parameters: { temperature: 0.5 } },
    );
    const { answer } = await agent.run("find x");
    expect(answer).to.equal("done");
    expect(server.toolCalls).to.deep.equal([{ tool: "search", arguments: { text: "x" } }]);
    expect(provider.paths).to.deep.equal(["/v1/chat/completions", "/v1/chat/completions"]);
    expect(provider.request(0)).to.deep.include({
      model: "synthetic",
      temperature: 0.5,
      stream: false,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "find x" },
      ],
    });
    expect((provider.request(0)["tools"] as object[])[0]).to.deep.equal({
      type: "function",
      function: {
        name: "search",
        description: "Synthetic tool search",
        parameters: { type: "object", properties: { text: { type: "string" } } },
      },
    });
    expect((provider.request(1)["messages"] as object[]).at(-1)).to.deep.equal({
      role: "tool",
      tool_call_id: "c1",
      content: "found",
    });
  });

  it("tells the model of a denial in the agent's own words [G14, G6]", async () => {
    const turns = [said({ content: null, tool_calls: [call("c1", "search", "{}")] }), done];
    const { agent, provider, server } = await scene(turns, {}, true);
    await agent.run("go");
    const { content } = (provider.request(1)["messages"] as { content: string }[]).at(-1) ?? { content: "" };
    expect(content).to.match(/^The tool call was blocked before it was sent: /);
    expect(server.toolCalls).to.have.length(0);
  });

  it("gives the provider its own turn back, unchanged, with members that nobody here knows [G14]", async () => {
    const message = {
      content: "thinking about it",
      reasoning_content: "first this, then that",
      reasoning_details: [{ type: "reasoning.encrypted", data: "EqQB/x==", format: "other-v1", index: 0 }],
      tool_calls: [
        {
          ...call("c1", "search", '{ "text" : "x" }'),
          extra_content: { google: { thought_signature: "AbC==" } },
        },
      ],
    };
    const { agent, provider } = await scene([said(message), done]);
    await agent.run("go");
    expect((provider.request(1)["messages"] as object[])[2]).to.deep.equal({ role: "assistant", ...message });
  });

  it("puts a streamed answer together, and gives it back as if it had come whole [G14]", async () => {
    const delta = (piece: object, finish: string | null = null) => ({
      choices: [{ index: 0, delta: piece, finish_reason: finish }],
    });
    const signed = { extra_content: { google: { thought_signature: "AbC==" } } };
    const streamed = dataLines([
      delta({ role: "assistant", content: "", reasoning_content: "first " }),
      delta({ reasoning_content: "this", content: null }),
      delta({ content: "let me " }),
      delta({ content: "see" }),
      delta({ reasoning_details: [{ index: 0, type: "reasoning.text", format: "other-v1", text: "a" }] }),
      delta({
        reasoning_details: [
          { index: 0, type: "reasoning.text", format: "other-v1", text: "b", signature: "S==" },
        ],
      }),
      delta({
        tool_calls: [
          { index: 0, id: "c1", type: "function", function: { name: "search", arguments: "" }, ...signed },
        ],
      }),
      delta({ tool_calls: [{ index: 1, id: "c2", function: { name: "search", arguments: '{"te' } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: '{"text":"x"}' } }] }),
      delta({ tool_calls: [{ index: 1, id: "c2", function: { arguments: 'xt":"y"}' } }] }),
      delta({}, "tool_calls"),
      { choices: [], usage: {} },
    ]);
    const pieces: string[] = [];
    const { agent, provider, server } = await scene(
      [streamed, dataLines([delta({ content: "done" }, "stop")])],
      {
        stream: true,
        onText: (piece) => pieces.push(piece),
      },
    );
    const { answer } = await agent.run("go");
    expect(answer).to.equal("done");
    expect(server.toolCalls.map(({ arguments: given }) => given["text"])).to.have.members(["x", "y"]);
    expect(pieces).to.deep.equal(["let me ", "see", "done"]);
    expect((provider.request(1)["messages"] as object[])[2]).to.deep.equal({
      role: "assistant",
      content: "let me see",
      reasoning_content: "first this",
      reasoning_details: [
        { index: 0, type: "reasoning.text", format: "other-v1", text: "ab", signature: "S==" },
      ],
      tool_calls: [
        { ...call("c1", "search", '{"text":"x"}'), ...signed },
        call("c2", "search", '{"text":"y"}'),
      ],
    });
  });

  it("keeps long integers exact in arguments and in what goes back [G14, H11]", async () => {
    const text = `{"id":${LONG}}`;
    const { agent, provider } = await scene([
      said({ content: null, tool_calls: [call("c1", "nothing", text)] }),
      done,
    ]);
    const { trace } = await agent.run("go");
    expect(argumentsIn(trace.messages)).to.deep.equal([{ id: BigInt(LONG) }]);
    expect(provider.bodies[1]).to.contain(JSON.stringify(text));
  });

  it("makes malformed arguments that call's error; the run goes on [G14]", async () => {
    const texts = ['{"text":', "[1]", '"x"', "", '{"text":"y"}'];
    const calls = texts.map((text, index) => call(`c${index}`, "search", text));
    const { agent, provider, server } = await scene([said({ content: null, tool_calls: calls }), done]);
    const { trace } = await agent.run("go");
    expect(endsIn(trace.messages)).to.deep.equal([
      "invalid_arguments",
      "invalid_arguments",
      "invalid_arguments",
      "result",
      "result",
    ]);
    expect(server.toolCalls).to.have.length(2);
    const sentBack = (provider.request(1)["messages"] as { tool_calls?: object }[])[2];
    expect(sentBack?.tool_calls).to.deep.equal(calls);
  });

  it("offers tools under names that providers take, and calls them by their own [G14]", async () => {
    const { agent, provider } = await scene([done]);
    await agent.run("go");
    const names = (provider.request(0)["tools"] as { function: { name: string } }[]).map(
      (tool) => tool.function.name,
    );
    expect(names[1]).to.match(/^odd_name_with_space_[0-9a-f]{12}$/);
    const again = await scene([
      said({ content: null, tool_calls: [call("c1", names[1] ?? "", "{}")] }),
      done,
    ]);
    await again.agent.run("go");
    expect(again.server.toolCalls.map(({ tool }) => tool)).to.deep.equal(["odd.name/with space"]);
  });

  it("continues a conversation that another model began [G14]", async () => {
    const { agent, provider } = await scene([done]);
    const history: Message[] = [
      { role: "user", text: "first" },
      {
        role: "assistant",
        text: "",
        calls: [{ id: "a1", name: "odd.name/with space", arguments: { n: BigInt(LONG) } }],
        state: { kind: "something_else", turn: [] },
      },
      {
        role: "tool",
        callId: "a1",
        tool: "odd.name/with space",
        end: "result",
        content: [
          { type: "image", data: "AAAA", mimeType: "image/png" },
          { type: "text", text: "seen" },
        ],
        structuredContent: null,
      },
      { role: "assistant", text: "first answer", calls: [], state: null },
    ];
    await agent.run("second", { history });
    const [, , turn, result, answer] = provider.request(0)["messages"] as Record<string, unknown>[];
    expect(turn?.["tool_calls"]).to.have.length(1);
    expect(JSON.stringify(turn)).to.contain(`{\\"n\\":${LONG}}`);
    expect(result?.["content"]).to.equal("[image: not shown to this model]\nseen");
    expect(answer).to.deep.equal({ role: "assistant", content: "first answer" });
  });

  it("rejects a stream that broke off, and an answer without a message; calls nothing [G14]", async () => {
    const cut = dataLines(
      [{ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...call("c1", "search", "{}") }] } }] }],
      false,
    );
    const first = await scene([cut], { stream: true });
    const error = await rejection(first.agent.run("go"));
    expect(error).to.have.property("message", "the provider's answer broke off before it was complete");
    expect(traceOf(error)?.messages).to.have.length(1);
    const second = await scene([{ kind: "json", body: { choices: [] } }]);
    expect(await rejection(second.agent.run("go"))).to.have.property(
      "message",
      "the provider's answer holds no message",
    );
    expect([first.server.toolCalls.length, second.server.toolCalls.length]).to.deep.equal([0, 0]);
  });

  it("rejects with the provider's own error, and is cancelled with its run [G14, G7]", async () => {
    const { agent } = await scene([{ kind: "json", status: 429, body: { error: { message: "slow down" } } }]);
    expect(await rejection(agent.run("go"))).to.be.instanceOf(OpenAI.RateLimitError);
    const controller = new AbortController();
    controller.abort();
    expect(await rejection(agent.run("go", { signal: controller.signal }))).to.equal(
      controller.signal.reason,
    );
  });
});

/** How the calls of a conversation ended. */
function endsIn(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => (message.role === "tool" ? [message.end] : []));
}

/** What the calls of a conversation were made with. */
function argumentsIn(messages: readonly Message[]): unknown[] {
  return messages.flatMap((message) =>
    message.role === "assistant" ? message.calls.map((one) => one.arguments) : [],
  );
}
