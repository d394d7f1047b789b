import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { get } from "node:http";
import type { IncomingMessage } from "node:http";
import { get as httpsGet } from "node:https";
import { fileURLToPath } from "node:url";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect } from "chai";

import { delayedTool, startMcpServer } from "../../../fixtures/mcp_server.ts";
import type { McpServerFixture, McpServerOptions } from "../../../fixtures/mcp_server.ts";
import type { CertificateOptions, TestIdentity } from "../../../fixtures/test_certificates.ts";
import { createTestAuthority } from "../../../fixtures/test_certificates.ts";

const STDIO_SERVER = fileURLToPath(new URL("../../../fixtures/stdio_server.js", import.meta.url));

describe("the MCP server fixture", () => {
  const cleanups: (() => Promise<void>)[] = [];

  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  async function start(options: McpServerOptions): Promise<McpServerFixture> {
    const server = await startMcpServer(options);
    cleanups.push(() => server.close());
    return server;
  }

  async function connect(server: McpServerFixture): Promise<Client> {
    const client = new Client({ name: "synthetic-client", version: "1.0.0" });
    const url = new URL(server.url);
    cleanups.push(() => client.close());
    await client.connect(
      url.pathname.startsWith("/sse") ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url),
    );
    return client;
  }

  for (const transport of ["streamable_http", "sse"] as const) {
    describe(`over ${transport}`, () => {
      it("serves search and echo by default [H5]", async () => {
        const server = await start({ transport });
        const client = await connect(server);

        const { tools } = await client.listTools();
        const found = await client.callTool({ name: "search", arguments: { text: "tea" } });
        const echoed = await client.callTool({ name: "echo", arguments: { text: "tea" } });

        expect(tools.map(({ name }) => name)).to.deep.equal(["search", "echo"]);
        expect(found.content).to.deep.equal([{ type: "text", text: "Synthetic result for: tea" }]);
        expect(echoed.content).to.deep.equal([{ type: "text", text: "tea" }]);
      });

      it("records tool calls with their arguments, unknown tools included", async () => {
        const server = await start({ transport, tools: { fixed: "always this" } });
        const client = await connect(server);

        await client.callTool({ name: "fixed", arguments: { n: 1 } });
        const unknown = await client.callTool({ name: "constructor" }).catch((error: unknown) => error);

        expect(unknown).to.be.an("error");
        expect(server.toolCalls).to.deep.equal([
          { tool: "fixed", arguments: { n: 1 } },
          { tool: "constructor", arguments: {} },
        ]);
      });

      it("records each HTTP request with its headers and JSON-RPC method", async () => {
        const server = await start({ transport });
        const client = await connect(server);

        await client.callTool({ name: "echo" });

        const call = server.requests.find(({ rpcMethod }) => rpcMethod === "tools/call");
        expect(call?.method).to.equal("POST");
        expect(call?.path).to.match(/^\/(?:mcp$|sse\?sessionId=)/);
        expect(call?.rawHeaders).to.include("application/json");
        expect(server.requests.map(({ rpcMethod }) => rpcMethod)).to.include.members([
          "initialize",
          "notifications/initialized",
        ]);
      });

      it("keeps any number of sessions apart", async () => {
        const server = await start({ transport });
        const clients = await Promise.all([connect(server), connect(server), connect(server)]);

        const answers = await Promise.all(
          clients.map((client, index) =>
            client.callTool({ name: "echo", arguments: { text: String(index) } }),
          ),
        );

        expect(server.openSessions).to.equal(3);
        expect(answers.map(({ content }) => content)).to.deep.equal(
          ["0", "1", "2"].map((text) => [{ type: "text", text }]),
        );
      });

      it("changes its tools and tells its sessions", async () => {
        const server = await start({ transport });
        const client = await connect(server);
        const told = new Promise<void>((resolve) => {
          client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve());
        });
        await server.waitForStreams(1);

        await server.setTools({ other: "text" });
        await told;

        const { tools } = await client.listTools();
        expect(tools.map(({ name }) => name)).to.deep.equal(["other"]);
      });

      it("answers 404 to sessions that it forgot", async () => {
        const server = await start({ transport });
        const client = await connect(server);

        server.forgetSessions();
        const outcome = await client.callTool({ name: "echo" }).catch((error: unknown) => error);

        expect(outcome).to.be.an("error");
        expect(`${String(outcome)} ${codeOf(outcome)}`).to.include("404");
        expect(server.toolCalls).to.deep.equal([]);
      });

      it("holds a tool call until it is released", async () => {
        const server = await start({ transport });
        const client = await connect(server);
        const hold = server.holdTool("echo");

        const call = client.callTool({ name: "echo", arguments: { text: "late" } });
        await hold.arrived;
        const other = await client.callTool({ name: "search", arguments: { text: "now" } });
        hold.release();

        expect(other.content).to.deep.equal([{ type: "text", text: "Synthetic result for: now" }]);
        expect((await call).content).to.deep.equal([{ type: "text", text: "late" }]);
        expect(server.toolCalls.map(({ tool }) => tool)).to.deep.equal(["echo", "search"]);
      });

      it("holds a JSON-RPC method until it is released", async () => {
        const server = await start({ transport });
        const hold = server.holdMethod("initialize");

        const connecting = connect(server);
        await hold.arrived;
        hold.release();

        expect((await (await connecting).listTools()).tools).to.have.length(2);
      });

      it("lists its tools in pages", async () => {
        const tools = Object.fromEntries(["a", "b", "c", "d", "e"].map((name) => [name, name]));
        const server = await start({ transport, tools, pageSize: 2 });
        const client = await connect(server);

        const pages: string[][] = [];
        let cursor: string | undefined;
        do {
          const page = await client.listTools(cursor === undefined ? {} : { cursor });
          pages.push(page.tools.map(({ name }) => name));
          cursor = page.nextCursor;
        } while (cursor !== undefined);

        expect(pages).to.deep.equal([["a", "b"], ["c", "d"], ["e"]]);
      });

      it("closes while a call is under way, and may be closed again", async () => {
        const server = await start({ transport, tools: { slow: delayedTool(3_600_000, "never") } });
        const client = await connect(server);
        const hold = server.holdTool("slow");
        const call = client.callTool({ name: "slow" }).catch((error: unknown) => error);
        await hold.arrived;
        hold.release();

        await server.close();
        await server.close();
        await client.close();

        expect(await call).to.be.an("error");
        expect(server.openSockets).to.equal(0);
        expect(server.openSessions).to.equal(0);
      });
    });
  }

  it("listens on ::1 and on a path of its own when asked to", async () => {
    const server = await start({ transport: "streamable_http", path: "/v1/mcp", family: 6 });
    const client = await connect(server);

    expect(server.url).to.match(/^http:\/\/\[::1\]:\d+\/v1\/mcp$/);
    expect((await client.listTools()).tools).to.have.length(2);
  });

  it("counts connections and sees them close when the client does", async () => {
    const server = await start({ transport: "streamable_http" });
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      get(server.url, { agent: false }, resolve).on("error", reject);
    });

    response.destroy();
    await server.waitForSocketClose();

    expect([server.connections, server.openSockets]).to.deep.equal([1, 0]);
  });

  it("gives a handler's whole result back", async () => {
    const result = { content: [{ type: "text" as const, text: "no" }], isError: true };
    const server = await start({ transport: "streamable_http", tools: { failing: () => result } });
    const client = await connect(server);

    expect(await client.callTool({ name: "failing" })).to.deep.equal(result);
  });

  it("answers with plain JSON when asked to", async () => {
    const server = await start({ transport: "streamable_http", jsonResponses: true });

    const response = await initialize(server);

    expect(response.headers.get("content-type")).to.equal("application/json");
    expect(await response.json()).to.have.nested.property("result.serverInfo.name", "synthetic-mcp-server");
  });

  it("serves further documents and answers 404 elsewhere", async () => {
    const documents = { "/.well-known/agent-card.json": { status: 200, json: { skills: [] } } };
    const server = await start({ transport: "streamable_http", documents });

    const card = await fetch(new URL("/.well-known/agent-card.json", server.url));
    const elsewhere = await fetch(new URL("/elsewhere", server.url));
    const head = await fetch(server.url, { method: "HEAD" });
    await elsewhere.body?.cancel();

    expect(await card.json()).to.deep.equal({ skills: [] });
    expect([elsewhere.status, head.status]).to.deep.equal([404, 405]);
  });

  it("speaks TLS with the certificate that it is given", async () => {
    const authority = createTestAuthority();
    const server = await start({ transport: "streamable_http", tls: authority.issue() });

    const refusal = await fetch(server.url).catch((error: unknown) => error);

    expect(server.url).to.match(/^https:\/\/127\.0\.0\.1:\d+\/mcp$/);
    expect(refusal).to.have.nested.property("cause.code", "UNABLE_TO_VERIFY_LEAF_SIGNATURE");
  });
});

