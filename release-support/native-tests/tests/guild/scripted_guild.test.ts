import { request as httpsRequest } from "node:https";
import { connect as connectTcp } from "node:net";
import type { Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { gunzipSync } from "node:zlib";

import { expect } from "chai";
import { assert, constantFrom, property, record } from "fast-check";

import { readPreflightAnswer } from "../../../../helpers/preflight/preflight_contract.ts";
import { createTestAuthority } from "../../../fixtures/test_certificates.ts";
import {
  endpointDown,
  handshakeUnknown,
  healthy,
  noProtocol,
  preflightBody,
  SYNTHETIC_PROSE,
  unsignedCard,
} from "../../../guild/preflight_bodies.ts";
import type { CheckName, CheckStatus, PreflightBody } from "../../../guild/preflight_bodies.ts";
import { startScriptedGuild } from "../../../guild/scripted_guild.ts";
import type { GuildAnswer, ScriptedGuild, ScriptedGuildOptions } from "../../../guild/scripted_guild.ts";

const TARGET = "https://mcp.example.com/mcp";
const PATH = `/preflight?url=${encodeURIComponent(TARGET)}`;

/** What came over a connection until it was closed, and how it ended. */
interface Received {
  readonly head: string;
  readonly body: Buffer;
  readonly ended: "end" | "reset";
}

describe("the scripted Guild", () => {
  const guilds: ScriptedGuild[] = [];

  afterEach(async () => {
    await Promise.all(guilds.splice(0).map((guild) => guild.close()));
  });

  async function start(options: ScriptedGuildOptions = {}): Promise<ScriptedGuild> {
    const guild = await startScriptedGuild(options);
    guilds.push(guild);
    return guild;
  }

  async function receive(answer: GuildAnswer): Promise<Received> {
    const guild = await start();
    guild.answer(TARGET, answer);
    return await exchange(guild, PATH);
  }

  describe("as the service", () => {
    it("answers a healthy preflight for any target unless it is scripted [S1]", async () => {
      const guild = await start();

      const { head, body } = await exchange(guild, PATH);

      expect(head).to.match(/^HTTP\/1\.1 200 OK\r\n/);
      expect(head).to.include("content-type: application/json\r\n");
      expect(JSON.parse(body.toString())).to.deep.equal(healthy(TARGET));
    });

    it("answers by target, and the others by the default [S1]", async () => {
      const guild = await start();
      guild.answer(TARGET, { kind: "json", body: unsignedCard });
      guild.answer("*", { kind: "json", body: endpointDown });

      const [one, other] = await Promise.all([
        exchange(guild, PATH),
        exchange(guild, "/preflight?url=https%3A%2F%2Fother.example.com%2Fmcp"),
      ]);

      expect(JSON.parse(one.body.toString())).to.deep.equal(unsignedCard(TARGET));
      expect(JSON.parse(other.body.toString())).to.deep.equal(endpointDown("https://other.example.com/mcp"));
    });

    it("answers 422 without a url, 404 on other paths, 405 to other methods", async () => {
      const guild = await start();

      const answers = await Promise.all([
        exchange(guild, "/preflight"),
        exchange(guild, "/preflights?url=x"),
        exchange(guild, PATH, "POST"),
      ]);

      expect(answers.map(({ head }) => head.slice(9, 12))).to.deep.equal(["422", "404", "405"]);
    });

    it("keeps the connection of a complete answer open for a client that does not close it", async () => {
      const guild = await start();
      const socket = connectTcp(portOf(guild), "127.0.0.1");
      try {
        const request = `GET ${PATH} HTTP/1.1\r\nHost: guild\r\n\r\n`;
        socket.write(request);
        await until(socket, (text) => text.includes('"limits"'));
        socket.write(request);
        await guild.waitForRequests(2);

        expect(guild.openSockets).to.equal(1);
      } finally {
        socket.destroy();
      }
      await guild.waitForSocketClose();
    });
  });

  describe("as a witness", () => {
    it("records method, raw path, decoded url, and headers as they were sent [S1]", async () => {
      const guild = await start();

      await exchange(guild, "/preflight?url=a%2Fb%20c", "GET", "X-ODD-Case:  v 1 \r\nx-odd-case: 2\r\n");

      const [request] = guild.requests;
      expect(request).to.include({
        method: "GET",
        path: "/preflight?url=a%2Fb%20c",
        url: "a/b c",
        bodyBytes: 0,
      });
      expect(request?.at).to.be.a("date");
      expect(request?.rawHeaders).to.deep.equal(
        [
          ["Host", "guild"],
          ["Connection", "close"],
          ["X-ODD-Case", "v 1"],
          ["x-odd-case", "2"],
        ].flat(),
      );
    });

    it("counts the bytes of a body", async () => {
      const guild = await start();

      await exchange(guild, PATH, "GET", "Content-Length: 5\r\n", "12345");

      expect(guild.requests[0]?.bodyBytes).to.equal(5);
    });

    it("records what a client sends that takes it for a proxy", async () => {
      const guild = await start();

      const forged = await exchange(guild, `http://guild.example.com${PATH}`);
      await exchange(guild, "guild.example.com:443", "CONNECT");

      expect(JSON.parse(forged.body.toString())).to.deep.equal(healthy(TARGET));
      expect(guild.requests.map(({ method, path }) => [method, path])).to.deep.equal([
        ["GET", `http://guild.example.com${PATH}`],
        ["CONNECT", "guild.example.com:443"],
      ]);
    });

    it("lets a test wait for requests", async () => {
      const guild = await start();
      const two = guild.waitForRequests(2);

      await Promise.all([exchange(guild, PATH), exchange(guild, PATH)]);

      await two;
      await guild.waitForRequests(1);
      expect(guild.requests).to.have.length(2);
    });

    it("holds the requests of one target until released, and answers with the script of that moment", async () => {
      const guild = await start();
      const hold = guild.hold(TARGET);
      const held = exchange(guild, PATH);

      await hold.arrived;
      await exchange(guild, "/preflight?url=other");
      guild.answer(TARGET, { kind: "html" });
      hold.release();

      expect((await held).head).to.include("text/html");
      expect((await exchange(guild, PATH)).head).to.include("text/html");
    });

    it("holds the requests of every target", async () => {
      const guild = await start();
      const hold = guild.hold("*");
      const held = [exchange(guild, PATH), exchange(guild, "/preflight?url=other")];

      await hold.arrived;
      await guild.waitForRequests(2);
      hold.release();

      expect((await Promise.all(held)).map(({ head }) => head.slice(9, 12))).to.deep.equal(["200", "200"]);
    });

    it("drops open connections when it closes, refuses new ones, and may be closed again", async () => {
      const guild = await start();
      guild.answer("*", { kind: "silent" });
      const waiting = exchange(guild, PATH);
      await guild.waitForRequests(1);

      await guild.close();
      await guild.close();

      expect((await waiting).head).to.equal("");
      expect(guild.openSockets).to.equal(0);
      expect(await failureOf(exchange(guild, PATH))).to.equal("ECONNREFUSED");
    });
  });

  describe("scripted to answer", () => {
    const complete: readonly { what: string; answer: GuildAnswer; bytes: string }[] = [
      {
        what: "any status",
        answer: { kind: "json", status: 503, body: "{}" },
        bytes: `HTTP/1.1 503 Service Unavailable\r\n${lines("content-length: 2", "content-type: application/json")}{}`,
      },
      {
        what: "headers as written, repeated ones and none by default",
        answer: { kind: "json", headers: { "content-type": null, "X-Cache": ["HIT", "a"] }, body: "" },
        bytes: `HTTP/1.1 200 OK\r\n${lines("content-length: 0", "X-Cache: HIT", "X-Cache: a")}`,
      },
      {
        what: "a redirect",
        answer: { kind: "redirect", location: "/x", status: 307 },
        bytes: `HTTP/1.1 307 Temporary Redirect\r\n${lines("content-length: 0", "location: /x")}`,
      },
      {
        what: "a page",
        answer: { kind: "html", text: "<p>" },
        bytes: `HTTP/1.1 200 OK\r\n${lines("content-length: 3", "content-type: text/html")}<p>`,
      },
      {
        what: "two documents in one body",
        answer: { kind: "two_documents", first: "{}", second: "[]" },
        bytes: `HTTP/1.1 200 OK\r\n${lines("content-length: 4", "content-type: application/json")}{}[]`,
      },
      {
        what: "whatever a function writes on the socket",
        answer: { kind: "custom", respond: ({ method, url }, socket) => socket.end(`${method} ${url}`) },
        bytes: `GET ${TARGET}`,
      },
    ];
    for (const { what, answer, bytes } of complete) {
      it(what, async () => {
        const { head, body } = await receive(answer);

        expect(head + body.toString()).to.equal(bytes);
      });
    }

    it("a body as text, as bytes, as JSON", async () => {
      const bodies = ["text", Uint8Array.of(0xff, 0), [1, { a: 2 }]];

      const received = await Promise.all(bodies.map((body) => receive({ kind: "json", body })));

      expect(received.map(({ body }) => body.toString("latin1"))).to.deep.equal([
        "text",
        "\xff\0",
        '[1,{"a":2}]',
      ]);
    });

    it("after a delay", async () => {
      const started = performance.now();

      const { body } = await receive({ kind: "delay", ms: 30, next: { kind: "json", body: "late" } });

      expect(body.toString()).to.equal("late");
      expect(performance.now() - started).to.be.at.least(29);
    });

    it("header by header", async () => {
      const started = performance.now();

      const { head, body } = await receive({ kind: "drip_headers", everyMs: 10, lines: 3, body: "{}" });

      expect(head).to.match(
        /^HTTP\/1\.1 200 OK\r\nx-drip-0: 1\r\nx-drip-1: 1\r\nx-drip-2: 1\r\ncontent-length: 2\r\n/,
      );
      expect(body.toString()).to.equal("{}");
      expect(performance.now() - started).to.be.at.least(36);
    });

    it("byte by byte", async () => {
      const started = performance.now();

      const { head, body } = await receive({ kind: "drip_body", everyMs: 10, spaces: 3, body: "{}" });

      expect(head).to.include("content-length: 5\r\n");
      expect(body.toString()).to.equal("   {}");
      expect(performance.now() - started).to.be.at.least(36);
    });

    it("nothing, and sees the client leave", async () => {
      const guild = await start();
      guild.answer("*", { kind: "silent" });
      const socket = connectTcp(portOf(guild), "127.0.0.1");
      socket.write(`GET ${PATH} HTTP/1.1\r\nHost: guild\r\n\r\n`);
      await guild.waitForRequests(1);
      expect(guild.openSockets).to.equal(1);

      socket.destroy();

      await guild.waitForSocketClose();
    });

    it("a reset before, in and behind the head", async () => {
      const nothing = await receive({ kind: "reset", at: "start" });
      const headers = await receive({ kind: "reset", at: "headers" });
      const body = await receive({ kind: "reset", at: "body", body: "12345678" });

      expect([nothing, headers, body].map(({ ended }) => ended)).to.deep.equal(["reset", "reset", "reset"]);
      expect(nothing.head).to.equal("");
      expect(headers.head).to.match(/^HTTP\/1\.1 200 OK\r\n/);
      expect(headers.head).not.to.include("\r\n\r\n");
      expect(body.head).to.include("content-length: 8\r\n");
      expect(body.body.toString()).to.equal("1234");
    });

    it("less than it announced", async () => {
      const { head, body, ended } = await receive({ kind: "truncated", framing: "length", body: "1234" });

      expect(head).to.include("content-length: 5\r\n");
      expect([body.toString(), ended]).to.deep.equal(["1234", "end"]);
    });

    it("chunks without a final one", async () => {
      const { head, body, ended } = await receive({ kind: "truncated", framing: "chunked", body: "1234" });

      expect(head).to.include("transfer-encoding: chunked\r\n");
      expect([body.toString(), ended]).to.deep.equal(["4\r\n1234\r\n", "end"]);
    });

    it("an announced length and no body", async () => {
      const guild = await start();
      guild.answer("*", { kind: "announced", bytes: 1_048_577 });
      const socket = connectTcp(portOf(guild), "127.0.0.1");
      socket.write(`GET ${PATH} HTTP/1.1\r\nHost: guild\r\nConnection: close\r\n\r\n`);
      try {
        const text = await until(socket, (received) => received.endsWith("\r\n\r\n"));
        expect(text).to.include("content-length: 1048577\r\n");
        expect(guild.openSockets).to.equal(1);
      } finally {
        socket.destroy();
      }
    });

    it("a body of an exact size, with its length announced", async () => {
      const { head, body } = await receive({ kind: "padded", totalBytes: 1_048_576, framing: "length" });

      expect(head).to.include("content-length: 1048576\r\n");
      expect(body).to.have.length(1_048_576);
      expect(JSON.parse(body.toString())).to.deep.equal(healthy(TARGET));
    });

    it("a body of an exact size, in chunks", async () => {
      const { head, body } = await receive({ kind: "padded", totalBytes: 1_048_577, framing: "chunked" });

      expect(head).not.to.include("content-length");
      expect(body.subarray(-5).toString()).to.equal("0\r\n\r\n");
      expect(unchunked(body)).to.have.length(1_048_577);
      expect(JSON.parse(unchunked(body).toString())).to.deep.equal(healthy(TARGET));
    });

    it("a compressed body, labelled so", async () => {
      const { head, body } = await receive({ kind: "gzip" });

      expect(head).to.include("content-encoding: gzip\r\n");
      expect(JSON.parse(gunzipSync(body).toString())).to.deep.equal(healthy(TARGET));
    });

    it("exactly the bytes that a test wants", async () => {
      const bytes = "HTTP/1.0 200\nx\r\n\r\n\0";

      const ended = await receive({ kind: "raw", bytes, ending: "end" });
      const reset = await receive({ kind: "raw", bytes, ending: "reset" });

      expect([ended, reset].map(({ head, body }) => head + body.toString())).to.deep.equal([bytes, bytes]);
      expect([ended.ended, reset.ended]).to.deep.equal(["end", "reset"]);
    });
  });

  describe("elsewhere than on plain IPv4", () => {
    it("listens on ::1", async () => {
      const guild = await start({ family: 6 });

      expect(guild.origin).to.match(/^http:\/\/\[::1\]:\d+$/);
      expect((await fetch(`${guild.origin}${PATH}`)).status).to.equal(200);
    });

    it("speaks TLS, faults included", async () => {
      const authority = createTestAuthority();
      const guild = await start({ tls: authority.issue() });
      expect(await statusOverTls(guild, authority.ca)).to.equal(200);

      guild.answer("*", { kind: "reset", at: "headers" });

      expect(await failureOf(statusOverTls(guild, authority.ca))).to.equal("ECONNRESET");
      expect(guild.requests).to.have.length(2);
    });

    it("stalls a TLS handshake for as long as the client waits", async () => {
      const guild = await start({ tlsStall: true });
      const socket = connectTcp(portOf(guild), "127.0.0.1");
      let received = 0;
      socket.on("data", (chunk: Buffer) => {
        received += chunk.length;
      });
      await new Promise<void>((resolve, reject) => {
        socket.write("whatever a client says first", (error) => (error ? reject(error) : resolve()));
      });

      socket.end();
      await guild.waitForSocketClose();

      expect(guild.origin).to.match(/^https:/);
      expect([received, guild.requests.length]).to.deep.equal([0, 0]);
    });
  });
});

describe("the bodies of the scripted Guild", () => {
  it("have the verdict of their name [P7.1]", () => {
    const verdicts = [healthy, unsignedCard, endpointDown, noProtocol, handshakeUnknown].map(
      (preset) => preset(TARGET).verdict,
    );

    expect(verdicts).to.deep.equal([
      "no_failed_checks",
      "delegate_with_caution",
      "do_not_delegate",
      "do_not_delegate",
      "no_failed_checks",
    ]);
  });

  it("list failed checks with the blocking ones first, the others in list order", () => {
    const body = preflightBody(TARGET, {
      agent_card_resolves: "failed",
      protocol_handshake: "failed",
      independent_evidence: "proven",
    });

    expect(body.failed).to.deep.equal(["protocol_handshake", "agent_card_resolves"]);
    expect(body.unknowns).to.deep.equal(["agent_card_signed", "payment_claim_holds"]);
    expect(body.scored).to.deep.equal([
      "endpoint_reachable",
      "protocol_handshake",
      "agent_card_resolves",
      "independent_evidence",
    ]);
  });

  it("carry further members of a check and checks outside the six", () => {
    const body = preflightBody(
      TARGET,
      {},
      { onCheck: { agent_card_resolves: { declared_name: "x" } }, unlisted: { moon_phase: "failed" } },
    );

    expect(body.checks[2]).to.include({ check: "agent_card_resolves", declared_name: "x" });
    expect(body.checks[6]).to.include({ check: "moon_phase", status: "failed" });
    expect([body.failed, body.verdict]).to.deep.equal([["moon_phase"], "delegate_with_caution"]);
  });

  it("say in every prose text that they are synthetic", () => {
    const { headline, method, limits, checks } = unsignedCard(TARGET);

    for (const prose of [headline, method, limits, ...checks.map(({ detail }) => detail)]) {
      expect(prose.startsWith(SYNTHETIC_PROSE)).to.equal(true);
    }
  });

  it("are consistent for the plugin's own reader, whatever the statuses [P7.1]", () => {
    const status = constantFrom<CheckStatus>("proven", "failed", "unknown");
    const statuses = record<Record<CheckName, CheckStatus>>({
      endpoint_reachable: status,
      protocol_handshake: status,
      agent_card_resolves: status,
      agent_card_signed: status,
      payment_claim_holds: status,
      independent_evidence: status,
    });
    assert(
      property(statuses, (chosen) => {
        const body = preflightBody(TARGET, chosen);
        expect(readVerdict(body)).to.equal(body.verdict);
      }),
    );
  });
});

function lines(...headers: string[]): string {
  return [...headers, "", ""].join("\r\n");
}

function readVerdict(body: PreflightBody): string {
  const reading = readPreflightAnswer(Buffer.from(JSON.stringify(body)), TARGET);
  return reading.kind === "consistent" ? reading.answer.verdict : reading.kind;
}

function portOf(guild: ScriptedGuild): number {
  return Number(new URL(guild.origin).port);
}

/** Sends one request as bytes and reads until the connection is closed. */
async function exchange(
  guild: ScriptedGuild,
  path: string,
  method = "GET",
  headerLines = "",
  body = "",
): Promise<Received> {
  const socket = connectTcp(portOf(guild), "127.0.0.1");
  socket.write(`${method} ${path} HTTP/1.1\r\nHost: guild\r\nConnection: close\r\n${headerLines}\r\n${body}`);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  const ended = await new Promise<Received["ended"]>((resolve, reject) => {
    socket.on("error", (error: NodeJS.ErrnoException) =>
      error.code === "ECONNRESET" ? resolve("reset") : reject(error),
    );
    socket.on("close", () => resolve("end"));
  });
  const bytes = Buffer.concat(chunks);
  const mark = bytes.indexOf("\r\n\r\n");
  const headEnd = mark < 0 ? bytes.length : mark + 4;
  return { head: bytes.subarray(0, headEnd).toString("latin1"), body: bytes.subarray(headEnd), ended };
}

/** What a connection has brought as soon as it is enough. */
function until(socket: Socket, enough: (text: string) => boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const onData = (chunk: Buffer) => {
      text += chunk.toString("latin1");
      if (!enough(text)) return;
      socket.off("data", onData);
      resolve(text);
    };
    socket.on("data", onData);
    socket.once("error", reject);
  });
}

function unchunked(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString(), 16);
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
  return Buffer.concat(parts);
}

function statusOverTls(guild: ScriptedGuild, ca: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(`${guild.origin}${PATH}`, { ca, agent: false }, (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode));
    });
    request.once("error", reject);
    request.end();
  });
}

/** The code of the error that a promise rejects with. */
async function failureOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error && "code" in error) return String(error.code);
    throw error;
  }
  return "no failure";
}
