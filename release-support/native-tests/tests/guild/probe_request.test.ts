import type { LookupAddress } from "node:dns";
import { createServer } from "node:net";
import type { LookupFunction, Socket } from "node:net";
import { performance } from "node:perf_hooks";

import { expect } from "chai";

import { createTestAuthority } from "../../../fixtures/test_certificates.ts";
import type { CertificateOptions } from "../../../fixtures/test_certificates.ts";
import { MAX_ANSWER_BYTES, REQUEST_MS, requestOnce } from "../../../guild/probe_request.ts";
import type { ProbeAnswer, ProbeNetwork, ProbeRequest } from "../../../guild/probe_request.ts";
import { LoopbackListener } from "../../../guild/scripted_guild.ts";
import { answer, LiveBench, redirect, silence, unfinished } from "./live_support.ts";
import type { Reply } from "./live_support.ts";

const authority = createTestAuthority();

function network(options: Partial<ProbeNetwork> = {}): ProbeNetwork {
  return {
    lookup: lookupTo("127.0.0.1"),
    isAllowedAddress: (address) => address === "127.0.0.1" || address === "::1",
    ca: authority.ca,
    requestMs: REQUEST_MS,
    signal: new AbortController().signal,
    ...options,
  };
}

/** A resolver with one answer, which counts how often it is asked. */
function lookupTo(...addresses: readonly string[]): LookupFunction & { calls: number } {
  const lookup = (
    _host: string,
    _options: unknown,
    callback: (error: null, found: LookupAddress[]) => void,
  ) => {
    lookup.calls += 1;
    const found = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    setImmediate(() => callback(null, found));
  };
  lookup.calls = 0;
  return lookup;
}

function get(url: string, options: Partial<ProbeRequest> = {}): ProbeRequest {
  return { method: "GET", url: new URL(url), read: "body", ...options };
}

function bodyOf(got: ProbeAnswer): string {
  if (got.kind !== "answer") throw new Error("there is no answer");
  return Buffer.from(got.body).toString();
}

/** Counts up to an answer that is never complete: one byte every few milliseconds. */
const drip: Reply = (response) => {
  response.writeHead(200);
  const timer = setInterval(() => response.write("."), 10);
  response.once("close", () => clearInterval(timer));
};

