import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { expect } from "chai";

import { fetchWithoutRedirects, guardTransport } from "../../../adapters/mcp-sdk/index.ts";
import type { GuardOptions } from "../../../adapters/mcp-sdk/index.ts";
import { GATE_BROKE } from "../../../adapters/ask_gate.ts";
import { createSessionServer, DEFAULT_TOOLS, delayedTool } from "../../../fixtures/mcp_server.ts";
import { endpointDown } from "../../../guild/preflight_bodies.ts";
import { guardedSuite, newClient, textOf } from "./guarded_suite.ts";

const SEARCH = { name: "search", arguments: { text: "x" } };
const FOUND = "Synthetic result for: x";

describe("a guarded transport of the MCP SDK", () => {
  const { serve, connect, protecting, guild, decisions, closings } = guardedSuite();
  const denying = () => guild().answer("*", { kind: "json", body: endpointDown });

  /** The far end of a guarded transport in memory: what was sent, and a way to send on the guarded one by hand. */
  async function wired(options: Partial<GuardOptions> = {}) {
    const [near, far] = InMemoryTransport.createLinkedPair();
    const url = "http://127.0.0.1:9/mcp";
    const guarded = guardTransport(near, {
      server: "pub_server",
      url,
      settings: protecting(url),
      ...options,
    });
    const sent: JSONRPCMessage[] = [];
    const answers: JSONRPCMessage[] = [];
    // The SDK's transports know no other way to listen.
    Object.assign(far, { onmessage: (message: JSONRPCMessage) => void sent.push(message) });
    Object.assign(guarded, { onmessage: (message: JSONRPCMessage) => void answers.push(message) });
    await Promise.all([far.start(), guarded.start()]);
    closings.push(() => guarded.close());
    return { guarded, near, far, sent, answers };
  }
  const call = (id: number, name: unknown = "search") =>
    ({ jsonrpc: "2.0", id, method: "tools/call", params: { name } }) as JSONRPCMessage;
  const cancellation = (requestId: number): JSONRPCMessage => ({
    jsonrpc: "2.0",
    method: "notifications/cancelled",
    params: { requestId },
  });

  describe("lets through", () => {
    it("a call whose endpoint proves what is required, after one preflight [A1]", async () => {
      const server = await serve();
      const client = await connect(server.url);
      expect(textOf(await client.callTool(SEARCH))).to.equal(FOUND);
      expect(guild().requests.map(({ url }) => url)).to.deep.equal([server.url]);
      expect(decisions.map(({ decision, reason, tool }) => [decision, reason, tool])).to.deep.equal([
        ["allow", "not_denied", "search"],
      ]);
    });

    it("everything that is no tool call, untouched and without a preflight [A1]", async () => {
      denying();
      const client = await connect((await serve()).url);
      expect((await client.listTools()).tools).to.have.lengthOf(2);
      await client.ping();
      expect(guild().requests).to.deep.equal([]);
    });

    it("messages that need no gate as the same objects, with their options, a batch in one piece [A1]", async () => {
      const seen: unknown[][] = [];
      const transport = {
        send: (...given: unknown[]) => Promise.resolve(void seen.push(given)),
        close: () => Promise.resolve(),
      };
      const url = "http://127.0.0.1:9/mcp";
      const guarded = guardTransport(transport, { server: "pub_server", url, settings: protecting(url) });
      const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
      const batch = [ping, cancellation(7)];
      const options = { resumptionToken: "synthetic" };
      await guarded.send(ping, options);
      await guarded.send(batch, options);
      expect(seen.flat()).to.have.ordered.members([ping, options, batch, options]);
    });

    it("what else the transport offers, its class and its session included [A1]", async () => {
      const { url } = await serve();
      const inner = new StreamableHTTPClientTransport(new URL(url), { fetch: fetchWithoutRedirects });
      const guarded = guardTransport(inner, { server: "pub_server", url, settings: protecting(url) });
      const client = newClient();
      await client.connect(guarded);
      expect(guarded).to.be.instanceOf(StreamableHTTPClientTransport);
      expect(guarded.sessionId).to.be.a("string").that.equals(inner.sessionId);
      await guarded.terminateSession();
      expect(guarded.sessionId).to.equal(undefined);
      await client.close();
    });

    it("calls over SSE in the same way [A1]", async () => {
      const server = await serve({ transport: "sse" });
      const transport = new SSEClientTransport(new URL(server.url), { fetch: fetchWithoutRedirects });
      const { url } = server;
      const client = newClient();
      await client.connect(
        guardTransport(transport, { server: "pub_server", url, settings: protecting(url) }),
      );
      closings.push(() => client.close());
      expect(textOf(await client.callTool(SEARCH))).to.equal(FOUND);
      denying();
      expect((await client.callTool({ ...SEARCH, name: "echo" })).isError).to.equal(undefined);
    });
  });

  describe("denies", () => {
    it("with a tool result that is an error, in controlled words; nothing reaches the server [A1, P10.1]", async () => {
      denying();
      const server = await serve();
      const client = await connect(server.url);
      const result = await client.callTool(SEARCH);
      expect(result.isError).to.equal(true);
      expect(textOf(result)).to.match(/^agent_guild_preflight blocked this tool call \(do_not_delegate\)/);
      expect(textOf(result)).to.include("Operator: see the records that onDecision gets");
      expect(server.toolCalls).to.deep.equal([]);
      expect(decisions.map(({ decision }) => decision)).to.deep.equal(["deny"]);
    });

    it("a call that is made as a bare request [A1]", async () => {
      denying();
      const server = await serve();
      const client = await connect(server.url);
      const result = await client.request({ method: "tools/call", params: SEARCH }, CallToolResultSchema);
      expect(result.isError).to.equal(true);
      expect(server.toolCalls).to.deep.equal([]);
    });

    it("a task stream, by the error that it understands [A1]", async () => {
      denying();
      const server = await serve();
      const client = await connect(server.url);
      const events: { type: string; error?: Error }[] = [];
      for await (const event of client.experimental.tasks.callToolStream(SEARCH, CallToolResultSchema, {
        task: { ttl: 1000 },
      }))
        events.push(event);
      expect(events.map(({ type }) => type)).to.deep.equal(["error"]);
      expect(events[0]?.error?.message).to.include("agent_guild_preflight blocked this tool call");
      expect(server.toolCalls).to.deep.equal([]);
    });

    it("when the Guild is down [A1, P8.2]", async () => {
      const server = await serve();
      const client = await connect(server.url);
      await guild().close();
      expect(textOf(await client.callTool(SEARCH))).to.include("(evidence_unavailable)");
      expect(server.toolCalls).to.deep.equal([]);
    });

    it("when the URL is not the approved one, before anything is disclosed [A1, P5.3]", async () => {
      const server = await serve();
      const client = await connect(server.url, { settings: protecting(`${server.url}/`) });
      expect(textOf(await client.callTool(SEARCH))).to.include("(url_mismatch)");
      expect([server.toolCalls, guild().requests]).to.deep.equal([[], []]);
    });

    it("when a callback breaks, in fixed words, and tells what broke to the operator alone [A1, A2]", async () => {
      const faults: Error[] = [];
      const { guarded, sent, answers } = await wired({
        onDecision: () => {
          throw new Error("a secret of the operator");
        },
      });
      Object.assign(guarded, { onerror: (error: Error) => void faults.push(error) });
      await guarded.send(call(1));
      expect(sent).to.deep.equal([]);
      expect(answers).to.deep.equal([
        {
          jsonrpc: "2.0",
          id: 1,
          result: { resultType: "complete", content: [{ type: "text", text: GATE_BROKE }], isError: true },
        },
      ]);
      expect(faults.map(({ message }) => message)).to.deep.equal(["a secret of the operator"]);
    });

    it("a call that names no tool, which a server might understand all the same [A1]", async () => {
      denying();
      const { guarded, sent, answers } = await wired();
      for (const name of ["", 7, undefined, ["search"]]) await guarded.send(call(1, name));
      await guarded.send({ jsonrpc: "2.0", id: 1, method: "tools/call" });
      expect(sent).to.deep.equal([]);
      expect(answers).to.have.lengthOf(5);
    });

    it("a call without an id, which wants no answer and gets none [A1]", async () => {
      denying();
      const { guarded, sent, answers } = await wired();
      await guarded.send({ jsonrpc: "2.0", method: "tools/call", params: SEARCH });
      expect([sent, answers]).to.deep.equal([[], []]);
    });

    it("a call within a batch, and sends the rest of it [A1]", async () => {
      denying();
      const { guarded, sent, answers } = await wired();
      const ping = { jsonrpc: "2.0", id: 2, method: "ping" } as const;
      const batch: unknown = [call(1), ping, call(3)];
      await guarded.send(batch as JSONRPCMessage);
      expect(sent).to.deep.equal([ping]);
      expect(answers.map((answer) => "id" in answer && answer.id)).to.have.members([1, 3]);
    });

    it("resources and prompts where that is asked for, with a JSON-RPC error [A1]", async () => {
      denying();
      const { guarded, sent, answers } = await wired({ alsoGate: ["resources/read", "prompts/get"] });
      await guarded.send({ jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri: "x:y" } });
      await guarded.send({ jsonrpc: "2.0", id: 2, method: "prompts/get", params: { name: "p" } });
      expect(sent).to.deep.equal([]);
      for (const answer of answers) {
        expect(answer).to.have.nested.property("error.message").that.includes("(do_not_delegate)");
      }
      expect(answers).to.have.lengthOf(2);
    });

    it("resources and prompts nowhere else [A1]", async () => {
      denying();
      const { guarded, sent } = await wired();
      await guarded.send({ jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri: "x:y" } });
      await guarded.send({ jsonrpc: "2.0", id: 2, method: "prompts/get", params: { name: "p" } });
      expect(sent).to.have.lengthOf(2);
    });

    it("what would run elsewhere: no redirect is followed [A1]", async () => {
      const { url, toolCalls } = await serve();
      const door = createServer((_request, response) => {
        response.writeHead(307, { location: url }).end();
      }).listen(0, "127.0.0.1");
      await once(door, "listening");
      closings.push(() => door.close());
      const { port } = door.address() as AddressInfo;
      const error: unknown = await connect(`http://127.0.0.1:${port}/mcp`).catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(Error);
      expect(toolCalls).to.deep.equal([]);
    });
  });

  describe("while the preflight is under way", () => {
    it("sends what was decided on, whatever becomes of the caller's object [A1]", async () => {
      const { guarded, sent } = await wired();
      const hold = guild().hold("*");
      const message = { jsonrpc: "2.0" as const, id: 1, method: "tools/call", params: { ...SEARCH } };
      const sending = guarded.send(message);
      await hold.arrived;
      message.params.name = "delete_everything";
      message.method = "resources/read";
      hold.release();
      await sending;
      expect(sent).to.deep.equal([{ jsonrpc: "2.0", id: 1, method: "tools/call", params: SEARCH }]);
    });

    it("a cancelled call is never sent and never answered, and its cancellation goes nowhere [A1, P11.1]", async () => {
      const { guarded, sent, answers } = await wired();
      const hold = guild().hold("*");
      const sending = guarded.send(call(1));
      await hold.arrived;
      await guarded.send(cancellation(1));
      await sending;
      hold.release();
      await guild().waitForSocketClose();
      expect([sent, answers, decisions]).to.deep.equal([[], [], []]);
    });

    it("the cancellation of another call goes through [A1]", async () => {
      const { guarded, sent } = await wired();
      const hold = guild().hold("*");
      const sending = guarded.send(call(1));
      await hold.arrived;
      await guarded.send(cancellation(2));
      expect(sent).to.deep.equal([cancellation(2)]);
      hold.release();
      await sending;
      expect(sent.slice(1)).to.deep.equal([call(1)]);
    });

    it("the client's own cancellation ends the call, and nothing runs [A1, P11.1]", async () => {
      const server = await serve();
      const client = await connect(server.url);
      const hold = guild().hold("*");
      const cancel = new AbortController();
      const ended = client
        .callTool(SEARCH, undefined, { signal: cancel.signal })
        .catch((error: unknown) => error);
      await hold.arrived;
      cancel.abort("not wanted any more");
      expect(String(await ended)).to.include("not wanted any more");
      hold.release();
      expect(textOf(await client.callTool({ ...SEARCH, name: "echo" }))).to.equal("x");
      expect(server.toolCalls.map(({ tool }) => tool)).to.deep.equal(["echo"]);
      expect(server.requests.map(({ rpcMethod }) => rpcMethod)).not.to.include("notifications/cancelled");
    });

    it("closing sends nothing later [A1]", async () => {
      for (const end of ["guarded", "near", "far"] as const) {
        const { sent, ...ends } = await wired({
          settings: protecting("http://127.0.0.1:9/mcp", { cache_ttl_seconds: 0 }),
        });
        Object.assign(ends.guarded, { onclose: () => undefined });
        const hold = guild().hold("*");
        const ended = ends.guarded.send(call(1)).catch((error: unknown) => error);
        await hold.arrived;
        await ends[end].close();
        expect(String(await ended), end).to.include("closed before the call was sent");
        hold.release();
        await guild().waitForSocketClose();
        expect(sent, end).to.deep.equal([]);
      }
    });

    it("the caller's signal ends what waits and bars what comes [A1]", async () => {
      const cancel = new AbortController();
      const { guarded, sent } = await wired({ signal: cancel.signal });
      const hold = guild().hold("*");
      const ended = guarded.send(call(1)).catch((error: unknown) => error);
      await hold.arrived;
      const reason = new Error("the task is over");
      cancel.abort(reason);
      expect(await ended).to.equal(reason);
      expect(await guarded.send(call(2)).catch((error: unknown) => error)).to.equal(reason);
      expect(sent).to.deep.equal([]);
    });
  });

  describe("at work", () => {
    /** The official client and a real server in this process, with the guard between them. */
    async function connected() {
      const [near, far] = InMemoryTransport.createLinkedPair();
      let toolCalls = 0;
      const server = createSessionServer({
        tools: () => DEFAULT_TOOLS,
        pageSize: 10,
        onCall: () => void (toolCalls += 1),
      });
      const url = "http://127.0.0.1:9/mcp";
      const client = newClient();
      const guarded = guardTransport(near, { server: "pub_server", url, settings: protecting(url) });
      await Promise.all([server.connect(far), client.connect(guarded)]);
      closings.push(() => client.close());
      return { client, toolCalls: () => toolCalls };
    }

    it("runs 2,000 calls at once, each with its own answer, after one preflight [A1, P6.7]", async () => {
      const { client } = await connected();
      const numbers = Array.from({ length: 2000 }, (_, index) => String(index));
      const answers = await Promise.all(
        numbers.map((number) => client.callTool({ name: "echo", arguments: { text: number } })),
      );
      expect(answers.map(textOf)).to.deep.equal(numbers);
      expect(guild().requests).to.have.lengthOf(1);
    });

    it("denies 2,000 calls at once and sends none [A1]", async () => {
      denying();
      const { client, toolCalls } = await connected();
      const results = await Promise.all(Array.from({ length: 2000 }, () => client.callTool(SEARCH)));
      expect(results.every(({ isError }) => isError === true)).to.equal(true);
      expect(toolCalls()).to.equal(0);
    });

    it("stops 2,000 waiting calls with one signal and without a warning of leaks [A1]", async () => {
      const warnings: Error[] = [];
      const onWarning = (warning: Error) => void warnings.push(warning);
      process.on("warning", onWarning);
      closings.push(() => process.off("warning", onWarning));
      const cancel = new AbortController();
      const { guarded, sent } = await wired({ signal: cancel.signal });
      const hold = guild().hold("*");
      const ended = Promise.allSettled(Array.from({ length: 2000 }, (_, id) => guarded.send(call(id))));
      await hold.arrived;
      cancel.abort(new Error("the task is over"));
      expect((await ended).every(({ status }) => status === "rejected")).to.equal(true);
      hold.release();
      expect([sent, warnings]).to.deep.equal([[], []]);
    });

    it("passes on the cancellation of a call that was sent [A1]", async () => {
      const server = await serve({ tools: { search: delayedTool(60_000, "late") } });
      const client = await connect(server.url);
      const cancel = new AbortController();
      const ended = client
        .callTool(SEARCH, undefined, { signal: cancel.signal })
        .catch((error: unknown) => error);
      const hold = server.holdTool("search");
      const told = server.holdMethod("notifications/cancelled");
      await hold.arrived;
      cancel.abort("enough");
      await told.arrived;
      told.release();
      hold.release();
      expect(String(await ended)).to.include("enough");
    });
  });

  describe("takes its options", () => {
    const url = "https://mcp.example.com/mcp";
    const settings = { protected_servers: { pub_server: url } };
    const guard = (options: Record<string, unknown>) => () =>
      guardTransport(InMemoryTransport.createLinkedPair()[0], {
        server: "pub_server",
        url,
        settings,
        ...options,
      });

    it("as they are when it is made: later changes count for nothing [A1]", async () => {
      const own = protecting("http://127.0.0.1:9/mcp");
      const options = { server: "pub_server", url: "http://127.0.0.1:9/mcp", settings: own };
      denying();
      const { guarded, sent } = await wired(options);
      own["protected_servers"] = {};
      options.server = "other";
      await guarded.send(call(1));
      expect(sent).to.deep.equal([]);
    });

    it("with the server's name as hosts write it [A1, P3.3]", () => {
      expect(guard({ server: "Pub-Server" })).not.to.throw();
    });

    it("and names each mistake at once, without its value [A1, P3.2]", () => {
      expect(guard({ server: "" })).to.throw(TypeError, "server: expected");
      expect(guard({ url: new URL(url) })).to.throw(TypeError, "url: expected");
      expect(guard({ alsoGate: ["tools/list"] })).to.throw(TypeError, "alsoGate: expected");
      expect(guard({ settings: null })).to.throw(TypeError, "settings: expected a map of settings");
      expect(guard({ settings: { ...settings, policy: { on_caution: "perhaps" } } }))
        .to.throw(TypeError, "settings.policy.on_caution: expected allow or deny")
        .with.property("message")
        .that.does.not.include("perhaps");
    });

    it("and refuses to guard a server that the settings do not protect [A1]", () => {
      expect(guard({ server: "other" })).to.throw(TypeError, "settings.protected_servers");
    });
  });
});
