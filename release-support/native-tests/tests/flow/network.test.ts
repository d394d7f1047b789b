import { execFile } from "node:child_process";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import type { LookupFunction, Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";

import { expect } from "chai";

import type { DecisionRecord } from "../../../../helpers/decision/evidence.ts";
import { DECISIONS_KEY, LAST_OBSERVATION_KEY } from "../../../../helpers/decision/evidence.ts";
import { GuildPreflight, MAX_BODY_BYTES } from "../../../../helpers/preflight/guild_preflight.ts";
import type { PreflightError, PreflightQuestion } from "../../../../helpers/preflight/guild_preflight.ts";
import { requestJson } from "../../../../helpers/preflight/guild_request.ts";
import { protecting } from "../../../fixtures/gated_host.ts";
import type { GatedHost } from "../../../fixtures/gated_host.ts";
import { createTestAuthority } from "../../../fixtures/test_certificates.ts";
import { healthy } from "../../../guild/preflight_bodies.ts";
import { LoopbackListener, startScriptedGuild } from "../../../guild/scripted_guild.ts";
import type { GuildAnswer, ScriptedGuild, ScriptedGuildOptions } from "../../../guild/scripted_guild.ts";
import type { ProxyChildReport } from "../../children/proxy_child.ts";
import { gatedSuite } from "../gated_suite.ts";

const EMPTY_LINE = "\r\n\r\n";

/** What the Guild does, in words, and what that is called. */
type Fault = readonly [title: string, answer: GuildAnswer, error: PreflightError];

/** None of these ends by itself within the deadline. */
const STALLS: readonly Fault[] = [
  [
    "sends its header lines one by one for 8 s [P6.3]",
    { kind: "drip_headers", everyMs: 40, lines: 200 },
    "deadline",
  ],
  ["sends its body byte by byte for 8 s [P6.3]", { kind: "drip_body", everyMs: 40, spaces: 200 }, "deadline"],
  ["accepts the request and stays silent [P6.3]", { kind: "silent" }, "deadline"],
  ["announces a body that never comes [P6.3]", { kind: "announced", bytes: 2048 }, "deadline"],
  [
    "stops in the middle of a header line [P6.3]",
    { kind: "raw", bytes: "HTTP/1.1 200 OK\r\ncontent-ty", ending: "stay_open" },
    "deadline",
  ],
  [
    "stops in the middle of a chunk [P6.3]",
    {
      kind: "raw",
      bytes: `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked${EMPTY_LINE}ff\r\n{`,
      ending: "stay_open",
    },
    "deadline",
  ],
];

const BREAKS: readonly Fault[] = [
  ["resets before it answers [P6.3]", { kind: "reset", at: "start" }, "truncated"],
  ["resets within the headers [P6.3]", { kind: "reset", at: "headers" }, "truncated"],
  ["resets within the body [P6.3]", { kind: "reset", at: "body" }, "truncated"],
  ["hangs up without an answer [P6.3]", { kind: "raw", bytes: "", ending: "end" }, "truncated"],
  ["ends before the announced length [P6.3]", { kind: "truncated", framing: "length" }, "truncated"],
  ["ends before the last chunk [P6.3]", { kind: "truncated", framing: "chunked" }, "truncated"],
  [
    "answers in another protocol [P6.3]",
    { kind: "raw", bytes: "SSH-2.0-Synthetic\r\n", ending: "stay_open" },
    "truncated",
  ],
  [
    "switches to another protocol [P6.3]",
    {
      kind: "raw",
      bytes: `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x${EMPTY_LINE}`,
      ending: "stay_open",
    },
    "truncated",
  ],
  [
    "announces two lengths [P6.3]",
    { kind: "json", headers: { "content-length": ["2", "3"] }, body: "{}" },
    "truncated",
  ],
  [
    "announces a length and chunks [P6.3]",
    { kind: "json", headers: { "transfer-encoding": "chunked" } },
    "truncated",
  ],
];

const SIZES: readonly Fault[] = [
  ["floods with informational answers [P6.4]", { kind: "custom", respond: flood }, "too_large"],
  [
    "sends 64 KiB of headers [P6.4]",
    { kind: "json", headers: { "x-filler": "x".repeat(65_536) } },
    "too_large",
  ],
  [
    "sends one byte too many, as announced [P6.4]",
    { kind: "padded", totalBytes: MAX_BODY_BYTES + 1, framing: "length" },
    "too_large",
  ],
  [
    "sends one byte too many, unannounced [P6.4]",
    { kind: "padded", totalBytes: MAX_BODY_BYTES + 1, framing: "chunked" },
    "too_large",
  ],
  [
    "announces one byte too many and sends none [P6.4]",
    { kind: "announced", bytes: MAX_BODY_BYTES + 1 },
    "too_large",
  ],
];

const ENCODINGS: readonly Fault[] = [
  ["compresses its answer unasked [P6.5]", { kind: "gzip" }, "encoding"],
  [
    "hides 8 MiB of spaces in 8 KiB of gzip [P6.5]",
    {
      kind: "json",
      body: gzipSync(Buffer.alloc(8 * 1_048_576, " ")),
      headers: { "content-encoding": "gzip" },
    },
    "encoding",
  ],
  // Refused by its label alone: there is no body that could be inflated.
  [
    "announces a compressed body and sends none [P6.5]",
    {
      kind: "raw",
      bytes: `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: 99${EMPTY_LINE}`,
      ending: "stay_open",
    },
    "encoding",
  ],
  ...["br", "deflate", "x-gzip", "zstd", "identity, gzip", "", "unknown"].map((encoding): Fault => [
    `labels a plain body with the encoding "${encoding}" [P6.5]`,
    { kind: "json", headers: { "content-encoding": encoding } },
    "encoding",
  ]),
  [
    "labels a plain body as identity and then as gzip [P6.5]",
    { kind: "json", headers: { "content-encoding": ["identity", "gzip"] } },
    "encoding",
  ],
];

const STATUSES: readonly Fault[] = [
  ...[201, 202, 203, 206, 400, 401, 403, 404, 422, 429, 500, 502, 503].map((status): Fault => [
    `answers a healthy report with status ${status} [P6.5]`,
    { kind: "json", status },
    "status",
  ]),
  ["answers 204 without a body [P6.5]", { kind: "json", status: 204, body: "" }, "status"],
  ...[300, 304].map((status): Fault => [
    `answers a healthy report with status ${status} [P6.5]`,
    { kind: "json", status },
    "redirect",
  ]),
];

const TYPES: readonly Fault[] = [
  ["answers with a page and status 200 [P6.5]", { kind: "html" }, "content_type"],
  ...[
    "application/problem+json",
    "application/vnd.guild+json",
    "application/json+x",
    "application/jsonp",
    "application/json-seq",
    "application/json text/html",
    "text/json",
    "text/plain",
    "text/html; charset=application/json",
    "*/*",
    "",
  ].map((type): Fault => [
    `labels its report as "${type}" [P6.5]`,
    { kind: "json", headers: { "content-type": type } },
    "content_type",
  ]),
  ["does not label its report [P6.5]", { kind: "json", headers: { "content-type": null } }, "content_type"],
  [
    "labels its report twice [P6.5]",
    { kind: "json", headers: { "content-type": ["application/json", "text/html"] } },
    "content_type",
  ],
];

const DOCUMENTS: readonly Fault[] = [
  ["sends two documents in one answer [P7.1]", { kind: "two_documents" }, "inconsistent"],
  ["sends an empty body [P7.1]", { kind: "json", body: "" }, "inconsistent"],
  ["labels a page as JSON [P7.1]", { kind: "json", body: "<!doctype html>" }, "inconsistent"],
];

describe("the network between the gate and the Guild", () => {
  const { openWith, closings } = gatedSuite();

  /** A host that reuses nothing. */
  async function openHost(timeoutSeconds = 20): Promise<GatedHost> {
    return await openWith({ cache_ttl_seconds: 0, timeout_seconds: timeoutSeconds });
  }

  /** As {@link openHost}, after one call that went well: every module is loaded. */
  async function openWarmHost(timeoutSeconds: number): Promise<GatedHost> {
    const host = await openHost();
    expect((await host.call()).kind).to.equal("ran");
    await host.guild.waitForSocketClose();
    host.root.writeConfig(
      protecting(host.addresses, "pub_server", { cache_ttl_seconds: 0, timeout_seconds: timeoutSeconds }),
    );
    return host;
  }

  async function startGuild(options: ScriptedGuildOptions = {}): Promise<ScriptedGuild> {
    const guild = await startScriptedGuild(options);
    closings.push(() => guild.close());
    return guild;
  }

  for (const [title, answer, error] of STALLS) {
    it(`denies when the deadline passes while the Guild ${title}`, async () => {
      const host = await openWarmHost(0.3);
      host.guild.answer("*", answer);
      await expectUnavailable(host, error, { guildRequests: 2, toolCalls: 1 });
    });
  }

  for (const [title, answer, error] of [
    ...BREAKS,
    ...SIZES,
    ...ENCODINGS,
    ...STATUSES,
    ...TYPES,
    ...DOCUMENTS,
  ]) {
    it(`denies without a second try when the Guild ${title}`, async () => {
      const host = await openHost();
      host.guild.answer("*", answer);
      await expectUnavailable(host, error);
    });
  }

  it("denies when nobody listens at the Guild's place [P6.3]", async () => {
    const host = await openHost();
    await host.guild.close();
    await expectUnavailable(host, "connect", { guildRequests: 0, toolCalls: 0 });
  });

  it("meets the deadline and closes the connection within 100 ms of it [P6.3]", async () => {
    for (const answer of [STALLS[0]?.[1], STALLS[1]?.[1]] as GuildAnswer[]) {
      const host = await openWarmHost(0.5);
      host.guild.answer("*", answer);
      const startedAt = performance.now();
      const outcome = await host.call();
      const deniedAfter = performance.now() - startedAt;
      await host.guild.waitForSocketClose();
      const closedAfter = performance.now() - startedAt;
      expect(outcome.kind).to.equal("denied");
      expect(deniedAfter).to.be.lessThan(600);
      expect(closedAfter).to.be.lessThan(600);
    }
  });

  for (const framing of ["length", "chunked"] as const) {
    it(`accepts a body of exactly 1 MiB, framed by ${framing} [P6.4]`, async () => {
      const host = await openHost();
      host.guild.answer("*", { kind: "padded", totalBytes: MAX_BODY_BYTES, framing });
      expect((await host.call()).kind).to.equal("ran");
      await host.guild.waitForSocketClose();
    });
  }

  it("hangs up at the cap and leaves the rest of an endless body unread [P6.4]", async () => {
    const host = await openHost();
    let sent = 0;
    host.guild.answer("*", {
      kind: "custom",
      respond: (_request, socket) => {
        sendEndlessBody(socket, (bytes) => {
          sent = bytes;
        });
      },
    });
    await expectUnavailable(host, "too_large");
    // What the sockets of both sides buffer comes on top of the cap.
    expect(sent).to.be.lessThan(32 * 1_048_576);
  });

  for (const status of [301, 302, 303, 307, 308]) {
    it(`goes nowhere else when the Guild answers ${status} [P6.5]`, async () => {
      const host = await openHost();
      const elsewhere = await startGuild();
      host.guild.answer("*", {
        kind: "redirect",
        status,
        location: `${elsewhere.origin}/preflight?url=${encodeURIComponent(host.server().url)}`,
      });
      await expectUnavailable(host, "redirect");
      expect(elsewhere.requests).to.have.lengthOf(0);
    });
  }

  for (const type of [
    "application/json; charset=utf-8",
    "application/json;charset=latin1;x=y",
    "Application/JSON ; a=b",
  ]) {
    it(`accepts a report labelled "${type}" [P6.5]`, async () => {
      const host = await openHost();
      host.guild.answer("*", { kind: "json", headers: { "content-type": type } });
      expect((await host.call()).kind).to.equal("ran");
    });
  }

  it("accepts a report with the encoding identity [P6.5]", async () => {
    const host = await openHost();
    host.guild.answer("*", { kind: "json", headers: { "content-encoding": "Identity" } });
    expect((await host.call()).kind).to.equal("ran");
  });

  it("goes past every proxy of the environment and of the process [P6.5]", async () => {
    const proxy = await startForgingProxy();
    closings.push(() => proxy.close());
    const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap((name) => [name, name.toLowerCase()]);
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [fileURLToPath(new URL("../../children/proxy_child.js", import.meta.url))],
      {
        env: {
          ...process.env,
          ...Object.fromEntries(names.map((name) => [name, proxy.origin])),
          NO_PROXY: "",
          no_proxy: "",
          NODE_USE_ENV_PROXY: "1",
        },
      },
    );
    const { message, ...report } = JSON.parse(stdout) as ProxyChildReport;
    expect(report).to.deep.equal({ outcome: "denied", guildRequests: 1, toolCalls: 0 });
    expect(message).to.include("(do_not_delegate)");
    // The control request shows that the proxy was in force; nothing but that one may have come.
    expect(proxy.seen).to.deep.equal(["CONNECT control.example.com:80", "GET /control"]);
  });

  describe("over TLS, which the gate's own tests on loopback cannot use", () => {
    const authority = createTestAuthority();
    const IPS = { ips: ["127.0.0.1"] };

    function question(origin: string, timeoutSeconds = 20): PreflightQuestion {
      const url = "https://pub.example.com/mcp";
      return { origin, url, timeoutSeconds, cacheTtlSeconds: 0, signal: new AbortController().signal };
    }

    async function errorAt(origin: string, timeoutSeconds?: number): Promise<PreflightError | null> {
      const outcome = await new GuildPreflight().ask(question(origin, timeoutSeconds));
      return outcome.kind === "failure" ? outcome.error : null;
    }

    async function requestTrusting(origin: string, lookup: LookupFunction = loopbackLookup) {
      const { signal } = new AbortController();
      const { ca } = authority;
      return await requestJson({ origin, path: "/preflight?url=x", lookup, maxBytes: 65_536, signal, ca });
    }

    it("meets the deadline while the handshake never completes [P6.3]", async () => {
      const guild = await startGuild({ tlsStall: true });
      expect(await errorAt(guild.origin, 0.3)).to.equal("deadline");
      await guild.waitForSocketClose();
    });

    it("meets the deadline while a name lookup never returns, and connects nowhere later [P6.3]", async () => {
      const server = createServer();
      const listener = new LoopbackListener(server);
      closings.push(() => listener.close());
      const port = new URL(`http://${await listener.listen()}`).port;
      let answerLookup: (() => void) | null = null;
      const lookup: LookupFunction = (_hostname, options, callback) => {
        answerLookup = () => loopbackLookup("", options, callback);
      };
      const origin = `https://guild.example.com:${port}`;
      const outcome = await new GuildPreflight(lookup).ask(question(origin, 0.1));
      expect(outcome.kind === "failure" && outcome.error).to.equal("deadline");
      (answerLookup as (() => void) | null)?.();
      // A connection that the lookup had led to would have been made before this one.
      expect(await errorAt(`https://127.0.0.1:${port}`, 0.1)).to.equal("deadline");
      expect(listener.connections).to.equal(1);
    });

    it("takes no answer under a certificate that nobody trusts [P6.3]", async () => {
      const guild = await startGuild({ tls: authority.issue(IPS) });
      expect(await errorAt(guild.origin)).to.equal("tls");
      expect(guild.requests).to.have.lengthOf(0);
      await guild.waitForSocketClose();
    });

    const untrusted = {
      "signs itself": authority.selfSigned(IPS),
      "is for another host": authority.issue({ ips: ["127.0.0.2"] }),
      "has expired": authority.issue({ ...IPS, notAfter: new Date(Date.now() - 60_000) }),
      "is not valid yet": authority.issue({ ...IPS, notBefore: new Date(Date.now() + 3_600_000) }),
    };
    for (const [fault, tls] of Object.entries(untrusted)) {
      it(`takes no answer under a certificate that ${fault} [P6.3]`, async () => {
        const guild = await startGuild({ tls });
        expect(await requestTrusting(guild.origin)).to.deep.equal({ kind: "failed", error: "tls" });
        expect(guild.requests).to.have.lengthOf(0);
        await guild.waitForSocketClose();
      });
    }

    it("takes an answer under a certificate for the name that was asked for [P6.3]", async () => {
      const guild = await startGuild({ tls: authority.issue({ names: ["guild.example.com"] }) });
      const origin = guild.origin.replace("127.0.0.1", "guild.example.com");
      expect((await requestTrusting(origin)).kind).to.equal("body");
      await guild.waitForSocketClose();
    });

    it("calls a server that speaks plain HTTP on an https origin untrustworthy [P6.3]", async () => {
      const guild = await startGuild();
      expect(await errorAt(guild.origin.replace("http:", "https:"))).to.equal("tls");
      expect(guild.requests).to.have.lengthOf(0);
      await guild.waitForSocketClose();
    });

    it("calls a hang-up within the handshake a failed handshake [P6.3]", async () => {
      const listener = new LoopbackListener(createServer((socket) => socket.end()));
      closings.push(() => listener.close());
      expect(await errorAt(`https://${await listener.listen()}`)).to.equal("tls");
    });
  });
});