describe("a server with a throwaway certificate", () => {
  const authority = createTestAuthority();

  /** What a client that trusts the authority makes of the server: an error code, or that it answered. */
  async function outcomeWith(tls: TestIdentity): Promise<string> {
    const server = await startMcpServer({ transport: "streamable_http", tls });
    try {
      return await new Promise((resolve, reject) => {
        const request = httpsGet(server.url, { ca: authority.ca, agent: false }, () => resolve("answered"));
        request.once("error", (error) => ("code" in error ? resolve(String(error.code)) : reject(error)));
      });
    } finally {
      await server.close();
    }
  }

  it("is accepted at its address, and for a name too", async () => {
    expect(await outcomeWith(authority.issue())).to.equal("answered");
    expect(await outcomeWith(authority.issue({ names: ["a.example.com"], ips: ["127.0.0.1"] }))).to.equal(
      "answered",
    );
  });

  it("is refused by a client that trusts another authority", async () => {
    expect(await outcomeWith(createTestAuthority().issue())).to.equal("UNABLE_TO_VERIFY_LEAF_SIGNATURE");
  });

  it("is refused when the certificate signs itself", async () => {
    expect(await outcomeWith(authority.selfSigned())).to.equal("DEPTH_ZERO_SELF_SIGNED_CERT");
  });

  it("is refused when the certificate has expired or is not valid yet", async () => {
    const past = new Date(Date.now() - 60_000);
    const future = new Date("2060-01-01T00:00:00Z");

    expect(await outcomeWith(authority.issue({ notAfter: past }))).to.equal("CERT_HAS_EXPIRED");
    expect(await outcomeWith(authority.issue({ notBefore: future, notAfter: future }))).to.equal(
      "CERT_NOT_YET_VALID",
    );
  });

  it("is refused when the certificate is for another name or address", async () => {
    const others: CertificateOptions[] = [{ names: ["guild.example.com"] }, { ips: ["127.0.0.2", "::1"] }];

    for (const options of others) {
      expect(await outcomeWith(authority.issue(options))).to.equal("ERR_TLS_CERT_ALTNAME_INVALID");
    }
  });

  it("says what it was asked to say", () => {
    const { cert } = authority.issue({
      names: ["guild.example.com"],
      ips: ["192.0.2.7", "2001:db8::192.0.2.1"],
      notBefore: new Date("1999-12-31T23:59:59Z"),
      notAfter: new Date("2050-01-01T00:00:00Z"),
    });

    const parsed = new X509Certificate(cert);

    expect(parsed.subjectAltName).to.equal(
      "DNS:guild.example.com, IP Address:192.0.2.7, IP Address:2001:DB8:0:0:0:0:C000:201",
    );
    expect([parsed.validFrom, parsed.validTo]).to.deep.equal([
      "Dec 31 23:59:59 1999 GMT",
      "Jan  1 00:00:00 2050 GMT",
    ]);
    expect(parsed.verify(new X509Certificate(authority.ca).publicKey)).to.equal(true);
  });

  it("is not issued for what is no address or no host name", () => {
    expect(() => authority.issue({ ips: ["300.0.0.1"] })).to.throw(TypeError);
    expect(() => authority.issue({ names: ["gu\u00eflde"] })).to.throw(TypeError);
  });
});

