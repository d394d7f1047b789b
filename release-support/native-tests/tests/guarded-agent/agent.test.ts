import { expect } from "chai";

import { PreflightPolicy, ScriptedPromptExecutor } from "../../../guarded-agent/index.ts";
import type { Message } from "../../../guarded-agent/index.ts";
import { endpointDown, handshakeUnknown, healthy, unsignedCard } from "../../../guild/preflight_bodies.ts";
import type { GuildAnswer } from "../../../guild/scripted_guild.ts";
import {
  answering,
  Bench,
  calling,
  endpointOf,
  firstText,
  HEALTHY_PASSES,
  rejection,
  rejectionCode,
  resultsSeen,
  urlOf,
} from "./support.ts";

const json = (body: object): GuildAnswer => ({ kind: "json", body: body as Record<string, unknown> });

describe("guarded agent: loop", () => {
  const bench = new Bench();
  afterEach(() => bench.close());

  it("lets an allowed call through to the server, once, and its result back to the model [G3, G4]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const executor = new ScriptedPromptExecutor([calling(["search", "x"]), answering("found")]);
    const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
    expect((await agent.run("find x")).answer).to.equal("found");
    expect(server.toolCalls).to.deep.equal([{ tool: "search", arguments: { text: "x" } }]);
    expect(resultsSeen(executor)).to.deep.equal([["result", "Synthetic result for: x"]]);
    expect(guild.requests.map(({ url }) => url)).to.deep.equal([urlOf(server)]);
  });

  it("asks the guard after the model's turn and before the call [G3, G5]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const hold = guild.hold("*");
    const executor = new ScriptedPromptExecutor([calling(["search", "x"]), answering()]);
    const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
    const running = agent.run("go");
    await hold.arrived;
    expect(server.toolCalls).to.have.length(0);
    hold.release();
    await running;
    expect(server.toolCalls).to.have.length(1);
  });

  it("turns a denied call into a fixed result that the model can react to [G4, G6]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    guild.answer("*", json(endpointDown(urlOf(server))));
    const executor = new ScriptedPromptExecutor([calling(["search", "x"]), answering("without it")]);
    const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
    expect((await agent.run("go")).answer).to.equal("without it");
    expect(server.toolCalls).to.have.length(0);
    expect(resultsSeen(executor)).to.deep.equal([
      [
        "denied",
        [
          "The tool call was blocked before it was sent: the Guild's verdict on the tool's endpoint is do_not_delegate, which no policy overrides.",
          "Reason: do_not_delegate",
          "Verdict: do_not_delegate",
          "Checks: endpoint_reachable failed, protocol_handshake unknown, agent_card_resolves failed, agent_card_signed unknown, payment_claim_holds unknown, independent_evidence unknown",
          "Use another tool, go on without it, or tell the operator what is missing.",
        ].join("\n"),
      ],
    ]);
  });

  it("names the checks that are not acceptable, and a failed preflight by its code [G4, G5]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const executor = new ScriptedPromptExecutor([
      calling(["search", "1"]),
      () => {
        guild.answer("*", { kind: "json", status: 503 });
        return calling(["search", "2"]);
      },
      answering(),
    ]);
    const agent = await bench.agent(guild, {
      endpoints: [endpointOf(server)],
      promptExecutor: executor,
      policy: PreflightPolicy.of(),
    });
    await agent.run("go");
    const [first, second] = resultsSeen(executor).map(([, text]) => String(text));
    expect(first).to.contain("Reason: unknown_not_allowed");
    expect(first).to.contain(
      "Not acceptable: agent_card_resolves, agent_card_signed, payment_claim_holds, independent_evidence",
    );
    expect(second).to.contain("Reason: evidence_unavailable");
    expect(second).to.contain("Error: status (the Guild answered with another status than 200)");
    expect(server.toolCalls).to.have.length(0);
  });

  it("denies under the default policy what is healthy but not all proven [G4]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const executor = new ScriptedPromptExecutor([calling(["search", "x"]), answering()]);
    const agent = await bench.agent(guild, {
      endpoints: [endpointOf(server)],
      promptExecutor: executor,
      policy: undefined,
    });
    await agent.run("go");
    expect(resultsSeen(executor)[0]?.[0]).to.equal("denied");
    expect(server.toolCalls).to.have.length(0);
  });

  it("lets a policy leave an unknown handshake open and tolerate an unsigned card [G4]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const executor = new ScriptedPromptExecutor([
      calling(["search", "1"]),
      calling(["search", "2"]),
      answering(),
    ]);
    guild.answer("*", json(handshakeUnknown(urlOf(server))));
    const agent = await bench.agent(guild, {
      endpoints: [endpointOf(server)],
      promptExecutor: executor,
      policy: PreflightPolicy.of({
        requiredProven: ["endpoint_reachable"],
        allowedVerdicts: ["no_failed_checks", "delegate_with_caution"],
        allowedUnknowns: [
          "protocol_handshake",
          "agent_card_resolves",
          "agent_card_signed",
          "payment_claim_holds",
          "independent_evidence",
        ],
        allowedFailedChecks: ["agent_card_signed"],
      }),
      onObservation: () => guild.answer("*", json(unsignedCard(urlOf(server)))),
    });
    await agent.run("go");
    expect(resultsSeen(executor).map(([end]) => end)).to.deep.equal(["result", "result"]);
  });

  it("judges each call by evidence of its own: a change between two calls counts [G5]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const target = urlOf(server);
    const bodies = [healthy(target), endpointDown(target), healthy(target)];
    const executor = new ScriptedPromptExecutor([
      ...bodies.map((body, index) => () => {
        guild.answer("*", json(body));
        return calling(["search", String(index)]);
      }),
      answering(),
    ]);
    const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
    await agent.run("go");
    expect(resultsSeen(executor).map(([end]) => end)).to.deep.equal(["result", "denied", "result"]);
    expect(server.toolCalls.map((call) => call.arguments["text"])).to.deep.equal(["0", "2"]);
    expect(guild.requests).to.have.length(3);
  });

  it("lets an earlier denial in a turn neither stop nor allow the other calls of the turn [G4, G7]", async () => {
    const [bad, good, guild] = [
      await bench.server({ tools: { bad: "no" } }),
      await bench.server({ tools: { good: "yes" } }),
      await bench.guild(),
    ];
    guild.answer(urlOf(bad), json(endpointDown(urlOf(bad))));
    const executor = new ScriptedPromptExecutor([
      calling(["bad", "1"], ["good", "2"], ["bad", "3"]),
      answering(),
    ]);
    const endpoints = [endpointOf(bad), endpointOf(good)];
    const agent = await bench.agent(guild, { endpoints, promptExecutor: executor });
    await agent.run("go");
    expect(resultsSeen(executor).map(([end]) => end)).to.deep.equal(["denied", "result", "denied"]);
    expect([bad.toolCalls.length, good.toolCalls.length]).to.deep.equal([0, 1]);
    expect(guild.requests).to.have.length(3);
  });

  it("tells the model what it has: system prompt, task, turns and results, in order [G3]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const executor = new ScriptedPromptExecutor([calling(["search", "x"]), answering()]);
    const agent = await bench.agent(guild, {
      endpoints: [endpointOf(server)],
      promptExecutor: executor,
      config: { maxIterations: 5, systemPrompt: "Be brief." },
    });
    await agent.run("find x");
    const roles = executor.prompts.map(({ messages }) => messages.map(({ role }) => role));
    expect(roles).to.deep.equal([
      ["system", "user"],
      ["system", "user", "assistant", "tool"],
    ]);
    expect(executor.prompts[0]?.tools.map(({ name }) => name)).to.deep.equal(["search", "echo"]);
  });

  it("ends at the iteration limit, without making calls whose results nobody would read [G3]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const turns = Array.from({ length: 3 }, () => calling(["search", "x"]));
    const agent = await bench.agent(guild, {
      endpoints: [endpointOf(server)],
      promptExecutor: new ScriptedPromptExecutor(turns),
      config: { maxIterations: 3 },
    });
    expect(await rejectionCode(agent.run("go"))).to.equal("iteration_limit");
    expect(server.toolCalls).to.have.length(2);
  });

  it("answers a call of a tool that does not exist in fixed words, and asks nobody about it [G3]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const names = ["nothing", "Search", "search ", "__proto__", "constructor"];
    const executor = new ScriptedPromptExecutor([
      calling(...names.map((name) => [name, ""] as const)),
      answering(),
    ]);
    const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
    await agent.run("go");
    expect(resultsSeen(executor).map(([end]) => end)).to.deep.equal(names.map(() => "unknown_tool"));
    expect([guild.requests.length, server.toolCalls.length]).to.deep.equal([0, 0]);
  });

  it("tells a tool's own error from a call that failed on the way [G3]", async () => {
    const guild = await bench.guild();
    const server = await bench.server({
      tools: {
        says_no: () => ({ isError: true, content: [{ type: "text", text: "no such record" }] }),
        breaks: () => {
          throw new Error("remote words of a broken tool");
        },
        structured: () => ({ content: [], structuredContent: { n: 1 } }),
      },
    });
    const executor = new ScriptedPromptExecutor([
      calling(["says_no", ""], ["breaks", ""], ["structured", ""]),
      answering(),
    ]);
    const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
    await agent.run("go");
    const [saysNo, breaks, structured] = executor.prompts.at(-1)?.messages.slice(-3) ?? [];
    expect(saysNo).to.deep.include({
      end: "tool_error",
      content: [{ type: "text", text: "no such record" }],
    });
    expect(breaks).to.include({ end: "failed" });
    expect(JSON.stringify(breaks)).not.to.contain("remote words");
    expect(structured).to.deep.include({ end: "result", structuredContent: { n: 1 } });
  });

  it("gives a tool call up after its time, and the run goes on [G3]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const hold = server.holdTool("search");
    const executor = new ScriptedPromptExecutor([calling(["search", "x"]), answering("too slow")]);
    const agent = await bench.agent(guild, {
      endpoints: [endpointOf(server)],
      promptExecutor: executor,
      config: { maxIterations: 5, toolTimeoutSeconds: 0.2 },
    });
    expect((await agent.run("go")).answer).to.equal("too slow");
    expect(resultsSeen(executor)[0]?.[0]).to.equal("failed");
    hold.release();
  });

  it("does not make more calls in one turn than a fixed number [G3]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const many = Array.from({ length: 66 }, (_, index) => ["search", String(index)] as const);
    const executor = new ScriptedPromptExecutor([calling(...many), answering()]);
    const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
    await agent.run("go");
    const ends = resultsSeen(executor).map(([end]) => end);
    expect(ends.filter((end) => end === "result")).to.have.length(64);
    expect(ends.slice(64)).to.deep.equal(["not_run", "not_run"]);
    expect([guild.requests.length, server.toolCalls.length]).to.deep.equal([64, 64]);
  });

  it("rejects with the executor's own error, and goes on with the next task [G3]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const failure = new Error("the provider is down");
    const executor = new ScriptedPromptExecutor([
      () => {
        throw failure;
      },
      answering("up again"),
    ]);
    const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
    expect(await rejection(agent.run("one"))).to.equal(failure);
    expect((await agent.run("two")).answer).to.equal("up again");
  });

  it("refuses a model turn that is none, and calls nothing [G3]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const call = { id: "1", name: "search", arguments: {} };
    const turns: unknown[] = [
      undefined,
      {},
      { kind: "answer" },
      { kind: "tool_calls", calls: [] },
      { kind: "tool_calls", calls: [{ ...call, id: 1 }] },
      { kind: "tool_calls", calls: [call], state: () => undefined },
      { kind: "other", calls: [call] },
    ];
    const executor = new ScriptedPromptExecutor(turns.map((turn) => () => turn as never));
    const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
    for (const turn of turns) {
      expect(await rejection(agent.run("go")), typeof turn).to.be.instanceOf(TypeError);
    }
    expect(guild.requests).to.have.length(0);
  });

  describe("tools of one name", () => {
    it("are the first endpoint's: the guard asks about it and only it is called [G3]", async () => {
      const guild = await bench.guild();
      const [first, second] = [
        await bench.server({ tools: { same: "first" } }),
        await bench.server({ tools: { same: "second", other: "other" } }),
      ];
      // The evidence about the second would do; that about the first does not.
      guild.answer(urlOf(first), json(endpointDown(urlOf(first))));
      const executor = new ScriptedPromptExecutor([calling(["same", ""], ["other", ""]), answering()]);
      const agent = await bench.agent(guild, {
        endpoints: [endpointOf(first), endpointOf(second)],
        promptExecutor: executor,
      });
      await agent.run("go");
      expect(resultsSeen(executor).map(([end]) => end)).to.deep.equal(["denied", "result"]);
      expect(guild.requests.map(({ url }) => url)).to.have.members([urlOf(first), urlOf(second)]);
      expect(first.toolCalls).to.have.length(0);
      expect(second.toolCalls.map(({ tool }) => tool)).to.deep.equal(["other"]);
      expect(executor.prompts[0]?.tools.map(({ name }) => name)).to.deep.equal(["same", "other"]);
    });

    it("follow the order of the endpoints, not who answers first [G3]", async () => {
      const guild = await bench.guild();
      const [slow, fast] = [
        await bench.server({ tools: { same: "slow" } }),
        await bench.server({ tools: { same: "fast" } }),
      ];
      const hold = slow.holdMethod("tools/list");
      const executor = new ScriptedPromptExecutor([calling(["same", ""]), answering()]);
      const creating = bench.agent(guild, {
        endpoints: [endpointOf(slow), endpointOf(fast)],
        promptExecutor: executor,
      });
      await hold.arrived;
      hold.release();
      await (await creating).run("go");
      expect(resultsSeen(executor)).to.deep.equal([["result", "slow"]]);
      expect(fast.toolCalls).to.have.length(0);
    });
  });

  it("gives the model a denial as plain text in an MCP content item [G3]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    guild.answer("*", { kind: "html" });
    const executor = new ScriptedPromptExecutor([calling(["search", "x"]), answering()]);
    const agent = await bench.agent(guild, {
      endpoints: [endpointOf(server)],
      promptExecutor: executor,
      policy: HEALTHY_PASSES,
    });
    await agent.run("go");
    const message = executor.prompts.at(-1)?.messages.at(-1) as Extract<Message, { role: "tool" }>;
    expect(message).to.deep.include({ role: "tool", callId: "0", tool: "search", structuredContent: null });
    expect(message.content).to.have.length(1);
    expect(firstText(message)).to.be.a("string");
  });
});
