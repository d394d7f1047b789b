import { expect } from "chai";

import { PublicMcpEndpoint, ScriptedPromptExecutor } from "../../../guarded-agent/index.ts";
import type { GuardedAgentConfig, ToolDescription } from "../../../guarded-agent/index.ts";
import type { Message } from "../../../guarded-agent/index.ts";
import { boundDescription, LARGEST_BOUNDS } from "../../../guarded-agent/prompt_bounds.ts";
import type { ToolHandler } from "../../../fixtures/mcp_server.ts";
import { answering, Bench, calling, endpointOf, urlOf } from "./support.ts";

describe("guarded agent: what reaches the prompt", () => {
  const bench = new Bench();
  afterEach(() => bench.close());

  /** What the model gets of one tool's result. */
  async function resultOf(
    tool: ToolHandler | string,
    config: Partial<GuardedAgentConfig> = {},
  ): Promise<Extract<Message, { role: "tool" }>> {
    const [server, guild] = [await bench.server({ tools: { tool } }), await bench.guild()];
    const promptExecutor = new ScriptedPromptExecutor([calling(["tool", ""]), answering()]);
    const agent = await bench.agent(guild, {
      endpoints: [endpointOf(server)],
      promptExecutor,
      config: { maxIterations: 2, ...config },
    });
    await agent.run("go");
    return promptExecutor.prompts[1]?.messages.at(-1) as Extract<Message, { role: "tool" }>;
  }

  const note = (limit: number) => ({
    type: "text",
    text: `[The rest of this result was left out: it is longer than ${limit} characters.]`,
  });

  it("of a result is at most the bound, which is 262144 characters, and says when something is missing [G3]", async () => {
    const fits = "x".repeat(LARGEST_BOUNDS.maxResultCharacters);
    expect((await resultOf(fits)).content).to.deep.equal([{ type: "text", text: fits }]);
    expect((await resultOf(`${fits}y`)).content).to.deep.equal([{ type: "text", text: fits }, note(262_144)]);
  });

  it("of a result can be less, over all of its items and its structured content [G3]", async () => {
    const limit = { maxResultCharacters: 10 };
    const image = { type: "image", data: "AAAA", mimeType: "image/png" } as const;
    const text = (value: string) => ({ type: "text", text: value }) as const;
    const cut = await resultOf(() => ({ content: [text("12345678"), text("90abc"), text("d")] }), limit);
    expect(cut.content).to.deep.equal([text("12345678"), text("90"), note(10)]);
    const left = await resultOf(() => ({ content: [text("1"), image, text("2")] }), limit);
    expect(left.content).to.deep.equal([text("1"), note(10)]);
    const structured = await resultOf(
      () => ({ content: [text("1")], structuredContent: { n: "12345678" } }),
      limit,
    );
    expect([structured.content, structured.structuredContent]).to.deep.equal([[text("1"), note(10)], null]);
    const whole = await resultOf(() => ({ content: [text("1")], structuredContent: { n: 1 } }), limit);
    expect([whole.content, whole.structuredContent]).to.deep.equal([[text("1")], { n: 1 }]);
  });

  it("of a text never ends in half a character [G3]", async () => {
    const { content } = await resultOf("12345678\u{1F600}", { maxResultCharacters: 9 });
    expect(content[0]).to.deep.equal({ type: "text", text: "12345678" });
  });

  it("of a description is cut, and a tool whose name or schema is too long is not offered [G3]", () => {
    const tool: ToolDescription = { name: "tool", description: "12345", inputSchema: { type: "object" } };
    const bounds = { ...LARGEST_BOUNDS, maxDescriptionCharacters: 4, maxSchemaCharacters: 17 };
    expect(boundDescription(tool, bounds)).to.deep.equal({ ...tool, description: "1234" });
    expect(boundDescription({ ...tool, inputSchema: { type: "object", x: 1 } }, bounds)).to.equal(null);
    expect(boundDescription({ ...tool, name: "x".repeat(128) }, bounds)).not.to.equal(null);
    expect(boundDescription({ ...tool, name: "x".repeat(129) }, bounds)).to.equal(null);
    expect(boundDescription({ ...tool, name: "" }, bounds)).to.equal(null);
  });

  it("of descriptions can be less [G3]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const agent = await bench.agent(guild, {
      endpoints: [endpointOf(server)],
      config: { maxIterations: 1, maxDescriptionCharacters: 9 },
    });
    expect(agent.tools().map(({ description }) => description)).to.deep.equal(["Synthetic", "Synthetic"]);
  });

  it("are the tools that the endpoint's own list allows, and no others [G3]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const endpoint = PublicMcpEndpoint.of(urlOf(server), {
      discloseEndpointToAgentGuild: true,
      tools: ["echo", "no such tool"],
    });
    const promptExecutor = new ScriptedPromptExecutor([calling(["search", "x"]), answering()]);
    const agent = await bench.agent(guild, { endpoints: [endpoint], promptExecutor });
    expect(agent.tools().map((tool) => [tool.name, tool.endpoint])).to.deep.equal([["echo", urlOf(server)]]);
    const { trace } = await agent.run("go");
    expect(promptExecutor.prompts[0]?.tools.map(({ name }) => name)).to.deep.equal(["echo"]);
    expect(trace.messages[2]).to.deep.include({ end: "unknown_tool" });
    expect([server.toolCalls.length, guild.requests.length]).to.deep.equal([0, 0]);
  });

  it("is another endpoint's tool where the first one with that name is not allowed [G3]", async () => {
    const [first, second, guild] = [await bench.server(), await bench.server(), await bench.guild()];
    const consent = { discloseEndpointToAgentGuild: true } as const;
    const endpoints = [
      PublicMcpEndpoint.of(urlOf(first), { ...consent, tools: ["echo"] }),
      PublicMcpEndpoint.of(urlOf(second), consent),
    ];
    const agent = await bench.agent(guild, { endpoints });
    expect(agent.tools().map((tool) => [tool.name, tool.endpoint])).to.deep.equal([
      ["echo", urlOf(first)],
      ["search", urlOf(second)],
    ]);
  });

  it("refuses a list of tools that is none [G1]", () => {
    for (const tools of [[], "echo", [7], null, {}]) {
      const options = { discloseEndpointToAgentGuild: true, tools } as never;
      expect(() => PublicMcpEndpoint.of("https://mcp.example.com/mcp", options)).to.throw(
        TypeError,
        /^tools: /,
      );
    }
  });

  it("waits in line when more preflights are due at once than may be [G5]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const hold = guild.hold("*");
    const calls = ["1", "2", "3", "4", "5"].map((text) => ["echo", text] as const);
    const agent = await bench.agent(guild, {
      endpoints: [endpointOf(server)],
      promptExecutor: new ScriptedPromptExecutor([calling(...calls), answering()]),
      config: { maxIterations: 2, maxPreflights: 2 },
    });
    const running = agent.run("go");
    await guild.waitForRequests(2);
    // Whatever else were due would have arrived with these.
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    expect([guild.requests.length, guild.openSockets]).to.deep.equal([2, 2]);
    hold.release();
    await running;
    expect([guild.requests.length, server.toolCalls.length]).to.deep.equal([5, 5]);
  });
});