describe("the stdio MCP server fixture", () => {
  it("serves search and echo and says on stderr that it started", async () => {
    const { client, stderr } = await connectStdio({});
    try {
      const answer = await client.callTool({ name: "search", arguments: { text: "tea" } });

      expect(answer.content).to.deep.equal([{ type: "text", text: "Synthetic result for: tea" }]);
      expect(await stderr).to.equal("synthetic stdio MCP server: started\n");
    } finally {
      await client.close();
    }
  });

  it("exits by itself once it has answered as many calls as it is told", async () => {
    const { client } = await connectStdio({ STDIO_SERVER_EXIT_AFTER_CALLS: "2" });
    try {
      const gone = new Promise<void>((resolve) => {
        // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's client has no other way
        client.onclose = resolve;
      });
      const texts = [];
      for (const text of ["one", "two"]) {
        texts.push((await client.callTool({ name: "echo", arguments: { text } })).content);
      }
      await gone;

      expect(texts).to.deep.equal(["one", "two"].map((text) => [{ type: "text", text }]));
    } finally {
      await client.close();
    }
  });
});

async function connectStdio(
  env: Record<string, string>,
): Promise<{ client: Client; stderr: Promise<string> }> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [STDIO_SERVER],
    env,
    stderr: "pipe",
  });
  const client = new Client({ name: "synthetic-client", version: "1.0.0" });
  if (transport.stderr === null) throw new Error("stderr is piped");
  const stderr = once(transport.stderr, "data").then(([chunk]) => String(chunk));
  await client.connect(transport);
  return { client, stderr };
}

/** The HTTP status that the streamable HTTP client puts on its errors. */
function codeOf(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : "none";
}

function initialize(server: McpServerFixture): Promise<Response> {
  return fetch(server.url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-03-26",
        capabilities: {},
        clientInfo: { name: "synthetic-client", version: "1.0.0" },
      },
    }),
  });
}
