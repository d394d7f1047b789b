import { once } from "node:events";
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo, LookupFunction, Server, Socket } from "node:net";
import { createSecureContext, createServer as createTlsServer } from "node:tls";

import { expect } from "chai";

import { DECISIONS_KEY } from "../../../../helpers/decision/evidence.ts";
import type { DecisionRecord } from "../../../../helpers/decision/evidence.ts";
import { gate } from "../../../../helpers/gate.ts";
import { requestJson } from "../../../../helpers/preflight/guild_request.ts";
import type { GuildResponse } from "../../../../helpers/preflight/guild_request.ts";
import type { GateAgent } from "../../../../helpers/host.ts";
import { readSettings } from "../../../../helpers/settings/settings_schema.ts";
import { readStrictJson } from "../../../../helpers/formats/strict_json.ts";
import { protecting } from "../../../fixtures/gated_host.ts";
import type { GatedHost } from "../../../fixtures/gated_host.ts";
import { createTestAuthority } from "../../../fixtures/test_certificates.ts";
import { startScriptedGuild } from "../../../guild/scripted_guild.ts";
import { gatedSuite } from "../gated_suite.ts";

const MIB = 1024 * 1024;
const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
const WHOLE = `${HEAD}Content-Length: 2\r\n\r\n{}`;

const toLoopback: LookupFunction = (_name, options, callback) => {
  if (options.all === true) callback(null, [{ address: "127.0.0.1", family: 4 }]);
  else callback(null, "127.0.0.1", 4);
};

/** A server of a test's own, on a free port of loopback. */
class OwnServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(server: Server) {
    this.#server = server;
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
    });
  }

  async listen(): Promise<number> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return (this.#server.address() as AddressInfo).port;
  }

  /** How many connections were made. */
  get connections(): number {
    return this.#sockets.size;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    const closed = once(this.#server, "close");
    this.#server.close();
    await closed;
  }
}

describe("attacks on the request to the Guild", () => {
  let server: OwnServer | null = null;

  afterEach(async () => {
    await server?.close();
    server = null;
  });

  /** Asks a server that does something with the connection as soon as a request has arrived. */
  async function askOf(respond: (socket: Socket) => void): Promise<GuildResponse> {
    const raw = createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => respond(socket));
    });
    server = new OwnServer(raw);
    return await ask(`http://127.0.0.1:${await server.listen()}`);
  }

  async function ask(origin: string, ca?: string): Promise<GuildResponse> {
    const { signal } = new AbortController();
    const request = { origin, path: "/preflight?url=x", lookup: toLoopback, maxBytes: MIB, signal };
    return await requestJson(ca === undefined ? request : { ...request, ca });
  }

  it("names the Guild's host in the TLS handshake, without which a shared front end has no certificate [P6.1, P6.2]", async () => {
    const authority = createTestAuthority();
    const mine = createSecureContext(authority.issue({ names: ["guild.example.org"] }));
    const somebodyElses = authority.issue({ names: ["front-end.example.org"] });
    const front = createTlsServer(
      {
        ...somebodyElses,
        SNICallback: (name, done) => done(null, name === "guild.example.org" ? mine : undefined),
      },
      (socket) => {
        socket.on("error", () => undefined);
        socket.once("data", () => socket.end(WHOLE));
      },
    );
    front.on("tlsClientError", () => undefined);
    server = new OwnServer(front);
    const response = await ask(`https://guild.example.org:${await server.listen()}`, authority.ca);
    expect(response).to.include({ kind: "body" });
  });

  for (const [what, bytes] of [
    ["interim answers", `${"HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100_000)}${WHOLE}`],
    [
      "the extension of one chunk",
      `${HEAD}Transfer-Encoding: chunked\r\n\r\n2;x=${"x".repeat(3 * MIB)}\r\n{}\r\n0\r\n\r\n`,
    ],
  ] as const) {
    it(`takes no answer that hides more than the cap in ${what} [P6.4]`, async () => {
      expect(await askOf((socket) => socket.end(bytes))).to.deep.equal({
        kind: "failed",
        error: "too_large",
      });
    });
  }

  it("takes response headers named like members of every object for headers [P6.5]", async () => {
    const lines = ["__proto__", "constructor", "hasOwnProperty"].map(
      (name) => `${name}: a\r\n${name}: b\r\n`,
    );
    const answer = `${HEAD}${lines.join("")}Content-Length: 2\r\n\r\n{}`;
    expect(await askOf((socket) => socket.end(answer))).to.include({ kind: "body" });
  });

  it("does not ask again where the connection ends before any answer [P6.5]", async () => {
    expect(await askOf((socket) => socket.end())).to.deep.equal({ kind: "failed", error: "truncated" });
    expect(server?.connections).to.equal(1);
  });
});