describe("one request of a probe", () => {
  const bench = new LiveBench();

  afterEach(() => bench.close());

  async function raw(
    onSocket: (socket: Socket) => void,
  ): Promise<{ origin: string; listener: LoopbackListener }> {
    const listener = new LoopbackListener(
      // What is not read keeps a socket from noticing that the other side has gone.
      createServer((socket) => onSocket(socket.resume())),
    );
    bench.onClose(() => listener.close());
    return { origin: `http://${await listener.listen()}`, listener };
  }

  it("reads a complete answer [S2]", async () => {
    const endpoint = await bench.endpoint({ "GET /a?b=c": answer(203, "text", "text/plain") });
    const got = await requestOnce(get(`${endpoint.origin}/a?b=c#d`), network());
    expect(got).to.deep.include({
      kind: "answer",
      status: 203,
      contentType: "text/plain",
      ending: "complete",
    });
    expect(bodyOf(got)).to.equal("text");
  });

  it("sends no credentials and asks for no compression or reuse [S2]", async () => {
    const endpoint = await bench.endpoint();
    await requestOnce(get(`${endpoint.origin}/a`, { headers: { accept: "text/plain" } }), network());
    expect(endpoint.seen[0]?.headers).to.deep.equal({
      host: `127.0.0.1:${endpoint.port}`,
      "user-agent": "agent-guild-live-local",
      accept: "text/plain",
      "accept-encoding": "identity",
      connection: "close",
    });
  });

  it("sends a body with its length in bytes [S2]", async () => {
    const endpoint = await bench.endpoint();
    await requestOnce(get(`${endpoint.origin}/a`, { method: "POST", body: "\u00e9" }), network());
    expect(endpoint.seen[0]?.body).to.equal("\u00e9");
    expect(endpoint.seen[0]?.headers["content-length"]).to.equal("2");
  });

  it("reads at most 8 KiB of a body [S2]", async () => {
    const endpoint = await bench.endpoint({
      "GET /fits": answer(200, "a".repeat(MAX_ANSWER_BYTES)),
      "GET /more": answer(200, "a".repeat(MAX_ANSWER_BYTES + 1)),
      "GET /endless": unfinished("a".repeat(100_000)),
    });
    for (const [path, ending] of [
      ["/fits", "complete"],
      ["/more", "capped"],
      ["/endless", "capped"],
    ]) {
      const got = await requestOnce(get(endpoint.origin + path), network());
      expect(got).to.include({ ending });
      expect(bodyOf(got)).to.have.length(MAX_ANSWER_BYTES);
    }
  });

  it("reads nothing behind the status when that is all it wants [S2]", async () => {
    const endpoint = await bench.endpoint({ "GET /": unfinished("a") });
    const got = await requestOnce(get(endpoint.origin, { read: "status" }), network());
    expect(got).to.include({ kind: "answer", status: 200, ending: "left" });
    await endpoint.listener.waitForSocketClose();
  });

  it("leaves the rest once it has enough, and closes [S2]", async () => {
    const endpoint = await bench.endpoint({ "GET /": unfinished("enough") });
    const isEnough: ProbeRequest["isEnough"] = ({ body }) => Buffer.from(body).toString() === "enough";
    const got = await requestOnce(get(endpoint.origin, { isEnough }), network());
    expect(got).to.include({ ending: "left" });
    await endpoint.listener.waitForSocketClose();
  });

  it("follows no redirect [S2]", async () => {
    const endpoint = await bench.endpoint({ "GET /a": redirect("/b"), "GET /b": answer(200) });
    expect(await requestOnce(get(`${endpoint.origin}/a`), network())).to.include({ status: 302 });
    expect(endpoint.lines).to.deep.equal(["GET /a"]);
  });

  it("takes 3 seconds at most, silence or not, and closes [S2]", async () => {
    const endpoint = await bench.endpoint({ "GET /silent": silence, "GET /drip": drip });
    const begin = performance.now();
    const [silent, dripping] = await Promise.all([
      requestOnce(get(`${endpoint.origin}/silent`), network()),
      requestOnce(get(`${endpoint.origin}/drip`), network()),
    ]);
    expect(performance.now() - begin).to.be.within(2900, 4500);
    expect(silent.kind).to.equal("no_answer");
    expect(dripping).to.include({ status: 200, ending: "cut" });
    await endpoint.listener.waitForSocketClose();
  });

  it("counts the lookup into its time, and connects to nothing after it [S2]", async () => {
    const endpoint = await bench.endpoint();
    let answerLate = () => undefined as void;
    const lookup = ((_host, _options, callback) => {
      answerLate = () => callback(null, [{ address: "127.0.0.1", family: 4 }]);
    }) satisfies LookupFunction;
    const got = await requestOnce(
      get(`http://mcp.example.com:${endpoint.port}/`),
      network({ lookup, requestMs: 50 }),
    );
    answerLate();
    expect(got.kind).to.equal("no_answer");
    // Had a connect followed, it would have been accepted before this one.
    await requestOnce(get(endpoint.origin), network());
    expect(endpoint.listener.connections).to.equal(1);
  });

  const noAnswers: readonly (readonly [title: string, onSocket: (socket: Socket) => void])[] = [
    ["no HTTP", (socket) => socket.end("SSH-2.0-OpenSSH\r\n")],
    ["an end without a byte", (socket) => socket.end()],
    ["a reset", (socket) => socket.resetAndDestroy()],
    ["a status line that breaks off", (socket) => socket.end("HTTP/1.1 20")],
    ["only informational answers", (socket) => socket.end("HTTP/1.1 103 Early Hints\r\n\r\n")],
    [
      "an upgrade that nobody asked for",
      (socket) => socket.end("HTTP/1.1 101 Go\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
    ],
    ["a status below 100", (socket) => socket.end("HTTP/1.1 042 Odd\r\ncontent-length: 0\r\n\r\n")],
    ["a head of 100 KB", (socket) => socket.end(`HTTP/1.1 200 OK\r\nx: ${"a".repeat(100_000)}\r\n\r\n`)],
  ];
  for (const [title, onSocket] of noAnswers) {
    it(`takes ${title} for no answer [S2]`, async () => {
      const { origin, listener } = await raw(onSocket);
      expect((await requestOnce(get(origin), network())).kind).to.equal("no_answer");
      await listener.waitForSocketClose();
    });
  }

  it("ends with the reason of its signal, and closes [S2]", async () => {
    const endpoint = await bench.endpoint({ "GET /": silence });
    const end = new AbortController();
    const reason = new Error("enough");
    const asking = requestOnce(get(endpoint.origin), network({ signal: end.signal }));
    await endpoint.waitForRequests(1);
    end.abort(reason);
    expect(await asking.catch((error: unknown) => error)).to.equal(reason);
    await endpoint.listener.waitForSocketClose();
  });

  it("does not begin under a signal that has fired [S2]", async () => {
    const endpoint = await bench.endpoint();
    const signal = AbortSignal.abort(new Error("enough"));
    const error = await requestOnce(get(endpoint.origin), network({ signal })).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).to.equal(signal.reason);
    expect(endpoint.listener.connections).to.equal(0);
  });
});

