import Anthropic from "@anthropic-ai/sdk";
import { expect } from "chai";

import { AnthropicExecutor } from "../../../guarded-agent/executors/anthropic.ts";
import type { AnthropicExecutorOptions } from "../../../guarded-agent/executors/anthropic.ts";
import { traceOf } from "../../../guarded-agent/index.ts";
import type { GuardedMcpAgent, Message } from "../../../guarded-agent/index.ts";
import type { McpServerFixture, Tools } from "../../../fixtures/mcp_server.ts";
import { namedEvents, providerEndpoint } from "./provider_endpoint.ts";
import type { ProviderAnswer, ProviderEndpoint } from "./provider_endpoint.ts";
import { Bench, endpointOf, rejection } from "./support.ts";

/** What no double holds. */
const LONG = "725653563933458433";

interface Scene {
  readonly agent: GuardedMcpAgent;
  readonly provider: ProviderEndpoint;
  readonly server: McpServerFixture;
}

describe("guarded agent: the executor for Anthropic messages", () => {
  const bench = new Bench();
  afterEach(() => bench.close());

  async function scene(
    answers: readonly ProviderAnswer[],
    options: Partial<AnthropicExecutorOptions> = {},
    tools: Tools = { search: "found" },
  ): Promise<Scene> {
    const [server, guild] = [await bench.server({ tools }), await bench.guild()];
    const provider = await providerEndpoint(bench, answers);
    const client = new Anthropic({ apiKey: "synthetic", baseURL: provider.origin, maxRetries: 0 });
    const parameters = { max_tokens: 1000 };
    const promptExecutor = new AnthropicExecutor({ client, model: "synthetic", parameters, ...options });
    const config = { maxIterations: 4, systemPrompt: "Be brief." };
    const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor, config });
    return { agent, provider, server };
  }

  const thinking = { type: "thinking", thinking: "first this, then that", signature: "EqQB/x==" };
  const redacted = { type: "redacted_thinking", data: "EmwKAhgBEgy3va3pzix" };
  const use = (id: string, input: unknown) => ({ type: "tool_use", id, name: "search", input });
  const said = (...content: readonly object[]): ProviderAnswer => ({
    kind: "json",
    body: { type: "message", role: "assistant", content, stop_reason: "end_turn" },
  });
  const done = said({ type: "text", text: "done" });

  /** The events of a message whose blocks come in the given pieces. */
  function streamed(
    ...blocks: readonly (readonly [start: object, ...deltas: readonly object[]])[]
  ): ProviderAnswer {
    const message = { id: "m", type: "message", role: "assistant", content: [], usage: {} };
    return namedEvents([
      { type: "message_start", message },
      { type: "ping" },
      ...blocks.flatMap(([start, ...deltas], index) => [
        { type: "content_block_start", index, content_block: start },
        ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
        { type: "content_block_stop", index },
      ]),
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: {} },
      { type: "message_stop" },
    ]);
  }

  it("asks with the conversation and the tools, and the agent makes the calls of the answer [G14]", async () => {
    const { agent, provider, server } = await scene([
      said(use("t1", { text: "x" }), use("t2", { text: "y" })),
      done,
    ]);
    const { answer } = await agent.run("find x");
    expect(answer).to.equal("done");
    expect(server.toolCalls.map(({ arguments: given }) => given["text"])).to.have.members(["x", "y"]);
    expect(provider.paths[0]).to.equal("/v1/messages");
    expect(provider.request(0)).to.deep.include({
      model: "synthetic",
      max_tokens: 1000,
      system: "Be brief.",
      messages: [{ role: "user", content: "find x" }],
      tools: [
        {
          name: "search",
          description: "Synthetic tool search",
          input_schema: { type: "object", properties: { text: { type: "string" } } },
        },
      ],
    });
    expect((provider.request(1)["messages"] as object[]).at(-1)).to.deep.equal({
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "t1", is_error: false, content: "found" },
        { type: "tool_result", tool_use_id: "t2", is_error: false, content: "found" },
      ],
    });
  });

  it("gives thinking with its signatures back, unchanged [G14]", async () => {
    const turn = [thinking, redacted, { type: "text", text: "let me see" }, use("t1", { text: "x" })];
    const { agent, provider } = await scene([said(...turn), done]);
    await agent.run("go");
    expect((provider.request(1)["messages"] as object[])[1]).to.deep.equal({
      role: "assistant",
      content: turn,
    });
  });

  it("puts a streamed answer together, and gives it back as if it had come whole [G14]", async () => {
    const pieces: string[] = [];
    const first = streamed(
      [
        { type: "thinking", thinking: "", signature: "" },
        { type: "thinking_delta", thinking: "first this, " },
        { type: "thinking_delta", thinking: "then that" },
        { type: "signature_delta", signature: "EqQB/x==" },
      ],
      [redacted],
      [
        { type: "text", text: "" },
        { type: "text_delta", text: "let me " },
        { type: "text_delta", text: "see" },
      ],
      [
        use("t1", {}),
        { type: "input_json_delta", partial_json: "" },
        { type: "input_json_delta", partial_json: '{"te' },
        { type: "input_json_delta", partial_json: 'xt":"x"}' },
      ],
      [use("t2", {})],
    );
    const last = streamed([
      { type: "text", text: "" },
      { type: "text_delta", text: "done" },
    ]);
    const { agent, provider, server } = await scene([first, last], {
      stream: true,
      onText: (piece) => pieces.push(piece),
    });
    const { answer } = await agent.run("go");
    expect(answer).to.equal("done");
    expect(server.toolCalls.map((call) => call.arguments)).to.deep.include.members([{ text: "x" }, {}]);
    expect(pieces).to.deep.equal(["let me ", "see", "done"]);
    expect((provider.request(1)["messages"] as object[])[1]).to.deep.equal({
      role: "assistant",
      content: [
        thinking,
        redacted,
        { type: "text", text: "let me see" },
        use("t1", { text: "x" }),
        use("t2", {}),
      ],
    });
  });

  for (const stream of [false, true]) {
    it(`keeps long integers exact in ${stream ? "streamed" : "whole"} arguments and in what goes back [G14, H11]`, async () => {
      const whole: ProviderAnswer = {
        kind: "json",
        body: `{"content":[{"type":"tool_use","id":"t1","name":"nothing","input":{"id":${LONG}}}]}`,
      };
      const inPieces = streamed([
        { ...use("t1", {}), name: "nothing" },
        { type: "input_json_delta", partial_json: `{"id":${LONG.slice(0, 9)}` },
        { type: "input_json_delta", partial_json: `${LONG.slice(9)}}` },
      ]);
      const last = streamed([{ type: "text", text: "done" }]);
      const { agent, provider } = await scene(stream ? [inPieces, last] : [whole, done], { stream });
      const { trace } = await agent.run("go");
      const turn = trace.messages[1] as Extract<Message, { role: "assistant" }>;
      expect(turn.calls[0]?.arguments).to.deep.equal({ id: BigInt(LONG) });
      expect(provider.bodies[1]).to.contain(`"input":{"id":${LONG}}`);
      expect(provider.request(1)["stream"]).to.equal(stream);
    });
  }

  it("makes malformed arguments that call's error, and tells the model what it wrote [G14]", async () => {
    const first = streamed(
      [use("t1", {}), { type: "input_json_delta", partial_json: '{"text":' }],
      [use("t2", {}), { type: "input_json_delta", partial_json: '{"text":"y"}' }],
    );
    const last = streamed([{ type: "text", text: "done" }]);
    const { agent, provider, server } = await scene([first, last], { stream: true });
    const { answer } = await agent.run("go");
    expect(answer).to.equal("done");
    expect(server.toolCalls).to.have.length(1);
    const [, turn, results] = provider.request(1)["messages"] as { content: Record<string, unknown>[] }[];
    expect(turn?.content[0]?.["input"]).to.deep.equal({ INVALID_JSON: '{"text":' });
    expect(results?.content.map((block) => block["is_error"])).to.deep.equal([true, false]);
  });

  it("shows the model images in results, and leaves out what it cannot take [G14]", async () => {
    const { agent, provider } = await scene(
      [said(use("t1", {})), done],
      {},
      {
        search: () => ({
          content: [
            { type: "text", text: "see" },
            { type: "image", data: "AAAA", mimeType: "image/png" },
            { type: "audio", data: "AAAA", mimeType: "audio/wav" },
            { type: "image", data: "AAAA", mimeType: "image/svg+xml" },
          ],
        }),
      },
    );
    await agent.run("go");
    const [, , results] = provider.request(1)["messages"] as { content: Record<string, unknown>[] }[];
    expect(results?.content[0]?.["content"]).to.deep.equal([
      { type: "text", text: "see" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
      { type: "text", text: "[audio: not shown to this model]" },
      { type: "text", text: "[image: not shown to this model]" },
    ]);
  });

  it("continues a conversation that another model began [G14]", async () => {
    const { agent, provider } = await scene([done]);
    const history: Message[] = [
      { role: "user", text: "first" },
      {
        role: "assistant",
        text: "",
        calls: [{ id: "a1", name: "search", arguments: { n: BigInt(LONG) } }],
        state: null,
      },
      {
        role: "tool",
        callId: "a1",
        tool: "search",
        end: "result",
        content: [],
        structuredContent: { n: BigInt(LONG) },
      },
      { role: "assistant", text: "", calls: [], state: null },
    ];
    await agent.run("second", { history });
    expect(provider.bodies[0]).to.contain(`"input":{"n":${LONG}}`);
    const messages = provider.request(0)["messages"] as { role: string; content: unknown }[];
    expect(messages.map(({ role }) => role)).to.deep.equal(["user", "assistant", "user", "user"]);
    expect(messages[2]?.content).to.deep.equal([
      { type: "tool_result", tool_use_id: "a1", is_error: false, content: `{"n":${LONG}}` },
    ]);
  });

  it("rejects a stream that broke off, and an answer without content; calls nothing [G14]", async () => {
    const whole = streamed([use("t1", {})]);
    const cut: ProviderAnswer = {
      kind: "events",
      lines: whole.kind === "events" ? whole.lines.slice(0, -1) : [],
    };
    const first = await scene([cut], { stream: true });
    const error = await rejection(first.agent.run("go"));
    expect(error).to.have.property("message", "the provider's answer broke off before it was complete");
    expect(traceOf(error)?.messages).to.have.length(1);
    const second = await scene([{ kind: "json", body: {} }]);
    expect(await rejection(second.agent.run("go"))).to.have.property(
      "message",
      "the provider's answer holds no content",
    );
    expect([first.server.toolCalls.length, second.server.toolCalls.length]).to.deep.equal([0, 0]);
  });

  it("rejects with the provider's own error [G14]", async () => {
    for (const stream of [false, true]) {
      const answer: ProviderAnswer = {
        kind: "json",
        status: 529,
        body: { error: { message: "overloaded" } },
      };
      const { agent } = await scene([answer], { stream });
      expect(await rejection(agent.run("go"))).to.be.instanceOf(Anthropic.APIError);
    }
  });
});
