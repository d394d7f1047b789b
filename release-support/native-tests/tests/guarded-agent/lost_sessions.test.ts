import { once } from "node:events";
import { createServer as createHttpsServer } from "node:https";
import { connect, createServer } from "node:net";
import type { Socket } from "node:net";
import { json } from "node:stream/consumers";

import { expect } from "chai";

import {
  GuardedAgentError,
  PublicMcpEndpoint,
  ScriptedPromptExecutor,
} from "../../../guarded-agent/index.ts";
import type { GuardedMcpAgent, ScriptedTurn } from "../../../guarded-agent/index.ts";
import { LoopbackListener } from "../../../guild/scripted_guild.ts";
import {
  answering,
  authority,
  Bench,
  calling,
  endpointOf,
  HOST,
  rejection,
  resultsSeen,
  urlOf,
} from "./support.ts";

/** How a server answers a tool call. */
interface Reply {
  readonly status: number;
  /** Members of the JSON-RPC response; none: no body. */
  readonly body?: object;
}

describe("guarded agent: sessions that are lost", () => {
  const bench = new Bench();
  afterEach(() => bench.close());

  /** Something between agent and servers that stands at one port of one address, or does not, and leads anywhere. */
  class Front {
    readonly #sockets = new Set<Socket>();
    readonly #server = createServer((socket) => this.#pipe(socket));
    readonly address: string;
    port = 0;
    target = "";

    constructor(address = "127.0.0.1") {
      this.address = address;
      bench.onClose(() => this.down());
    }

    async up(port = this.port): Promise<this> {
      this.#server.listen(port, this.address);
      await once(this.#server, "listening");
      this.port = (this.#server.address() as { readonly port: number }).port;
      return this;
    }

    async down(): Promise<void> {
      if (!this.#server.listening) return;
      const closed = once(this.#server, "close");
      this.#server.close();
      this.cut();
      await closed;
    }

    /** Ends every connection: what a restart does to them. */
    cut(): void {
      for (const socket of this.#sockets) socket.destroy();
    }

    get url(): string {
      return `https://${HOST}:${this.port}/mcp`;
    }

    #pipe(socket: Socket): void {
      const behind = connect(Number(new URL(this.target).port), "127.0.0.1");
      for (const one of [socket, behind]) {
        this.#sockets.add(one);
        one
          .on("error", () => undefined)
          .once("close", () => {
            this.#sockets.delete(one);
            socket.destroy();
            behind.destroy();
          });
      }
      socket.pipe(behind).pipe(socket);
    }
  }

  const consent = { discloseEndpointToAgentGuild: true } as const;
  const search = (text: string) => calling(["search", text]);

  describe("a server that has forgotten the session", () => {
    it("runs nothing then, the model is told so, and the next call has a session of its own [G12]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const executor = new ScriptedPromptExecutor([search("1"), forgotten, search("3"), answering()]);
      function forgotten() {
        server.forgetSessions();
        return search("2");
      }
      const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
      await agent.run("go");
      const seen = resultsSeen(executor);
      expect(seen.map(([end]) => end)).to.deep.equal(["result", "failed", "result"]);
      expect(seen[1]?.[1]).to.equal(
        "The call was not sent to the tool, so the tool did not run: the server has forgotten the session. " +
          "Go on without it, or try again later.",
      );
      expect(server.toolCalls.map((call) => call.arguments["text"])).to.deep.equal(["1", "3"]);
      expect(guild.requests).to.have.length(3);
    });
  });

  describe("a server that restarts between two calls", () => {
    it("is reached again by the next call, which is sent once [G12]", async () => {
      const [first, second, guild] = [await bench.server(), await bench.server(), await bench.guild()];
      const front = await new Front().up();
      front.target = first.url;
      const restarted = () => {
        front.target = second.url;
        front.cut();
        return search("2");
      };
      const executor = new ScriptedPromptExecutor([
        search("1"),
        restarted,
        search("3"),
        search("4"),
        answering(),
      ]);
      const endpoints = [PublicMcpEndpoint.of(front.url, consent)];
      const agent = await bench.agent(guild, { endpoints, promptExecutor: executor });
      await agent.run("go");
      const ends = resultsSeen(executor).map(([end]) => end);
      expect(ends.slice(2)).to.deep.equal(["result", "result"]);
      expect(first.toolCalls).to.have.length(1);
      const texts = second.toolCalls.map((call) => call.arguments["text"]);
      expect(texts.filter((text) => text !== "2")).to.deep.equal(["3", "4"]);
      expect(new Set(texts).size).to.equal(texts.length);
    });
  });

  describe("a server that is down", () => {
    it("gets no call, nobody is asked about it, and the model is told; once up, it is called [G12]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const front = await new Front().up();
      front.target = server.url;
      const steps: ScriptedTurn[] = [
        search("1"),
        async () => {
          await front.down();
          return search("2");
        },
        search("3"),
        search("4"),
        async () => {
          await front.up();
          return search("5");
        },
        answering(),
      ];
      const executor = new ScriptedPromptExecutor(steps);
      const agent = await bench.agent(guild, {
        endpoints: [PublicMcpEndpoint.of(front.url, consent)],
        promptExecutor: executor,
        config: { maxIterations: 9 },
      });
      await agent.run("go");
      const seen = resultsSeen(executor);
      expect(seen.map(([end]) => end)).to.deep.equal(["result", "failed", "failed", "failed", "result"]);
      for (const [, text] of seen.slice(1, 4)) {
        expect(text).to.match(
          /^The call was not sent to the tool, so the tool did not run: the server cannot be reached/,
        );
      }
      expect(server.toolCalls.map((call) => call.arguments["text"])).to.deep.equal(["1", "5"]);
      // Of the calls that could not be made, the first may have been asked about: nothing was known yet.
      expect(guild.requests.length).to.be.within(2, 3);
    });

    it("is not waited for beyond the run's signal [G7, G12]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const hold = { current: server.holdMethod("nothing") };
      const controller = new AbortController();
      const executor = new ScriptedPromptExecutor([
        search("1"),
        () => {
          server.forgetSessions();
          return search("2");
        },
        () => {
          hold.current = server.holdMethod("initialize");
          return search("3");
        },
      ]);
      const agent = await bench.agent(guild, { endpoints: [endpointOf(server)], promptExecutor: executor });
      const running = rejection(agent.run("go", { signal: controller.signal }));
      while (executor.prompts.length < 3) await new Promise(setImmediate);
      await hold.current.arrived;
      controller.abort();
      expect(await running).to.equal(controller.signal.reason);
      hold.current.release();
    });
  });

  describe("of several screened addresses", () => {
    const both = { resolve: () => ["127.0.0.1", "127.0.0.2"], treatAsPublic: ["127.0.0.1", "127.0.0.2"] };

    it("one that is down does not keep the agent from being created [G12]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const front = await new Front("127.0.0.2").up();
      front.target = server.url;
      const executor = new ScriptedPromptExecutor([search("1"), answering()]);
      const endpoints = [PublicMcpEndpoint.of(front.url, consent)];
      const agent = await bench.agent(guild, { endpoints, promptExecutor: executor }, both);
      await agent.run("go");
      expect(resultsSeen(executor)[0]?.[0]).to.equal("result");
    });

    it("another one is used when the one in use goes down [G12]", async () => {
      const [server, guild] = [await bench.server(), await bench.guild()];
      const front = await new Front("127.0.0.1").up();
      const spare = new Front("127.0.0.2");
      [front.target, spare.target] = [server.url, server.url];
      const executor = new ScriptedPromptExecutor([
        search("1"),
        async () => {
          await front.down();
          await spare.up(front.port);
          return search("2");
        },
        search("3"),
        answering(),
      ]);
      const endpoints = [PublicMcpEndpoint.of(front.url, consent)];
      const agent = await bench.agent(guild, { endpoints, promptExecutor: executor }, both);
      await agent.run("go");
      expect(resultsSeen(executor).at(-1)?.[0]).to.equal("result");
      expect(server.toolCalls.map((call) => call.arguments["text"])).to.include.members(["1", "3"]);
    });
  });

  describe("an endpoint that is down when the agent is created", () => {
    it("is named in the error, and takes the others with it [G12]", async () => {
      const [server, gone, guild] = [await bench.server(), await bench.server(), await bench.guild()];
      await gone.close();
      const creating = bench.agent(guild, { endpoints: [endpointOf(server), endpointOf(gone)] });
      const error = await rejection(creating);
      expect(error).to.be.instanceOf(GuardedAgentError);
      expect(error).to.include({ code: "connect_failed", endpoint: urlOf(gone) });
      expect((error as Error).message).to.contain(urlOf(gone));
      await server.waitForSocketClose();
    });

    it("is left out where it is optional, and the agent says so [G12]", async () => {
      const [server, gone, guild] = [await bench.server(), await bench.server(), await bench.guild()];
      await gone.close();
      const optional = PublicMcpEndpoint.of(urlOf(gone), { ...consent, optional: true });
      const executor = new ScriptedPromptExecutor([search("1"), answering()]);
      const endpoints = [optional, endpointOf(server)];
      const agent = await bench.agent(guild, { endpoints, promptExecutor: executor });
      expect(agent.endpoints()).to.deep.equal([
        { url: urlOf(gone), error: "connect_failed" },
        { url: urlOf(server), error: null },
      ]);
      await agent.run("go");
      expect(resultsSeen(executor)[0]?.[0]).to.equal("result");
    });

    it("does not hold the others up beyond the deadline where it is optional [G12]", async () => {
      const [server, slow, guild] = [await bench.server(), await bench.server(), await bench.guild()];
      const hold = slow.holdMethod("initialize");
      const optional = PublicMcpEndpoint.of(urlOf(slow), { ...consent, optional: true });
      const agent = await bench.agent(guild, {
        endpoints: [endpointOf(server), optional],
        config: { maxIterations: 1, openTimeoutSeconds: 0.5 },
      });
      expect(agent.endpoints().map(({ error }) => error)).to.deep.equal([null, "open_deadline"]);
      hold.release();
    });

    it("ends the creation with the reason of a signal, optional or not [G7, G12]", async () => {
      const [slow, guild] = [await bench.server(), await bench.guild()];
      const hold = slow.holdMethod("initialize");
      const optional = PublicMcpEndpoint.of(urlOf(slow), { ...consent, optional: true });
      const controller = new AbortController();
      const creating = rejection(bench.agent(guild, { endpoints: [optional], signal: controller.signal }));
      await hold.arrived;
      controller.abort();
      expect(await creating).to.equal(controller.signal.reason);
      hold.release();
    });

    it("is optional by true or false alone [G1]", () => {
      for (const optional of [null, "true", 1]) {
        const options = { ...consent, optional } as never;
        expect(() => PublicMcpEndpoint.of("https://mcp.example.com/mcp", options)).to.throw(
          TypeError,
          /^optional: /,
        );
      }
    });
  });

  describe("what the model reads of a failed call", () => {
    /** Agent and server whose tool calls are answered by a script, and how they look to the model. */
    async function told(replies: readonly Reply[], showServerErrors = false): Promise<unknown[]> {
      const left = [...replies];
      const guild = await bench.guild();
      const endpoint = await scriptedServer(() => left.shift() ?? { status: 500 });
      const turns = replies.map((_, index) => calling(["tool", String(index)]));
      const executor = new ScriptedPromptExecutor([...turns, answering()]);
      const agent: GuardedMcpAgent = await bench.agent(guild, {
        endpoints: [endpoint],
        promptExecutor: executor,
        config: { maxIterations: 9, showServerErrors, maxResultCharacters: 30 },
      });
      await agent.run("go");
      return executor.prompts
        .at(-1)!
        .messages.flatMap((message) =>
          message.role === "tool" ? [message.content.map((item) => item["text"])] : [],
        );
    }

    const rpcError = (code: number): Reply => ({
      status: 200,
      body: { error: { code, message: "zq7: remote words that go on and on" } },
    });

    it("is the code of a JSON-RPC error in the agent's words, and none of the server's [G6, G12]", async () => {
      expect(await told([rpcError(-32602), rpcError(-7)])).to.deep.equal([
        [
          "The tool's server refused the call with the JSON-RPC error -32602, which means that it does not know the tool, " +
            "or does not take its arguments. It gave no result.",
        ],
        ["The tool's server refused the call with the JSON-RPC error -7. It gave no result."],
      ]);
    });

    it("holds the server's words too, bounded, where the operator wants it [G12]", async () => {
      const [texts] = (await told([rpcError(-32602)], true)) as [string[]];
      expect(texts[0]).to.match(/^The tool's server refused the call/);
      expect(texts.slice(1)).to.deep.equal([
        "zq7: remote words that go on a",
        "[The rest of this result was left out: it is longer than 30 characters.]",
      ]);
    });

    it("says of an HTTP status what is known: refused, or an unknown end [G12]", async () => {
      expect(await told([{ status: 403 }, { status: 503 }])).to.deep.equal([
        ["The tool's server refused the call with the HTTP status 403. It gave no result."],
        [
          "The tool call was sent but gave no usable result: the server answered with the HTTP status 503. " +
            "Whether the tool did its work is not known: do not assume either.",
        ],
      ]);
    });
  });

  /** A server that is real enough, but for its answers to tool calls. */
  async function scriptedServer(reply: () => Reply): Promise<PublicMcpEndpoint> {
    const server = createHttpsServer(authority().issue({ names: [HOST] }), (request, response) => {
      void json(request).then((message) => {
        const { id, method } = message as { readonly id?: number; readonly method: string };
        if (id === undefined) return response.writeHead(202).end();
        const serverInfo = { name: "scripted", version: "1" };
        const results: Readonly<Record<string, object>> = {
          initialize: { protocolVersion: "2025-03-26", capabilities: { tools: {} }, serverInfo },
          "tools/list": { tools: [{ name: "tool", inputSchema: { type: "object" } }] },
        };
        const { status, body } =
          method === "tools/call" ? reply() : { status: 200, body: { result: results[method] } };
        response.writeHead(status, { "content-type": "application/json" });
        return response.end(body === undefined ? "" : JSON.stringify({ jsonrpc: "2.0", id, ...body }));
      });
    });
    const listener = new LoopbackListener(server);
    const address = await listener.listen();
    bench.onClose(() => listener.close());
    return endpointOf({ url: `https://${address}` });
  }
});