describe("the addresses of a probe's request", () => {
  const bench = new LiveBench();

  afterEach(() => bench.close());

  const refused: readonly (readonly [title: string, addresses: readonly string[]])[] = [
    ["one that may not be connected to", ["10.0.0.1"]],
    ["a good one and one that may not be connected to", ["127.0.0.1", "169.254.169.254"]],
    ["none", []],
    ["something that is no address", ["127.0.0.1", "localhost"]],
  ];
  for (const [title, addresses] of refused) {
    it(`refuse a host that has ${title} [S2]`, async () => {
      const endpoint = await bench.endpoint();
      const got = await requestOnce(
        get(`http://mcp.example.com:${endpoint.port}/`),
        network({ lookup: lookupTo(...addresses) }),
      );
      expect(got.kind).to.equal("no_answer");
      expect(endpoint.listener.connections).to.equal(0);
    });
  }

  it("refuse a literal address that may not be connected to, without a lookup [S2]", async () => {
    const lookup = lookupTo("127.0.0.1");
    for (const url of ["http://10.0.0.1/", "http://[fe80::1]/", "http://0x0a000001/"]) {
      expect((await requestOnce(get(url), network({ lookup }))).kind).to.equal("no_answer");
    }
    expect(lookup.calls).to.equal(0);
  });

  it("are looked up once: the connection leads to what was screened [S2]", async () => {
    const endpoint = await bench.endpoint();
    const lookup = lookupTo("127.0.0.1");
    const got = await requestOnce(get(`http://mcp.example.com:${endpoint.port}/`), network({ lookup }));
    expect(got).to.include({ status: 404 });
    expect(lookup.calls).to.equal(1);
    expect(endpoint.seen[0]?.headers.host).to.equal(`mcp.example.com:${endpoint.port}`);
  });

  it("may be several, and one that answers is enough [S2]", async () => {
    const endpoint = await bench.endpoint({}, undefined, 4);
    const got = await requestOnce(
      get(`http://mcp.example.com:${endpoint.port}/`),
      network({ lookup: lookupTo("::1", "127.0.0.1") }),
    );
    expect(got).to.include({ status: 404 });
  });

  it("may come from a resolver that fails or throws: then there is no answer [S2]", async () => {
    const failing: LookupFunction = (_host, _options, callback) =>
      callback(Object.assign(new Error("no such host"), { code: "ENOTFOUND" }), []);
    const throwing: LookupFunction = () => {
      throw new Error("broken");
    };
    for (const lookup of [failing, throwing]) {
      expect((await requestOnce(get("http://mcp.example.com/"), network({ lookup }))).kind).to.equal(
        "no_answer",
      );
    }
  });
});

describe("TLS of a probe's request", () => {
  const bench = new LiveBench();

  afterEach(() => bench.close());

  async function requestTo(
    host: string,
    certificate: CertificateOptions,
    selfSigned = false,
  ): Promise<ProbeAnswer> {
    const tls = selfSigned ? authority.selfSigned(certificate) : authority.issue(certificate);
    const endpoint = await bench.endpoint({}, tls);
    return await requestOnce(get(`https://${host}:${endpoint.port}/`), network());
  }

  it("names the host, not the address [S2]", async () => {
    expect(await requestTo("mcp.example.com", { names: ["mcp.example.com"] })).to.include({ status: 404 });
  });

  it("leaves out the dot of an absolute name [S2]", async () => {
    expect(await requestTo("mcp.example.com.", { names: ["mcp.example.com"] })).to.include({ status: 404 });
  });

  it("holds a literal address against the certificate [S2]", async () => {
    expect(await requestTo("127.0.0.1", { ips: ["127.0.0.1"] })).to.include({ status: 404 });
    expect((await requestTo("127.0.0.1", { names: ["mcp.example.com"] })).kind).to.equal("no_answer");
  });

  it("takes a certificate for another host, an expired one and one of nobody for no answer [S2]", async () => {
    const names = ["mcp.example.com"];
    const past = { notBefore: new Date("2020-01-01"), notAfter: new Date("2020-02-01") };
    expect((await requestTo("mcp.example.com", { names: ["other.example.com"] })).kind).to.equal("no_answer");
    expect((await requestTo("mcp.example.com", { names, ...past })).kind).to.equal("no_answer");
    expect((await requestTo("mcp.example.com", { names }, true)).kind).to.equal("no_answer");
  });

  it("takes a server that never shakes hands for no answer, in time [S2]", async () => {
    const listener = new LoopbackListener(createServer((socket) => socket.resume()));
    bench.onClose(() => listener.close());
    const origin = `https://${await listener.listen()}`;
    expect((await requestOnce(get(origin), network({ requestMs: 100 }))).kind).to.equal("no_answer");
    await listener.waitForSocketClose();
  });
});
