import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { expect } from "chai";

import { GatedHost, protecting } from "../../../fixtures/gated_host.ts";
import { startMcpServer } from "../../../fixtures/mcp_server.ts";
import type { McpServerFixture } from "../../../fixtures/mcp_server.ts";
import { Cleanups, McpHost, until } from "./mcp_connections_support.ts";
import type { Entries } from "./mcp_connections_support.ts";

const NO_TOOL = "There is no tool of this name.";

describe("the MCP servers of a host", () => {
  const cleanups = new Cleanups();
  afterEach(() => cleanups.run());

  async function start(tools?: Readonly<Record<string, string>>): Promise<McpServerFixture> {
    return cleanups.add(
      await startMcpServer({ transport: "streamable_http", ...(tools === undefined ? {} : { tools }) }),
    );
  }

  async function open(entries: Entries, projectEntries?: Entries): Promise<McpHost> {
    return cleanups.add(
      await (projectEntries === undefined
        ? McpHost.open(entries)
        : McpHost.open(entries, { project: "p", projectEntries })),
    );
  }

  /** The URLs that the gate is told, by name. */
  function urlsOf({ host, agent }: McpHost): Record<string, string | null> {
    const { servers } = host.mcpConfiguration(agent);
    return Object.fromEntries(servers.map((one) => [one.name, one.kind === "remote" ? one.url : null]));
  }

  const entry = ({ url }: McpServerFixture, more: Readonly<Record<string, unknown>> = {}) => ({
    url,
    type: "http",
    ...more,
  });

  describe("dial the URL that the gate compares", () => {
    it("url, where it stands behind serverUrl [P5.7]", async () => {
      const [dialled, decoy] = [await start(), await start()];
      const host = await open({ pub: { type: "http", serverUrl: decoy.url, url: dialled.url } });

      expect(urlsOf(host)).to.deep.equal({ pub: dialled.url });
      expect(await host.call("pub.echo", { text: "x" })).to.equal("x");
      expect(decoy.requests).to.deep.equal([]);
    });

    it("serverUrl, where it stands behind url [P5.7]", async () => {
      const [dialled, decoy] = [await start(), await start()];
      const host = await open({ pub: { type: "http", url: decoy.url, serverUrl: dialled.url } });

      expect(urlsOf(host)).to.deep.equal({ pub: dialled.url });
      expect(await host.call("pub.echo", { text: "x" })).to.equal("x");
      expect(decoy.requests).to.deep.equal([]);
    });

    it("also where that is approved and the other one is not [P5.7]", async () => {
      const host = cleanups.add(
        await GatedHost.open({
          servers: {
            pub_server: { transport: "streamable_http" },
            decoy: { transport: "streamable_http" },
          },
          mcpServers: ({ urls }) => ({
            mcpServers: { pub_server: { url: urls["decoy"], type: "http", serverUrl: urls["pub_server"] } },
          }),
          config: (world) => protecting(world, "pub_server"),
        }),
      );

      expect((await host.call()).kind).to.equal("ran");
      expect(host.server().toolCalls).to.have.lengthOf(1);
      expect(host.server("decoy").requests).to.deep.equal([]);
    });

    it("in a project that replaces a global server of the same name [P5.7, H5]", async () => {
      const [global, projects] = [await start({ which: "global" }), await start({ which: "project's" })];
      const host = await open({ pub: entry(global) }, { Pub: entry(projects) });

      expect(urlsOf(host)).to.deep.equal({ pub: projects.url });
      expect(await host.call("pub.which")).to.equal("project's");
      expect(global.toolCalls).to.deep.equal([]);
    });
  });

  describe("have connections that serve one exact entry each", () => {
    it("and share one among calls and contexts [P5.7, H5]", async () => {
      const server = await start();
      const host = await open({ pub: entry(server) });
      await host.call("pub.echo");
      const { signal } = new AbortController();
      await host.host.mcp.callTool(null, { server: "pub", tool: "echo" }, {}, signal);

      expect(server.openSessions).to.equal(1);
    });

    for (const [what, more] of Object.entries({
      "another header": { headers: { "X-Key": "2" } },
      "another timeout": { tool_timeout: 7 },
      "a key that means nothing": { note: "changed" },
      "other disabled tools": { disabled_tools: ["search"] },
    })) {
      it(`and open another one for an entry with ${what} [P5.7, H5]`, async () => {
        const server = await start();
        const host = await open({ pub: entry(server, { headers: { "X-Key": "1" } }) });
        await host.call("pub.echo");
        const changed = entry(server, { headers: { "X-Key": "1" }, ...more });
        host.root.writeMcpServers({ mcpServers: { pub: changed } });

        expect(await host.call("pub.echo", { text: "x" })).to.equal("x");
        await until(() => server.openSessions === 1);
        const sessions = server.requests.filter(({ rpcMethod }) => rpcMethod === "initialize");
        expect(sessions).to.have.lengthOf(2);
      });
    }

    it("and open none for a change elsewhere in the configuration [P5.7, H5]", async () => {
      const [server, other] = [await start(), await start()];
      const host = await open({ pub: entry(server) });
      await host.call("pub.echo");
      host.root.writeMcpServers({ mcpServers: { other: entry(other), pub: entry(server) } });

      expect(await host.call("other.echo", { text: "x" })).to.equal("x");
      expect(await host.call("pub.echo", { text: "x" })).to.equal("x");
      expect(server.requests.filter(({ rpcMethod }) => rpcMethod === "initialize")).to.have.lengthOf(1);
    });

    it("and reach the new server once the URL of a name has changed [P5.7, H5]", async () => {
      const [before, after] = [await start({ which: "before" }), await start({ which: "after" })];
      const host = await open({ pub: entry(before) });
      expect(await host.call("pub.which")).to.equal("before");
      host.root.writeMcpServers({ mcpServers: { pub: entry(after) } });

      expect(await host.call("pub.which")).to.equal("after");
      expect(before.toolCalls).to.have.lengthOf(1);
      await before.waitForSocketClose();
    });

    it("and keep two of one URL apart, each with its own headers [P5.7]", async () => {
      const server = await start();
      const host = await open({
        one: entry(server, { headers: { "X-Key": "one" } }),
        two: entry(server, { headers: { "X-Key": "two" } }),
      });
      await host.call("two.echo");

      const call = server.requests.find(({ rpcMethod }) => rpcMethod === "tools/call");
      expect(call?.rawHeaders).to.include("two");
      expect(call?.rawHeaders).to.not.include("one");
      expect(server.openSessions).to.equal(2);
    });
  });

  describe("of one name", () => {
    it("are looked up by the first and called by the first that has the tool [H5]", async () => {
      const [first, second] = [await start({ a: "first" }), await start({ a: "second", b: "second" })];
      const host = await open({ "Pub Server": entry(first), "pub-server": entry(second) });

      expect(await host.call("pub_server.a")).to.equal("first");
      expect(await host.call("pub_server.b")).to.equal(NO_TOOL);
      const { signal } = new AbortController();
      const called = await host.host.mcp.callTool(null, { server: "pub_server", tool: "b" }, {}, signal);
      expect(called).to.deep.equal({ text: "second", isError: false });
    });
  });

  describe("are reported to people", () => {
    it("when they are disabled, unnamed or cannot be reached [H5]", async () => {
      const server = await start();
      await server.close();
      const root = await open({ off: entry(server, { disabled: true }), gone: entry(server) });

      expect(root.host.bootReport().mcpProblems).to.deep.equal([
        { name: "off", problem: "Disabled in config" },
        { name: "gone", problem: "the server cannot be reached (ECONNREFUSED)" },
      ]);
    });

    it("and say nothing when all is well [H5]", async () => {
      const host = await open({ pub: entry(await start()) });
      expect(host.host.mcp.problems(null)).to.deep.equal([]);
      expect(host.host.mcp.logs(null)).to.deep.equal([]);
    });

    it("when the settings are no JSON object: then there are none [H5]", async () => {
      const host = await open({ pub: entry(await start()) });
      host.root.write("usr/settings.json", "[]");

      expect(host.host.mcp.problems(null)).to.deep.equal([
        {
          name: "(all)",
          problem: "usr/settings.json is not a JSON object, so no MCP server is configured",
        },
      ]);
      expect(await host.call("pub.echo")).to.equal(NO_TOOL);
    });

    it("when a project's own file cannot be read: then it has none, also no global ones [H5]", async () => {
      const host = await open({ pub: entry(await start()) }, {});
      const file = "usr/projects/p/.a0proj/mcp_servers.json";
      host.root.delete(file);
      mkdirSync(join(host.root.path, file));

      expect(host.problem("(all)")).to.equal(`${file} cannot be read, so no MCP server is configured`);
      expect(await host.call("pub.echo")).to.equal(NO_TOOL);
    });
  });

  it("are none where nothing is configured [H5]", async () => {
    const host = await open({});
    host.root.delete("usr/settings.json");
    expect(host.host.mcp.problems(null)).to.deep.equal([]);
    expect(host.tools).to.deep.equal([]);
  });

  it("are read from a text in the settings, as the framework keeps them [H5]", async () => {
    const server = await start();
    const host = await open({});
    host.root.writeMcpServers(`{"mcpServers": {"pub": {url: '${server.url}', "type": "http",}}}`);
    expect(await host.call("pub.echo", { text: "x" })).to.equal("x");
  });
});
