import { expect } from "chai";

import { GatedHost } from "../../../fixtures/gated_host.ts";
import { startMcpServer } from "../../../fixtures/mcp_server.ts";
import type { McpServerFixture, McpServerOptions } from "../../../fixtures/mcp_server.ts";
import { createTestAuthority } from "../../../fixtures/test_certificates.ts";
import { Cleanups, HandmadeServer, McpHost, until } from "./mcp_connections_support.ts";
import type { Entries } from "./mcp_connections_support.ts";

const NO_TOOL = "There is no tool of this name.";
const TYPES = { streamable_http: "streamable-http", sse: "sse" } as const;

describe("a connection to an MCP server", () => {
  const cleanups = new Cleanups();
  afterEach(() => cleanups.run());

  async function start(options: McpServerOptions): Promise<McpServerFixture> {
    return cleanups.add(await startMcpServer(options));
  }

  async function open(entries: Entries): Promise<McpHost> {
    return cleanups.add(await McpHost.open(entries));
  }

  for (const transport of ["streamable_http", "sse"] as const) {
    const type = TYPES[transport];

    describe(`over ${transport}`, () => {
      it("has the tools of all pages of the listing [H5]", async () => {
        const names = ["a", "b", "c", "d", "e", "f", "g"];
        const tools = Object.fromEntries(names.map((name) => [name, `from ${name}`]));
        const server = await start({ transport, tools, pageSize: 3 });
        const host = await open({ pub: { url: server.url, type } });

        expect(host.tools).to.deep.equal(names.map((name) => `pub.${name}`));
        expect(await host.call("pub.g")).to.equal("from g");
      });

      it("takes over a changed list once it is complete, and keeps the old one until then [H5]", async () => {
        const server = await start({ transport, tools: { a: "1", b: "2", c: "3" }, pageSize: 1 });
        const host = await open({ pub: { url: server.url, type } });
        await server.waitForStreams(1);
        const hold = server.holdMethod("tools/list");

        await server.setTools({ c: "3", d: "4" });
        await hold.arrived;
        expect(host.tools).to.deep.equal(["pub.a", "pub.b", "pub.c"]);
        hold.release();
        await until(() => host.tools.includes("pub.d"));

        expect(host.tools).to.deep.equal(["pub.c", "pub.d"]);
        expect(await host.call("pub.d")).to.equal("4");
        expect(await host.call("pub.a")).to.equal(NO_TOOL);
      });

      it("denies a protected call whose tool vanished while the Guild was asked [H5, P5.6]", async () => {
        const host = cleanups.add(await GatedHost.open({ servers: { pub_server: { transport } } }));
        await host.server().waitForStreams(1);
        const hold = host.guild.hold("*");
        const call = host.call();
        await hold.arrived;

        await host.server().setTools({ echo: "still here" });
        await until(() => !host.host.mcp.toolNames(null).includes("pub_server.search"));
        hold.release();

        expect((await call).kind).to.equal("denied");
        expect(host.agent.getData("agent_guild_preflight.last_observation")).to.have.property(
          "reason",
          "binding_changed",
        );
        expect(host.server().toolCalls).to.deep.equal([]);
      });

      it("hides disabled tools from the list, the lookup, the gate and calls [H5]", async () => {
        const server = await start({ transport });
        const host = await open({ pub: { url: server.url, type, disabled_tools: ["search"] } });
        const listings = () => server.requests.filter(({ rpcMethod }) => rpcMethod === "tools/list").length;
        const before = listings();

        expect(host.tools).to.deep.equal(["pub.echo"]);
        expect(await host.call("pub.search")).to.equal(NO_TOOL);
        const [view] = host.host.mcp.view(null).servers;
        expect(view?.kind === "remote" && view.exposes("search")).to.equal(false);
        const parts = { server: "pub", tool: "search" };
        const { signal } = host.agent;
        const failure = await host.host.mcp
          .callTool(null, parts, {}, signal)
          .catch((error: unknown) => error);
        expect(failure).to.have.property("message", "no configured server offers the tool any more");
        expect(server.toolCalls).to.deep.equal([]);
        expect(listings()).to.equal(before);
      });

      it("gives up a server that does not initialise, after its init_timeout [H5]", async () => {
        const [slow, quick] = [await start({ transport }), await start({ transport })];
        const hold = slow.holdMethod("initialize");
        const begin = performance.now();
        const host = await open({
          slow: { url: slow.url, type, init_timeout: 0.3 },
          quick: { url: quick.url, type },
        });
        const ms = performance.now() - begin;

        expect(ms).to.be.within(250, 8000);
        expect(host.problem("slow")).to.equal("the server was not ready within 0.3 s");
        expect(host.problem("quick")).to.equal(undefined);
        expect(await host.call("quick.echo", { text: "x" })).to.equal("x");
        hold.release();
      });

      it("counts the listing in the init_timeout [H5]", async () => {
        const server = await start({ transport });
        const hold = server.holdMethod("tools/list");
        const host = await open({ pub: { url: server.url, type, init_timeout: 0.3 } });

        expect(host.problem("pub")).to.equal("the server was not ready within 0.3 s");
        hold.release();
      });

      it("gives up a call after its tool_timeout, says so, and goes on with the same session [H5]", async () => {
        const server = await start({ transport });
        const host = await open({ pub: { url: server.url, type, tool_timeout: 0.5 } });
        const hold = server.holdTool("search");

        expect(await host.call("pub.search")).to.equal(
          "ERROR: the tool did not answer within 0.5 s; the tool may have run all the same",
        );
        expect(await host.call("pub.echo", { text: "x" })).to.equal("x");
        expect(host.problem("pub")).to.equal(undefined);
        expect(server.openSessions).to.equal(1);
        await until(() => server.requests.some(({ rpcMethod }) => rpcMethod === "notifications/cancelled"));
        hold.release();
      });

      it("tells the server of the end of the session and leaves no socket open [H5]", async () => {
        const server = await start({ transport });
        const host = await open({ pub: { url: server.url, type } });
        await host.call("pub.echo");

        await host.host.close();
        await server.waitForSocketClose();
        expect(server.openSessions).to.equal(0);
      });

      it("closes under calls, which fail then [H5]", async () => {
        const server = await start({ transport });
        const host = await open({ pub: { url: server.url, type } });
        const hold = server.holdTool("search");
        const parts = { server: "pub", tool: "search" };
        const { signal } = new AbortController();
        const call = host.host.mcp.callTool(null, parts, {}, signal).catch((error: unknown) => error);
        await hold.arrived;

        await host.host.close();
        expect(await call).to.be.an("error");
        await server.waitForSocketClose();
        hold.release();
      });

      it("finishes a call under way when the entry changes, and closes then [H5]", async () => {
        const server = await start({ transport });
        const host = await open({ pub: { url: server.url, type } });
        const hold = server.holdTool("search");
        const call = host.call("pub.search", { text: "old" });
        await hold.arrived;

        const headers = { "X-Other": "1" };
        host.root.writeMcpServers({ mcpServers: { pub: { url: server.url, type, headers } } });
        expect(await host.call("pub.echo", { text: "new" })).to.equal("new");
        expect(server.openSessions).to.equal(2);
        hold.release();

        expect(await call).to.equal("Synthetic result for: old");
        await until(() => server.openSessions === 1);
      });

      it("closes at the end of the host also what finishes for an entry that is gone [H5]", async () => {
        const server = await start({ transport });
        const host = await open({ pub: { url: server.url, type } });
        const hold = server.holdTool("search");
        const parts = { server: "pub", tool: "search" };
        const { signal } = new AbortController();
        const call = host.host.mcp.callTool(null, parts, {}, signal).catch((error: unknown) => error);
        await hold.arrived;
        host.root.writeMcpServers({ mcpServers: {} });
        expect(await host.call("pub.echo")).to.equal(NO_TOOL);

        await host.host.close();
        expect(await call).to.be.an("error");
        await server.waitForSocketClose();
        hold.release();
      });

      it("checks certificates, unless the entry says verify: false [H5]", async () => {
        const server = await start({ transport, tls: createTestAuthority().selfSigned() });
        const host = await open({
          strict: { url: server.url, type },
          lax: { url: server.url, type, verify: false },
        });

        expect(host.problem("strict")).to.match(/^the server cannot be reached \([A-Z_]+\)$/);
        expect(await host.call("lax.echo", { text: "x" })).to.equal("x");
      });

      it("says what the tool says of its failure, and keeps it out of log headings [H5]", async () => {
        const tools = {
          result: () => ({ isError: true, content: [{ type: "text" as const, text: "remote words" }] }),
          thrown: () => {
            throw new Error("remote words");
          },
        };
        const server = await start({ transport, tools });
        const host = await open({ pub: { url: server.url, type } });

        expect(await host.call("pub.result")).to.equal("ERROR: remote words");
        expect(await host.call("pub.thrown")).to.equal("ERROR: remote words");
        expect(host.warnings).to.deep.equal([
          {
            type: "warning",
            heading: "MCP call of pub.result failed",
            content: "the tool says that it failed",
          },
          {
            type: "warning",
            heading: "MCP call of pub.thrown failed",
            content: "the server answered with the JSON-RPC error -32603",
          },
        ]);
        expect(host.problem("pub")).to.equal(undefined);
        expect(server.openSessions).to.equal(1);
      });

      it("leaves a cancelled call at once and tells the server nothing of the reason [H5, P11.1]", async () => {
        const server = await start({ transport });
        const host = await open({ pub: { url: server.url, type } });
        const hold = server.holdTool("search");
        const call = host.call("pub.search").catch((error: unknown) => error);
        await hold.arrived;
        const reason = new Error("a secret of the host");

        host.agent.context.cancel(reason);
        expect(await call).to.equal(reason);
        await until(() => server.requests.some(({ rpcMethod }) => rpcMethod === "notifications/cancelled"));
        hold.release();
        expect(await host.call("pub.echo", { text: "x" })).to.equal("x");
      });
    });
  }

  it("leaves a server that is being opened at once when the task is cancelled [H5, P11.1]", async () => {
    const server = await start({ transport: "streamable_http" });
    const host = cleanups.add(
      await McpHost.open(
        {},
        { project: "p", projectEntries: { pub: { url: server.url, type: "streamable-http" } } },
      ),
    );
    const hold = server.holdMethod("initialize");
    const call = host.call("pub.echo").catch((error: unknown) => error);
    await hold.arrived;
    const reason = new Error("enough");

    host.agent.context.cancel(reason);
    expect(await call).to.equal(reason);
    hold.release();
    expect(await host.call("pub.echo", { text: "x" })).to.equal("x");
  });

  it("takes back the sockets of calls that are given up [H5, P11.1]", async () => {
    const server = cleanups.add(await HandmadeServer.start());
    let underWay = 0;
    server.answers["tools/call"] = (response) => {
      underWay += 1;
      response.once("close", () => {
        underWay -= 1;
      });
    };
    const host = await open({ pub: { url: server.url, type: "http" } });
    const calls = Promise.allSettled(Array.from({ length: 20 }, () => host.call("pub.search")));
    await until(() => underWay === 20);

    host.agent.context.cancel();
    await calls;
    await until(() => underWay === 0 && server.count("notifications/cancelled") === 20);
  });

  for (const connections of [1, 20]) {
    it(`sends nothing over ${connections} that the server has just closed as idle [H5]`, async () => {
      const server = cleanups.add(await HandmadeServer.start());
      const host = await open({ pub: { url: server.url, type: "http" } });
      const callAll = () => Promise.all(Array.from({ length: connections }, () => host.call("pub.search")));
      await callAll();
      await until(() => server.count("GET") === 1);

      // In one turn, as when the process was busy while the server closed them.
      server.closeIdleConnections();
      expect(new Set(await callAll())).to.deep.equal(new Set(["found"]));
      expect(server.count("initialize")).to.equal(1);
    });
  }

  describe("asked for a tool that is not in its list", () => {
    it("lists again, and calls the tool that has come up [H5]", async () => {
      const server = cleanups.add(await HandmadeServer.start());
      const host = await open({ pub: { url: server.url, type: "http" } });
      server.tools = ["search", "fresh"];

      expect(await host.call("pub.fresh")).to.equal("found");
      expect(server.count("tools/list")).to.equal(2);
      expect(await host.call("pub.fresh")).to.equal("found");
      expect(server.count("tools/list")).to.equal(2);
    });

    it("lists again once for each such call, and says that there is none [H5]", async () => {
      const server = cleanups.add(await HandmadeServer.start());
      const host = await open({ pub: { url: server.url, type: "http" } });

      expect(await host.call("pub.none")).to.equal(NO_TOOL);
      expect(server.count("tools/list")).to.equal(2);
      expect(server.count("tools/call")).to.equal(0);
    });

    it("keeps the old list where listing again fails, and reports it [H5]", async () => {
      const server = cleanups.add(await HandmadeServer.start());
      const host = await open({ pub: { url: server.url, type: "http" } });
      server.answers["tools/list"] = (response, { id }) => {
        const error = { code: -32603, message: "remote words" };
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
      };

      expect(await host.call("pub.none")).to.equal(NO_TOOL);
      expect(host.problem("pub")).to.equal(
        "its list of tools may be incomplete, since it could not be listed again: the server answered with the JSON-RPC error -32603",
      );
      expect(await host.call("pub.search")).to.equal("found");
    });

    it("is not asked by the gate: resolving a binding opens and sends nothing [H5, P5.4]", async () => {
      const [known, unknown] = [
        cleanups.add(await HandmadeServer.start()),
        cleanups.add(await HandmadeServer.start()),
      ];
      const host = cleanups.add(
        await McpHost.open(
          { known: { url: known.url, type: "http" } },
          { project: "p", projectEntries: { unknown: { url: unknown.url, type: "http" } } },
        ),
      );
      await until(() => known.count("GET") === 1);
      const before = [...known.seen];

      const views = host.host.mcpConfiguration(host.agent).servers;
      const exposed = views.map((view) => view.kind === "remote" && view.exposes("none"));
      host.root.writeMcpServers({ mcpServers: {} });
      expect(host.host.mcpConfiguration(host.agent).servers).to.have.lengthOf(1);

      expect(exposed).to.deep.equal([false, false]);
      expect(known.seen).to.deep.equal(before);
      expect(unknown.seen).to.deep.equal([]);
    });
  });

  describe("whose list of tools has no end", () => {
    const cases = {
      "comes back to a cursor": ["it comes back to a page that it has given", () => "again"],
      "has new cursors for ever": [
        "it has more than 1000 pages",
        (cursor: string) => String(Number(cursor) + 1),
      ],
    } as const;
    for (const [what, [problem, next]] of Object.entries(cases)) {
      it(`is refused where it ${what} [H5]`, async () => {
        const server = cleanups.add(await HandmadeServer.start());
        server.answers["tools/list"] = (response, { id, params }) => {
          const nextCursor = next(params?.cursor ?? "0");
          response.writeHead(200, { "content-type": "application/json" });
          response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { tools: [], nextCursor } }));
        };
        const host = await open({ pub: { url: server.url, type: "http", init_timeout: 60 } });

        expect(host.problem("pub")).to.equal(`the server's list of tools cannot be used: ${problem}`);
      });
    }

    it("is refused where it has too many tools [H5]", async () => {
      const server = cleanups.add(await HandmadeServer.start());
      server.tools = Array.from({ length: 10_001 }, (_, index) => `tool_${index}`);
      const host = await open({ pub: { url: server.url, type: "http" } });

      expect(host.problem("pub")).to.equal(
        "the server's list of tools cannot be used: it has more than 10000 tools",
      );
      expect(host.tools).to.deep.equal([]);
    });

    it("ends with an empty cursor [H5]", async () => {
      const server = cleanups.add(await HandmadeServer.start());
      server.answers["tools/list"] = (response, { id }) => {
        const tools = [{ name: "search", inputSchema: { type: "object" } }];
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { tools, nextCursor: "" } }));
      };
      const host = await open({ pub: { url: server.url, type: "http" } });

      expect(host.tools).to.deep.equal(["pub.search"]);
    });
  });

  it("is opened once for all who need it at once [H5]", async () => {
    const server = cleanups.add(await HandmadeServer.start());
    const host = cleanups.add(
      await McpHost.open({}, { project: "p", projectEntries: { pub: { url: server.url, type: "http" } } }),
    );
    expect(server.seen).to.deep.equal([]);

    await Promise.all(Array.from({ length: 20 }, () => host.call("pub.search")));
    expect(server.count("initialize")).to.equal(1);
    expect(server.count("tools/call")).to.equal(20);
  });

  it("is not opened for a call to another server [H5]", async () => {
    const [one, other] = [
      cleanups.add(await HandmadeServer.start()),
      cleanups.add(await HandmadeServer.start()),
    ];
    const projectEntries = {
      one: { url: one.url, type: "http" },
      other: { url: other.url, type: "http" },
    };
    const host = cleanups.add(await McpHost.open({}, { project: "p", projectEntries }));

    expect(await host.call("one.search")).to.equal("found");
    expect(other.seen).to.deep.equal([]);
  });
});
