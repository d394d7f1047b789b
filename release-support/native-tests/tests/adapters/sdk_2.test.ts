import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { expect } from "chai";

import { guardTransport } from "../../../adapters/mcp-sdk/index.ts";
import { endpointDown } from "../../../guild/preflight_bodies.ts";
import { guardedSuite, textOf } from "./guarded_suite.ts";

const URL_OF_SERVER = "http://127.0.0.1:9/mcp";

// Line 2 of the SDK speaks the protocol's earlier revisions by default and the one of 2026-07-28 where it is asked to.
for (const mode of ["legacy", "auto"] as const) {
  describe(`a guarded transport of line 2 of the MCP SDK, ${mode} negotiation`, () => {
    const { protecting, guild, closings } = guardedSuite();

    /** The client of line 2 and a server of line 2, joined without a socket. */
    async function connected() {
      let toolCalls = 0;
      const handler = createMcpHandler(() => {
        const server = new McpServer({ name: "synthetic-mcp-server", version: "1.0.0" });
        server.registerTool("search", { description: "Synthetic tool" }, () => {
          toolCalls += 1;
          return { content: [{ type: "text", text: "found" }] };
        });
        return server;
      });
      const sent: string[] = [];
      const transport = new StreamableHTTPClientTransport(new URL(URL_OF_SERVER), {
        fetch: (url, init) => {
          if (typeof init?.body === "string") sent.push((JSON.parse(init.body) as { method: string }).method);
          // A request of its own would listen to the client's one signal.
          return handler.fetch(new Request(url, { ...init, signal: null }));
        },
      });
      const client = new Client({ name: "native-tests", version: "1.0.0" }, { versionNegotiation: { mode } });
      closings.push(() => client.close());
      const settings = protecting(URL_OF_SERVER);
      await client.connect(guardTransport(transport, { server: "pub_server", url: URL_OF_SERVER, settings }));
      sent.length = 0;
      return { client, sent, toolCalls: () => toolCalls };
    }

    it("lets a call through [A1]", async () => {
      const { client } = await connected();
      expect(textOf(await client.callTool({ name: "search" }))).to.equal("found");
    });

    it("denies with a result that the client understands [A1]", async () => {
      guild().answer("*", { kind: "json", body: endpointDown });
      const { client, sent } = await connected();
      const result = await client.callTool({ name: "search" });
      expect(result.isError).to.equal(true);
      expect(textOf(result)).to.include("(do_not_delegate)");
      expect(sent).to.deep.equal([]);
    });

    it("never sends a call that is cancelled while the preflight is under way [A1, P11.1]", async () => {
      const { client, sent, toolCalls } = await connected();
      const hold = guild().hold("*");
      const cancel = new AbortController();
      const ended = client
        .callTool({ name: "search" }, { signal: cancel.signal })
        .catch((error: unknown) => error);
      await hold.arrived;
      cancel.abort(new Error("not wanted any more"));
      expect(String(await ended)).to.include("not wanted any more");
      hold.release();
      await guild().waitForSocketClose();
      expect([sent, toolCalls()]).to.deep.equal([[], 0]);
    });

    it("runs 2,000 calls at once [A1]", async () => {
      const { client, toolCalls } = await connected();
      const calls = Array.from({ length: 2000 }, () => client.callTool({ name: "search" }));
      expect(new Set((await Promise.all(calls)).map(textOf))).to.deep.equal(new Set(["found"]));
      expect(toolCalls()).to.equal(2000);
    });
  });
}
