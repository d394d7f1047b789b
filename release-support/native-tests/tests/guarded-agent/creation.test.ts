import { createServer } from "node:https";

import { expect } from "chai";

import { GuardedMcpAgent, PublicMcpEndpoint, ScriptedPromptExecutor } from "../../../guarded-agent/index.ts";
import type { GuardedMcpAgentOptions } from "../../../guarded-agent/index.ts";
import { LoopbackListener } from "../../../guild/scripted_guild.ts";
import {
  answering,
  authority,
  Bench,
  calling,
  countingListener,
  endpointOf,
  HOST,
  rejection,
  rejectionCode,
  resultsSeen,
} from "./support.ts";

describe("guarded agent: creation", () => {
  const bench = new Bench();
  afterEach(() => bench.close());

  it("discovers the tools of all pages, before any preflight [G2]", async () => {
    const guild = await bench.guild();
    const tools = Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`tool_${index}`, "x"]));
    const server = await bench.server({ tools, pageSize: 3 });
    const executor = new ScriptedPromptExecutor([answering()]);
    const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
    await agent.run("go");
    expect(executor.prompts[0]?.tools.map(({ name }) => name)).to.deep.equal(Object.keys(tools));
    expect(server.requests.filter(({ rpcMethod }) => rpcMethod === "tools/list")).to.have.length(3);
    expect(guild.requests).to.have.length(0);
  });

  it("sends no authentication header and holds no stream open [G2]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const executor = new ScriptedPromptExecutor([calling(["search", "x"]), answering()]);
    const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
    await agent.run("go");
    const headers = server.requests.flatMap(({ rawHeaders }) => rawHeaders.map((text) => text.toLowerCase()));
    expect(
      headers.filter((text) => /^(?:authorization|proxy-authorization|cookie)$/.test(text)),
    ).to.have.length(0);
    expect(server.requests.filter(({ method }) => method === "GET")).to.have.length(0);
  });

  it("works with servers that answer in plain JSON [G2]", async () => {
    const [server, guild] = [await bench.server({ jsonResponses: true }), await bench.guild()];
    const executor = new ScriptedPromptExecutor([calling(["search", "x"]), answering()]);
    const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
    await agent.run("go");
    expect(resultsSeen(executor)).to.deep.equal([["result", "Synthetic result for: x"]]);
  });

  it("refuses an endpoint with one bad address among good ones, with no connection to any [G2]", async () => {
    const [listener, guild] = [await countingListener(bench, "127.0.0.1"), await bench.guild()];
    const endpoint = endpointOf({ url: `https://127.0.0.1:${listener.port}` });
    const network = { resolve: () => ["127.0.0.1", "127.0.0.1", "192.168.0.1"] };
    expect(await rejectionCode(bench.agent(guild, { endpoints: [endpoint] }, network))).to.equal(
      "address_refused",
    );
    expect([listener.connections, guild.requests.length]).to.deep.equal([0, 0]);
  });

  it("refuses wrong certificates, and nothing of MCP is sent [G2]", async () => {
    const guild = await bench.guild();
    const servers = [
      await bench.server({}, { names: ["other.example.com"] }),
      await bench.server({}, { ips: ["127.0.0.1"] }),
      await bench.server({ tls: authority().selfSigned({ names: [HOST] }) }),
    ];
    for (const server of servers) {
      const creating = bench.agent(guild, { endpoints: [endpointOf(server)] });
      expect(await rejectionCode(creating)).to.equal("tls_failed");
      expect(server.requests).to.have.length(0);
    }
  });

  it("tells a missing name, a closed port and a server of another kind apart [G2]", async () => {
    const guild = await bench.guild();
    const gone = await bench.server();
    const endpoints = [endpointOf(gone)];
    await gone.close();
    expect(await rejectionCode(bench.agent(guild, { endpoints }, { resolve: () => [] }))).to.equal(
      "resolution_failed",
    );
    expect(await rejectionCode(bench.agent(guild, { endpoints }))).to.equal("connect_failed");
    const html = await otherServer("<!doctype html>remote words");
    const error = await rejection(bench.agent(guild, { endpoints: [html] }));
    expect(error).to.include({ code: "handshake_failed" });
    expect((error as Error).cause).to.equal(undefined);
    expect(`${String(error)} ${(error as Error).stack}`).not.to.contain("remote words");
  });

  it("refuses a list of tools without end [G2]", async () => {
    const guild = await bench.guild();
    const tools = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`tool_${index}`, "x"]));
    const server = await bench.server({ tools, pageSize: 1 });
    expect(await rejectionCode(bench.agent(guild, { endpoints: [endpointOf(server)] }))).to.equal(
      "listing_refused",
    );
    await server.waitForSocketClose();
  });

  it("closes what it opened when one of several endpoints fails, and leaves the executor alone [G2, G7]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const bad = await bench.server({}, { names: ["other.example.com"] });
    const executor = new ScriptedPromptExecutor([]);
    const options = { endpoints: [endpointOf(server), endpointOf(bad)], promptExecutor: executor };
    expect(await rejectionCode(bench.agent(guild, options))).to.equal("tls_failed");
    await Promise.all([server.waitForSocketClose(), bad.waitForSocketClose()]);
    expect(executor.closed).to.equal(0);
  });

  it("does not wait for other endpoints once one has failed [G2]", async () => {
    const [slow, guild] = [await bench.server(), await bench.guild()];
    const bad = await bench.server({}, { names: ["other.example.com"] });
    const hold = slow.holdMethod("initialize");
    const config = { maxIterations: 1, openTimeoutSeconds: 600 };
    const creating = bench.agent(guild, { endpoints: [endpointOf(slow), endpointOf(bad)], config });
    expect(await rejectionCode(creating)).to.equal("tls_failed");
    hold.release();
  });

  it("takes leave of an endpoint that was open already when another one fails [G2, G7]", async () => {
    const [good, bad, guild] = [await bench.server(), await bench.server(), await bench.guild()];
    const [listing, endless] = [good.holdMethod("tools/list"), bad.holdMethod("tools/list")];
    const endpoints = [endpointOf(good), endpointOf(bad)];
    const creating = rejectionCode(
      bench.agent(guild, { endpoints, config: { maxIterations: 1, openTimeoutSeconds: 0.5 } }),
    );
    await Promise.all([listing.arrived, endless.arrived]);
    listing.release();
    expect(await creating).to.equal("open_deadline");
    expect(good.openSessions).to.equal(0);
    endless.release();
  });

  it("ends at its own deadline [G2]", async () => {
    const [server, guild] = [await bench.server(), await bench.guild()];
    const hold = server.holdMethod("initialize");
    const config = { maxIterations: 1, openTimeoutSeconds: 0.2 };
    const creating = bench.agent(guild, { endpoints: [endpointOf(server)], config });
    expect(await rejectionCode(creating)).to.equal("open_deadline");
    await server.waitForSocketClose();
    hold.release();
  });

  it("refuses wrong options by name and repeats no value [G2, G8]", async () => {
    const good = {
      promptExecutor: new ScriptedPromptExecutor([]),
      config: { maxIterations: 1 },
      endpoints: [
        PublicMcpEndpoint.of("https://mcp.example.com/mcp", { discloseEndpointToAgentGuild: true }),
      ],
    };
    const wrong: [string, object][] = [
      ["options", { ...good, registry: {} }],
      ["options", { ...good, client: {} }],
      ["options", { ...good, fetch: () => undefined }],
      ["promptExecutor", { ...good, promptExecutor: { execute: () => undefined } }],
      ["config", { ...good, config: undefined }],
      ["config", { ...good, config: { maxIterations: 1, strategy: {} } }],
      ["config.maxIterations", { ...good, config: {} }],
      ["config.maxIterations", { ...good, config: { maxIterations: 0 } }],
      ["config.maxIterations", { ...good, config: { maxIterations: 1.5 } }],
      ["config.maxIterations", { ...good, config: { maxIterations: "3" } }],
      ["config.toolTimeoutSeconds", { ...good, config: { maxIterations: 1, toolTimeoutSeconds: Infinity } }],
      ["config.openTimeoutSeconds", { ...good, config: { maxIterations: 1, openTimeoutSeconds: -1 } }],
      ["config.maxPreflights", { ...good, config: { maxIterations: 1, maxPreflights: 65 } }],
      ["config.maxResultCharacters", { ...good, config: { maxIterations: 1, maxResultCharacters: 262_145 } }],
      [
        "config.maxDescriptionCharacters",
        { ...good, config: { maxIterations: 1, maxDescriptionCharacters: 0 } },
      ],
      ["config.maxSchemaCharacters", { ...good, config: { maxIterations: 1, maxSchemaCharacters: null } }],
      ["config.systemPrompt", { ...good, config: { maxIterations: 1, systemPrompt: 7 } }],
      ["endpoints", { ...good, endpoints: [] }],
      ["endpoints", { ...good, endpoints: ["https://s3cret.example.com/mcp"] }],
      ["endpoints", { ...good, endpoints: [{ url: "https://s3cret.example.com/mcp" }] }],
      ["policy", { ...good, policy: { allowedVerdicts: ["no_failed_checks"] } }],
      ["onObservation", { ...good, onObservation: "s3cret" }],
      ["onDecision", { ...good, onDecision: "s3cret" }],
      ["signal", { ...good, signal: {} }],
    ];
    for (const [name, options] of wrong) {
      const error = await rejection(GuardedMcpAgent.create(options as GuardedMcpAgentOptions));
      expect(error, name).to.be.instanceOf(TypeError);
      expect((error as Error).message, name).to.match(new RegExp(`^${name}: expected (?!.*s3cret)`));
    }
  });

  /** An HTTPS server that is no MCP server. */
  async function otherServer(body: string): Promise<PublicMcpEndpoint> {
    const server = createServer(authority().issue({ names: [HOST] }), (_request, response) => {
      response.writeHead(404, { "content-type": "text/html" }).end(body);
    });
    const listener = new LoopbackListener(server);
    const address = await listener.listen();
    bench.onClose(() => listener.close());
    return endpointOf({ url: `https://${address}` });
  }
});
