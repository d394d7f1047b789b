import { createServer } from "node:http";

import { expect } from "chai";
import { getGlobalDispatcher, MockAgent, setGlobalDispatcher } from "undici";

import { LoopbackListener } from "../../../guild/scripted_guild.ts";
import { startMcpServer } from "../../../fixtures/mcp_server.ts";
import type { McpServerFixture } from "../../../fixtures/mcp_server.ts";
import {
  Cleanups,
  Door,
  HandmadeServer,
  McpHost,
  result,
  status,
  stream,
  until,
} from "./mcp_connections_support.ts";
import type { Answer, Entries } from "./mcp_connections_support.ts";

const TYPES = { streamable_http: "streamable-http", sse: "sse" } as const;
const UNREACHABLE = /^the server cannot be reached \([A-Z_]+\)$/;

describe("a connection to an MCP server that fails", () => {
  const cleanups = new Cleanups();
  afterEach(() => cleanups.run());

  async function open(entries: Entries): Promise<McpHost> {
    return cleanups.add(await McpHost.open(entries));
  }

  for (const transport of ["streamable_http", "sse"] as const) {
    const type = TYPES[transport];

    async function start(): Promise<{ readonly server: McpServerFixture; readonly door: Door }> {
      const server = cleanups.add(await startMcpServer({ transport }));
      return { server, door: cleanups.add(await Door.to(server.url)) };
    }

    const initialisations = ({ requests }: McpServerFixture) =>
      requests.filter(({ rpcMethod }) => rpcMethod === "initialize").length;

    describe(`over ${transport}`, () => {
      it("opens a session anew that the server has forgotten, and sends the call to it once [H5]", async () => {
        const { server } = await start();
        const host = await open({ pub: { url: server.url, type } });
        server.forgetSessions();

        expect(await host.call("pub.echo", { text: "x" })).to.equal("x");
        expect(server.toolCalls).to.deep.equal([{ tool: "echo", arguments: { text: "x" } }]);
        expect(host.warnings).to.deep.equal([]);
        expect(host.problem("pub")).to.equal(undefined);
      });

      it("opens one session for all the calls that found the old one forgotten [H5]", async () => {
        const { server } = await start();
        const host = await open({ pub: { url: server.url, type } });
        server.forgetSessions();

        const texts = Array.from({ length: 20 }, (_, index) => String(index));
        const answers = await Promise.all(texts.map((text) => host.call("pub.echo", { text })));

        expect(answers).to.deep.equal(texts);
        expect(server.toolCalls).to.have.lengthOf(20);
        expect(initialisations(server)).to.equal(2);
      });

      it("fails the calls under way when the server dies, at once and with nothing sent again [H5]", async () => {
        const { server, door } = await start();
        const host = await open({ pub: { url: door.url, type } });
        const hold = server.holdTool("search");
        const call = host.call("pub.search");
        await hold.arrived;

        await door.close();
        expect(await call).to.match(/^ERROR: the server (?:ended the|cannot be reached)/);
        expect(server.toolCalls).to.have.lengthOf(1);
        hold.release();
      });

      it("reports a server that died, and uses it again once it is back [H5]", async () => {
        const { server, door } = await start();
        const host = await open({ pub: { url: door.url, type } });
        await server.waitForStreams(1);
        await door.close();

        expect(await host.call("pub.echo", { text: "x" })).to.match(/^ERROR: the server /);
        expect(await host.call("pub.echo", { text: "x" })).to.match(/^ERROR: the server cannot be reached/);
        expect(host.problem("pub")).to.match(UNREACHABLE);
        expect(server.toolCalls).to.deep.equal([]);

        await door.open();
        expect(await host.call("pub.echo", { text: "x" })).to.equal("x");
        expect(host.problem("pub")).to.equal(undefined);
        expect(server.toolCalls).to.have.lengthOf(1);
      });

      it("uses a server that was not there at the start, and tries it for calls to it alone [H5]", async () => {
        const { server, door } = await start();
        const other = await start();
        await door.close();
        const host = await open({
          pub: { url: door.url, type },
          other: { url: other.server.url, type },
        });
        expect(host.problem("pub")).to.match(UNREACHABLE);
        await door.open();

        expect(await host.call("other.echo", { text: "x" })).to.equal("x");
        expect(door.connections).to.equal(0);
        expect(await host.call("pub.echo", { text: "x" })).to.equal("x");
        expect(host.problem("pub")).to.equal(undefined);
        expect(initialisations(server)).to.equal(1);
      });

      it("does not keep calls to other servers waiting [H5]", async () => {
        const slow = await start();
        const quick = await start();
        const projectEntries = {
          slow: { url: slow.server.url, type },
          quick: { url: quick.server.url, type },
        };
        const host = cleanups.add(await McpHost.open({}, { project: "p", projectEntries }));
        const hold = slow.server.holdMethod("initialize");
        const waiting = host.call("slow.echo", { text: "late" });
        await hold.arrived;

        expect(await host.call("quick.echo", { text: "x" })).to.equal("x");
        hold.release();
        expect(await waiting).to.equal("late");
      });
    });
  }

  it("hears of changed lists again after the stream for that was cut, and keeps its session [H5]", async () => {
    const server = cleanups.add(await startMcpServer({ transport: "streamable_http" }));
    const door = cleanups.add(await Door.to(server.url));
    const host = await open({ pub: { url: door.url, type: "http" } });
    await server.waitForStreams(1);
    const streams = () => server.requests.filter(({ method }) => method === "GET").length;

    door.cut();
    await until(() => streams() === 2);
    await server.setTools({ fresh: "new" });
    await until(() => host.tools.includes("pub.fresh"));

    expect(host.problem("pub")).to.equal(undefined);
    expect(server.openSessions).to.equal(1);
  });

  it("is not sent on to another origin by an SSE server's endpoint event [H5, P5.7]", async () => {
    const server = cleanups.add(await HandmadeServer.start());
    const other = cleanups.add(await HandmadeServer.start());
    server.answers["GET"] = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`event: endpoint\ndata: ${other.url}\n\n`);
    };
    const host = await open({ pub: { url: server.url, type: "sse" } });

    expect(host.problem("pub")).to.equal("the server does not speak MCP as expected");
    expect(other.seen).to.deep.equal([]);
    await until(() => server.openSockets === 0);
  });

  it("finds out that an SSE stream has ended without being asked, and reports it [H5]", async () => {
    const server = cleanups.add(await startMcpServer({ transport: "sse" }));
    const door = cleanups.add(await Door.to(server.url));
    const host = await open({ pub: { url: door.url, type: "sse" } });

    door.cut();
    await until(() => host.problem("pub") !== undefined);
    expect(host.problem("pub")).to.equal("the server ended the event stream");
    await until(() => server.openSockets === 0);
    expect(await host.call("pub.echo", { text: "x" })).to.equal("x");
    expect(host.problem("pub")).to.equal(undefined);
  });

  it("gives up an SSE server that opens its stream and says nothing [H5]", async () => {
    const server = cleanups.add(await HandmadeServer.start());
    server.answers["GET"] = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    };
    const host = await open({ pub: { url: server.url, type: "sse", init_timeout: 0.3 } });

    expect(host.problem("pub")).to.equal("the server was not ready within 0.3 s");
    await until(() => server.openSockets === 0);
  });

  it("gives up an SSE server at once that ends its stream before the session [H5]", async () => {
    const server = cleanups.add(await HandmadeServer.start());
    server.answers["GET"] = stream(": nothing\n\n", "end");
    const host = await open({ pub: { url: server.url, type: "sse" } });

    expect(host.problem("pub")).to.equal("the server ended the event stream");
    expect(server.count("GET")).to.equal(1);
  });

  describe("in its answer to a call", () => {
    const event = (value: unknown) => `event: message\ndata: ${JSON.stringify(value)}\n\n`;
    const progress = event({
      jsonrpc: "2.0",
      method: "notifications/message",
      params: { level: "info", data: 1 },
    });
    const mayHaveRun = "; the tool may have run all the same";
    const ended = `the server ended the stream without an answer${mayHaveRun}`;
    const cases: Readonly<Record<string, readonly [answer: Answer, said: string, sessions?: number]>> = {
      "ends the stream": [stream("", "end"), ended],
      "ends the stream after other messages": [stream(progress, "end"), ended],
      "ends the stream in the middle of the answer": [stream('data: {"jsonrpc":"2.0","id":', "end"), ended],
      "ends the stream and offers to resume it": [stream("id: 1\nretry: 1\ndata:\n\n", "end"), ended],
      "breaks the stream off": [stream(": begun\n\n", "break"), ended, 2],
      "breaks a stream off that could be resumed": [stream("id: 1\ndata:\n\n", "break"), ended, 2],
      "breaks the connection off": [
        (response) => response.destroy(),
        `the server ended the connection without an answer${mayHaveRun}`,
        2,
      ],
      "accepts the call and does not answer it": [
        status(202),
        `the server took the request and did not answer it${mayHaveRun}`,
      ],
      "answers with a page": [
        (response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>remote words"),
        `the server took the request and did not answer it${mayHaveRun}`,
      ],
      "answers with half a JSON text": [
        (response) => response.writeHead(200, { "content-type": "application/json" }).end('{"jsonrpc"'),
        `the server does not speak MCP as expected${mayHaveRun}`,
      ],
      "answers with status 401": [status(401), "the server answered with the HTTP status 401"],
      "answers with status 429": [
        status(429, { "retry-after": "0" }),
        "the server answered with the HTTP status 429",
      ],
      "answers with status 503": [
        status(503, { "retry-after": "0" }),
        `the server answered with the HTTP status 503${mayHaveRun}`,
      ],
    };
    for (const [what, [answer, said, sessions = 1]] of Object.entries(cases)) {
      it(`fails the call at once when it ${what}, and sends nothing again [H5, H11]`, async () => {
        const server = cleanups.add(await HandmadeServer.start());
        const host = await open({ pub: { url: server.url, type: "http" } });
        server.answers["tools/call"] = answer;

        expect(await host.call("pub.search")).to.equal(`ERROR: ${said}`);
        expect(host.warnings.map(({ content }) => content)).to.deep.equal([said]);
        // Only a connection that broke off makes a session of no use.
        expect(host.problem("pub")).to.equal(sessions === 1 ? undefined : said.slice(0, said.indexOf(";")));
        expect(server.count("tools/call")).to.equal(1);

        delete server.answers["tools/call"];
        expect(await host.call("pub.search")).to.equal("found");
        expect(server.count("initialize")).to.equal(sessions);
        expect(server.count("tools/call")).to.equal(2);
        expect(host.problem("pub")).to.equal(undefined);
      });
    }

    it("opens a session anew after a status 400, which some servers have for one that they forgot [H11]", async () => {
      const server = cleanups.add(await HandmadeServer.start());
      const host = await open({ pub: { url: server.url, type: "http" } });
      server.answers["tools/call"] = status(400);
      const words = "the server answered with the HTTP status 400";

      expect(await host.call("pub.search")).to.equal(`ERROR: ${words}`);
      expect(host.problem("pub")).to.equal(words);
      delete server.answers["tools/call"];
      expect(await host.call("pub.search")).to.equal("found");
      expect(server.count("initialize")).to.equal(2);
      expect(server.count("tools/call")).to.equal(2);
    });

    it("takes an answer for good that stands before the end of a stream [H5]", async () => {
      const server = cleanups.add(await HandmadeServer.start());
      const host = await open({ pub: { url: server.url, type: "http" } });
      server.answers["tools/call"] = (response, request) => {
        const content = [{ type: "text", text: "in time" }];
        stream(event({ jsonrpc: "2.0", id: request.id, result: { content } }), "end")(response, request);
      };

      expect(await host.call("pub.search")).to.equal("in time");
      expect(await host.call("pub.search")).to.equal("in time");
      expect(host.problem("pub")).to.equal(undefined);
      expect(server.count("initialize")).to.equal(1);
    });

    it("does not come back for a stream that brought an error and could be resumed [H5]", async () => {
      const server = cleanups.add(await HandmadeServer.start());
      const host = await open({ pub: { url: server.url, type: "http" } });
      server.answers["tools/call"] = (response, request) => {
        const error = event({ jsonrpc: "2.0", id: request.id, error: { code: 1, message: "no" } });
        stream(`id: 1\nretry: 1\ndata:\n\n${error}`, "end")(response, request);
      };

      for (let times = 0; times < 20; times += 1) {
        expect(await host.call("pub.search")).to.equal("ERROR: no");
      }
      expect(server.count("initialize")).to.equal(1);
      // The one that every connection begins with.
      expect(server.count("GET")).to.equal(1);
    });

    it("sends a call no more than twice to a server that forgets every session [H5]", async () => {
      const server = cleanups.add(await HandmadeServer.start());
      const host = await open({ pub: { url: server.url, type: "http" } });
      server.answers["tools/call"] = status(404);

      expect(await host.call("pub.search")).to.equal(
        "ERROR: the server has forgotten the session; the tool was not run",
      );
      expect(server.count("tools/call")).to.equal(2);
      expect(server.count("initialize")).to.equal(2);
    });

    it("does not send a call again after a 404 outside a session [H5]", async () => {
      const server = cleanups.add(await HandmadeServer.start());
      server.answers["initialize"] = (response, { id }) => {
        const value = {
          protocolVersion: "2025-06-18",
          capabilities: { tools: {} },
          serverInfo: { name: "no sessions", version: "1" },
        };
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id, result: value }));
      };
      server.answers["tools/list"] = (response, { id }) => {
        const tools = [{ name: "search", inputSchema: { type: "object" } }];
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { tools } }));
      };
      const host = await open({ pub: { url: server.url, type: "http" } });
      server.answers["tools/call"] = status(404);

      expect(await host.call("pub.search")).to.equal("ERROR: the server answered with the HTTP status 404");
      expect(server.count("tools/call")).to.equal(1);
    });

    it("does not send a call again to a server that came back without the tool [H5]", async () => {
      const server = cleanups.add(await HandmadeServer.start());
      const host = await open({ pub: { url: server.url, type: "http" } });
      server.answers["tools/call"] = status(404);
      server.tools = ["other"];

      expect(await host.call("pub.search")).to.equal(
        "ERROR: the server does not offer the tool any more; the tool was not run",
      );
      expect(server.count("tools/call")).to.equal(1);
    });

    it("goes on with the connection after a result that is none [H5]", async () => {
      const server = cleanups.add(await HandmadeServer.start());
      const host = await open({ pub: { url: server.url, type: "http" } });
      server.answers["tools/call"] = result({ content: "remote words" });

      expect(await host.call("pub.search")).to.equal(
        "ERROR: the server's answer is not what MCP prescribes; the tool may have run all the same",
      );
      delete server.answers["tools/call"];
      expect(await host.call("pub.search")).to.equal("found");
      expect(server.count("initialize")).to.equal(1);
    });
  });

  describe("with a redirect", () => {
    const words = "the server answered with a redirect, and redirects are not followed";
    for (const code of [301, 302, 303, 307, 308]) {
      it(`of status ${code} does not follow it, within the origin or out of it [H5]`, async () => {
        const server = cleanups.add(await HandmadeServer.start());
        const other = cleanups.add(await HandmadeServer.start());
        const host = await open({ pub: { url: server.url, type: "http" } });

        for (const location of [other.url, "/mcp"]) {
          server.answers["tools/call"] = status(code, { location });
          expect(await host.call("pub.search")).to.equal(`ERROR: ${words}`);
        }
        expect(other.seen).to.deep.equal([]);
        expect(server.count("tools/call")).to.equal(2);
      });
    }

    it("does not follow it when the session is opened, whatever the transport [H5]", async () => {
      const server = cleanups.add(await HandmadeServer.start());
      const other = cleanups.add(await HandmadeServer.start());
      for (const method of ["initialize", "GET"])
        server.answers[method] = status(307, { location: other.url });
      const host = await open({
        streamable: { url: server.url, type: "http" },
        sse: { url: server.url, type: "sse" },
      });

      expect(host.problem("streamable")).to.equal(words);
      expect(host.problem("sse")).to.equal(words);
      expect(other.seen).to.deep.equal([]);
    });
  });

  describe("in what its entry says", () => {
    const cases: Readonly<Record<string, readonly [Record<string, unknown>, string]>> = {
      "a URL that is none": [{ url: "no url secret" }, "the entry's url is no http or https URL"],
      "a URL of another scheme": [{ url: "file:///secret" }, "the entry's url is no http or https URL"],
      "a URL with credentials": [
        { url: "http://user:secret@127.0.0.1:9/mcp", type: "http" },
        "the request cannot be made: look at the entry's url and headers",
      ],
      "a header that cannot be sent": [
        { url: "http://127.0.0.1:9/mcp", headers: { "X-Token": "secret\nsecret" } },
        "the entry's headers cannot be sent in a request",
      ],
      "neither a URL nor a command": [{ type: "secret" }, "the entry names neither a url nor a command"],
    };
    for (const [what, [entry, problem]] of Object.entries(cases)) {
      it(`reports ${what} without repeating it [H5]`, async () => {
        const host = await open({ pub: entry });
        expect(host.problem("pub")).to.equal(problem);
        expect(host.problem("pub")).to.not.include("secret");
      });
    }
  });

  it("uses no proxy of the process [H5]", async () => {
    const proxy = new LoopbackListener(createServer((_, response) => response.destroy()));
    cleanups.add(proxy);
    const origin = `http://${await proxy.listen()}`;
    const variables = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"];
    const before = variables.map((name) => [name, process.env[name]] as const);
    const dispatcher = getGlobalDispatcher();
    const dead = new MockAgent();
    dead.disableNetConnect();
    try {
      for (const name of variables) process.env[name] = origin;
      setGlobalDispatcher(dead);
      const [streamable, sse] = [
        cleanups.add(await startMcpServer({ transport: "streamable_http" })),
        cleanups.add(await startMcpServer({ transport: "sse" })),
      ];
      const host = await open({
        streamable: { url: streamable.url, type: "http" },
        sse: { url: sse.url, type: "sse" },
      });

      expect(await host.call("streamable.echo", { text: "x" })).to.equal("x");
      expect(await host.call("sse.echo", { text: "x" })).to.equal("x");
      expect(proxy.connections).to.equal(0);
    } finally {
      setGlobalDispatcher(dispatcher);
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
      await dead.close();
    }
  });
});
