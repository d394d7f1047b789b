import { expect } from "chai";

import * as publicApi from "../../../guarded-agent/index.ts";
import { GuardedMcpAgent, PreflightPolicy, PublicMcpEndpoint } from "../../../guarded-agent/index.ts";
import { endpointDown, openTestBed, ScriptedPromptExecutor } from "../../../fixtures/test_bed.ts";
import type { TestBed } from "../../../fixtures/test_bed.ts";
import { answering, calling, HEALTHY_PASSES, rejection, rejectionCode, resultsSeen } from "./support.ts";

describe("guarded agent: the door for tests", () => {
  let bed: TestBed;
  before(async () => {
    bed = await openTestBed();
  });
  after(() => bed.close());

  const endpointOf = (url: string) => PublicMcpEndpoint.of(url, { discloseEndpointToAgentGuild: true });

  it("creates the real agent on a real server behind TLS, with a scripted Guild [G15]", async () => {
    const { url, server } = await bed.serve({ host: "tools.example.com", tools: { lookup: "found" } });
    const promptExecutor = new ScriptedPromptExecutor([
      calling(["lookup", "1"]),
      () => {
        bed.guild.answer(url, { kind: "json", body: endpointDown(url) });
        return calling(["lookup", "2"]);
      },
      answering(),
    ]);
    const agent = await bed.create({
      promptExecutor,
      config: { maxIterations: 3 },
      endpoints: [endpointOf(url)],
      policy: HEALTHY_PASSES,
    });
    expect(agent).to.be.instanceOf(GuardedMcpAgent);
    await agent.run("go");
    expect(resultsSeen(promptExecutor).map(([end]) => end)).to.deep.equal(["result", "denied"]);
    expect(server.toolCalls).to.have.length(1);
    expect(new URL(url).hostname).to.equal("tools.example.com");
    expect(bed.guild.requests.filter((request) => request.url === url)).to.have.length(2);
  });

  it("takes and refuses what the public factory does [G15]", async () => {
    const { url } = await bed.serve();
    const options = { promptExecutor: new ScriptedPromptExecutor([]), config: { maxIterations: 1 } };
    expect(await rejection(bed.create({ ...options, endpoints: [] }))).to.be.instanceOf(TypeError);
    const policy = { allowedVerdicts: [] } as unknown as PreflightPolicy;
    expect(
      await rejection(bed.create({ ...options, endpoints: [endpointOf(url)], policy })),
    ).to.be.instanceOf(TypeError);
    expect(() => endpointOf("https://127.0.0.1/mcp")).to.throw(TypeError);
  });

  it("checks certificates: one for another name is refused [G15]", async () => {
    const { url } = await bed.serve({ tls: bed.authority.issue({ names: ["other.example.com"] }) });
    const promptExecutor = new ScriptedPromptExecutor([]);
    const creating = bed.create({
      promptExecutor,
      config: { maxIterations: 1 },
      endpoints: [endpointOf(url)],
    });
    expect(await rejectionCode(creating)).to.equal("tls_failed");
  });

  it("closes agents, servers and Guild together, once [G15]", async () => {
    const other = await openTestBed();
    const { url, server } = await other.serve();
    const promptExecutor = new ScriptedPromptExecutor([]);
    await other.create({ promptExecutor, config: { maxIterations: 1 }, endpoints: [endpointOf(url)] });
    await Promise.all([other.close(), other[Symbol.asyncDispose]()]);
    await other.close();
    expect([promptExecutor.closed, server.openSockets, other.guild.openSockets]).to.deep.equal([1, 0, 0]);
  });

  it("is a subpath of its own; nothing of it is in the main entry [G9, G15]", async () => {
    const name = "agent-guild-preflight/guarded-agent/testing";
    expect(Object.keys((await import(name)) as object)).to.include.members([
      "openTestBed",
      "createTestAuthority",
    ]);
    expect(Object.keys(publicApi).filter((member) => /bed|loopback|test/i.test(member))).to.deep.equal([]);
  });

  it("leads to nothing but loopback: there is no way to give it a network [G9, G15]", () => {
    expect(openTestBed).to.have.length(0);
    expect(Object.keys(bed).toSorted()).to.deep.equal(["authority", "close", "create", "guild", "serve"]);
  });
});