/** What a call came to, and what must not have come of it: one record with the code, no tool call, no open socket. */
async function expectUnavailable(
  host: GatedHost,
  error: PreflightError,
  { guildRequests, toolCalls } = { guildRequests: 1, toolCalls: 0 },
): Promise<void> {
  const recordsBefore = recordsOf(host).length;
  const outcome = await host.call();
  expect(outcome.kind).to.equal("denied");
  expect(outcome.kind === "denied" && outcome.message)
    .to.include("(evidence_unavailable)")
    .and.include(`(${error})`);
  const record = host.agent.getData(LAST_OBSERVATION_KEY) as DecisionRecord;
  expect(record).to.include({ decision: "deny", reason: "evidence_unavailable" });
  expect(record.observation).to.include({ error, verdict: null, cached: false });
  expect(recordsOf(host)).to.have.lengthOf(recordsBefore + 1);
  expect(host.guild.requests).to.have.lengthOf(guildRequests);
  expect(host.server().toolCalls).to.have.lengthOf(toolCalls);
  await host.guild.waitForSocketClose();
}

function recordsOf({ agent }: GatedHost): readonly DecisionRecord[] {
  return (agent.getData(DECISIONS_KEY) ?? []) as readonly DecisionRecord[];
}

/** A proxy that answers everything itself, and every question about an endpoint with a healthy report. */
async function startForgingProxy() {
  const seen: string[] = [];
  const server = createHttpServer((request, response) => {
    const { method = "", url = "" } = request;
    seen.push(`${method} ${url}`);
    const target = new URL(url, "http://proxy.example.com").searchParams.get("url") ?? "";
    response.setHeader("content-type", "application/json").end(JSON.stringify(healthy(target)));
  });
  server.on("connect", ({ url = "" }, socket) => {
    seen.push(`CONNECT ${url}`);
    socket.write(`HTTP/1.1 200 Connection established${EMPTY_LINE}`);
    server.emit("connection", socket);
  });
  const listener = new LoopbackListener(server);
  return { seen, origin: `http://${await listener.listen()}`, close: () => listener.close() };
}

const loopbackLookup: LookupFunction = (_hostname, _options, callback) => {
  callback(null, [{ address: "127.0.0.1", family: 4 }]);
};

/** 64 MiB of spaces in chunks, as fast as the client takes them. */
function sendEndlessBody(socket: Socket, onProgress: (bytes: number) => void): void {
  const chunk = Buffer.from(`10000\r\n${" ".repeat(65_536)}\r\n`);
  socket.write(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked${EMPTY_LINE}`,
  );
  let sent = 0;
  const send = () => {
    while (!socket.destroyed && sent < 64 * 1_048_576) {
      sent += 65_536;
      onProgress(sent);
      if (!socket.write(chunk)) {
        socket.once("drain", send);
        return;
      }
    }
  };
  send();
}

/** Headers without an end: each of these messages announces another one. */
function flood(_request: unknown, socket: Socket): void {
  const hints = `HTTP/1.1 103 Early Hints\r\nlink: <x>${EMPTY_LINE}`.repeat(1000);
  const send = () => {
    while (!socket.destroyed && socket.write(hints));
    if (!socket.destroyed) socket.once("drain", send);
  };
  send();
}