describe("attacks on the strict JSON reader", () => {
  it("does not throw over a text of many megabytes, whatever its strings [P2.2]", () => {
    const document = Buffer.from(JSON.stringify("x".repeat(16 * MIB)));
    expect(() => readStrictJson(document)).not.to.throw();
  });
});

describe("attacks on the settings", () => {
  for (const where of ["protected_servers", "top level"]) {
    it(`does not take seconds over a file with thousands of wrong keys at ${where} [P3.2]`, () => {
      const keys = Object.fromEntries(Array.from({ length: 8000 }, (_, index) => [`wrong key ${index}`, 1]));
      const reading = readSettings(where === "top level" ? keys : { protected_servers: keys });
      expect(reading.kind).to.equal("invalid");
    }).timeout(2000);
  }
});

describe("attacks on the gate", () => {
  const { openWith: open } = gatedSuite();

  function decisionsOf({ agent }: GatedHost): readonly DecisionRecord[] {
    return (agent.getData(DECISIONS_KEY) ?? []) as readonly DecisionRecord[];
  }

  /** Cancels the agent's task at the gate's next look at the MCP configuration. */
  function cancelAtLook({ host, agent }: GatedHost, reason: Error): void {
    const look = host.mcpConfiguration.bind(host);
    host.mcpConfiguration = (of) => {
      agent.context.cancel(reason);
      return look(of);
    };
  }

  it("records and logs nothing for a call that was cancelled before its binding failed [P11.1]", async () => {
    const host = await open({ protected_servers: { pub_server: "http://127.0.0.1:9/mcp" } });
    const reason = new Error("cancelled by the test");
    cancelAtLook(host, reason);
    expect(await host.call()).to.deep.equal({ kind: "failed", error: reason });
    expect(decisionsOf(host)).to.deep.equal([]);
    expect(host.agent.context.log.items).to.deep.equal([]);
  });

  it("decides on no answer of a Guild that the settings no longer name when it arrives [P5.6, P6.2]", async () => {
    const host = await open();
    const other = await startScriptedGuild();
    try {
      const hold = host.guild.hold("*");
      const call = host.call();
      await hold.arrived;
      host.root.writeConfig(protecting(host.addresses, "pub_server", { fixture_guild_origin: other.origin }));
      hold.release();
      expect((await call).kind).to.equal("denied");
      expect(decisionsOf(host).map(({ reason }) => reason)).to.deep.equal(["binding_changed"]);
      expect(host.server().toolCalls).to.deep.equal([]);
    } finally {
      await other.close();
    }
  });

  it("stays a cancellation where the configuration turns out to be unusable [P11.1]", async () => {
    const host = await open({ misspelt: 1 });
    const { agent } = host;
    const task = new AbortController();
    const RepairableException = host.host.RepairableException;
    const standIn: GateAgent = {
      host: {
        root: host.root.path,
        RepairableException,
        vouchedMcpToolName: () => "pub_server.search",
        mcpConfiguration: () => host.host.mcpConfiguration(agent),
        cancellation: () => task.signal,
      },
      config: agent.config,
      context: agent.context,
      loopData: { currentTool: {} },
      getData: (key) => agent.getData(key),
      setData: (key, value) => agent.setData(key, value),
    };
    const reason = new Error("cancelled by the test");
    const call = gate(standIn).catch((error: unknown) => error);
    task.abort(reason);
    expect(await call).to.equal(reason);
  });
});
