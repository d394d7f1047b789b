import { createServer } from "node:https";
import type { Server } from "node:https";
import { once } from "node:events";
import type { LookupFunction } from "node:net";
import type { TLSSocket } from "node:tls";

import { expect } from "chai";

import type { CertificateOptions, TestIdentity } from "../../../fixtures/test_certificates.ts";
import type { Network } from "../../../guarded-agent/network.ts";
import { publicNetwork, screenHost } from "../../../guarded-agent/network.ts";
import { PinnedConnection } from "../../../guarded-agent/pinned_connection.ts";
import { lookupOf, screenedLookup } from "../../../guarded-agent/screened_lookup.ts";
import { loopbackNetwork } from "../../../guarded-agent/loopback.ts";
import { LoopbackListener } from "../../../guild/scripted_guild.ts";
import {
  authority,
  Bench,
  countingListener,
  HOST,
  loopback,
  rejection,
  rejectionCode,
  stallingServer,
} from "./support.ts";

const never = new AbortController().signal;
const guild = { origin: "http://127.0.0.1:1" };

function network(parts: Partial<Parameters<typeof loopbackNetwork>[0]> = {}): Network {
  return loopbackNetwork(loopback(guild, parts));
}

describe("guarded agent: pinned connection", () => {
  const bench = new Bench();
  afterEach(() => bench.close());

  /** An HTTPS server that says which host names it was asked for, in TLS and in HTTP. */
  async function echoServer(identity: TestIdentity): Promise<{ port: string; listener: LoopbackListener }> {
    const server: Server = createServer(identity, (request, response) => {
      const { servername } = request.socket as TLSSocket & { readonly servername: unknown };
      response.writeHead(200, { "x-sni": String(servername), "x-host": request.headers.host ?? "" });
      response.end("ok");
    });
    const listener = new LoopbackListener(server);
    const address = await listener.listen();
    bench.onClose(() => listener.close());
    return { port: new URL(`http://${address}`).port, listener };
  }

  async function pinned(url: string, on: Network = network()): Promise<PinnedConnection> {
    const connection = await PinnedConnection.prepare(url, on, never);
    bench.onClose(() => connection.destroy());
    return connection;
  }

  /** What happens to a request to a server with a certificate: `ok`, or the phase that failed, and the requests seen. */
  async function attempt(identity: TestIdentity, host = HOST): Promise<string> {
    const { port } = await echoServer(identity);
    const url = `https://${host}:${port}/mcp`;
    const connection = await pinned(url);
    try {
      return await (await connection.fetch(url)).text();
    } catch {
      return String(connection.failure);
    }
  }

  const issued = (options: CertificateOptions) => authority().issue(options);

  describe("screening", () => {
    it("gives every address of a host once [G2]", async () => {
      const on = network({
        resolve: () => ["127.0.0.1", "::1", "127.0.0.1"],
        treatAsPublic: ["127.0.0.1", "::1"],
      });
      expect(await screenHost(HOST, on)).to.deep.equal({ kind: "screened", addresses: ["127.0.0.1", "::1"] });
    });

    it("refuses a host for one bad address among many, wherever it stands [G2]", async () => {
      const good = ["8.8.8.8", "1.1.1.1", "2606:4700::1"];
      const bad = [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "::1",
        "::ffff:8.8.8.8",
        "fe80::1",
        "not an address",
      ];
      for (const address of bad) {
        for (let at = 0; at <= good.length; at += 1) {
          const resolve = async () => await Promise.resolve(good.toSpliced(at, 0, address));
          const screening = await screenHost(HOST, { ...publicNetwork, resolve });
          expect(screening, address).to.deep.equal({ kind: "refused", error: "address_refused" });
        }
      }
    });

    it("screens a literal address without asking the resolver (G-21) [G2]", async () => {
      const resolve = () => expect.fail("a literal address was resolved");
      for (const host of ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1"]) {
        const screening = await screenHost(host, { ...publicNetwork, resolve });
        expect(screening, host).to.deep.equal({ kind: "refused", error: "address_refused" });
      }
      expect((await screenHost("8.8.8.8", { ...publicNetwork, resolve })).kind).to.equal("screened");
    });

    it("refuses a host without addresses, and one that the resolver does not know [G2]", async () => {
      const refused = { kind: "refused", error: "resolution_failed" };
      expect(await screenHost(HOST, network({ resolve: () => [] }))).to.deep.equal(refused);
      const failing = network({ resolve: () => Promise.reject(new Error("remote words")) });
      expect(await screenHost(HOST, failing)).to.deep.equal(refused);
    });

    it("connects to nothing when it refuses (G-21 a, b) [G2]", async () => {
      const listener = await countingListener(bench, "127.0.0.1");
      const only: Network = { ...publicNetwork, resolve: async () => await Promise.resolve(["127.0.0.1"]) };
      for (const host of ["127.0.0.1", "[::ffff:127.0.0.1]", HOST]) {
        const url = `https://${host}:${listener.port}/mcp`;
        expect(await rejectionCode(PinnedConnection.prepare(url, only, never)), host).to.equal(
          "address_refused",
        );
      }
      expect(listener.connections).to.equal(0);
    });
  });

  describe("lookups", () => {
    function answers(lookup: LookupFunction, options: Parameters<LookupFunction>[1]): Promise<unknown> {
      return new Promise((resolve) =>
        lookup(HOST, options, (error, address, family) => resolve(error?.code ?? [address, family])),
      );
    }

    it("answer in both forms that Node asks for: all addresses, and one (G-21 c) [G2]", async () => {
      const lookup = lookupOf(["127.0.0.1", "::1"]);
      const all = [
        { address: "127.0.0.1", family: 4 },
        { address: "::1", family: 6 },
      ];
      expect(await answers(lookup, { all: true })).to.deep.equal([all, undefined]);
      expect(await answers(lookup, {})).to.deep.equal(["127.0.0.1", 4]);
      expect(await answers(lookup, { family: 6 })).to.deep.equal(["::1", 6]);
      expect(await answers(lookup, { family: "IPv4", all: true })).to.deep.equal([[all[0]], undefined]);
      expect(await answers(lookupOf(["127.0.0.1"]), { family: 6 })).to.equal("ENOTFOUND");
    });

    it("answer nothing where an address is refused [G2]", async () => {
      const bad = screenedLookup(network({ resolve: () => ["127.0.0.1", "10.0.0.1"] }));
      expect(await answers(bad, { all: true })).to.equal("ENOTFOUND");
      expect(await answers(screenedLookup(network()), {})).to.deep.equal(["127.0.0.1", 4]);
    });
  });

  describe("TLS", () => {
    it("accepts the right name; SNI, Host and the certificate name the host, not the address (G-21 c) [G2]", async () => {
      const { port } = await echoServer(issued({ names: [HOST] }));
      const url = `https://${HOST}:${port}/mcp`;
      const response = await (await pinned(url)).fetch(url);
      expect(response.headers.get("x-sni")).to.equal(HOST);
      expect(response.headers.get("x-host")).to.equal(`${HOST}:${port}`);
      await response.text();
    });

    it("refuses the certificate of another name [G2]", async () => {
      expect(await attempt(issued({ names: ["other.example.com"] }))).to.equal("tls_failed");
    });

    it("refuses a certificate for the address alone (G-21 d) [G2]", async () => {
      expect(await attempt(issued({ ips: ["127.0.0.1"] }))).to.equal("tls_failed");
    });

    it("refuses expired certificates and those not valid yet [G2]", async () => {
      const [past, future] = [new Date(Date.now() - 60_000), new Date(Date.now() + 3_600_000)];
      const expired = { names: [HOST], notBefore: new Date(0), notAfter: past };
      expect(await attempt(issued(expired))).to.equal("tls_failed");
      expect(await attempt(issued({ names: [HOST], notBefore: future }))).to.equal("tls_failed");
    });

    it("refuses a certificate that signs itself [G2]", async () => {
      expect(await attempt(authority().selfSigned({ names: [HOST] }))).to.equal("tls_failed");
    });

    it("checks the certificate of a literal address against that address [G2]", async () => {
      expect(await attempt(issued({ ips: ["127.0.0.1"] }), "127.0.0.1")).to.equal("ok");
      expect(await attempt(issued({ names: [HOST] }), "127.0.0.1")).to.equal("tls_failed");
    });

    it("stays strict where the environment says otherwise [G2, G8]", async () => {
      const before = process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
      process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
      try {
        expect(await attempt(authority().selfSigned({ names: [HOST] }))).to.equal("tls_failed");
      } finally {
        if (before === undefined) delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
        else process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = before;
      }
    });
  });

  describe("the pin", () => {
    it("never leads elsewhere when the resolver changes its answer, not even for a new connection [G2]", async () => {
      const { port, listener } = await echoServer(issued({ names: [HOST] }));
      const elsewhere = await countingListener(bench, "::1", Number(port));
      let asked = 0;
      const resolve = () => {
        asked += 1;
        return asked === 1 ? ["127.0.0.1"] : ["::1"];
      };
      const url = `https://${HOST}:${port}/mcp`;
      const connection = await pinned(url, network({ resolve, treatAsPublic: ["127.0.0.1", "::1"] }));
      await (await connection.fetch(url)).text();
      const responses = await Promise.all(Array.from({ length: 4 }, () => connection.fetch(url)));
      for (const response of responses) await response.text();
      expect(listener.connections).to.be.greaterThan(1);
      expect([asked, elsewhere.connections]).to.deep.equal([1, 0]);
    });

    it("keeps to the address that answered first, of several [G2]", async () => {
      // Nothing listens on ::1, so the first connection falls back to the other address.
      const { port } = await echoServer(issued({ names: [HOST] }));
      const both = { resolve: () => ["::1", "127.0.0.1"], treatAsPublic: ["127.0.0.1", "::1"] };
      const url = `https://${HOST}:${port}/mcp`;
      const connection = await pinned(url, network(both));
      await (await connection.fetch(url)).text();
      const late = await countingListener(bench, "::1", Number(port));
      const responses = await Promise.all(Array.from({ length: 4 }, () => connection.fetch(url)));
      for (const response of responses) await response.text();
      expect(late.connections).to.equal(0);
    });
  });

  describe("requests", () => {
    async function serverWith(
      answer: (path: string) => [number, Record<string, string>, string],
    ): Promise<string> {
      const server = createServer(issued({ names: [HOST] }), (request, response) => {
        const [status, headers, body] = answer(request.url ?? "");
        response.writeHead(status, headers).end(body);
      });
      const listener = new LoopbackListener(server);
      const address = await listener.listen();
      bench.onClose(() => listener.close());
      return `https://${HOST}:${new URL(`http://${address}`).port}/mcp`;
    }

    it("follow no redirect, not even within the origin [G2]", async () => {
      const paths: string[] = [];
      const url = await serverWith((path) => {
        paths.push(path);
        return [307, { location: "/other" }, ""];
      });
      expect(await rejection((await pinned(url)).fetch(url, { redirect: "follow" }))).to.be.instanceOf(Error);
      expect(paths).to.deep.equal(["/mcp"]);
    });

    it("go to the endpoint itself and nowhere else [G2]", async () => {
      const url = await serverWith(() => [200, {}, "ok"]);
      const connection = await pinned(url);
      expect(await rejection(connection.fetch(`${url}/other`))).to.be.instanceOf(Error);
      expect(await rejection(connection.fetch("https://example.com/mcp"))).to.be.instanceOf(Error);
    });

    it("refuse a compressed answer, which was not asked for [G2]", async () => {
      const url = await serverWith(() => [200, { "content-encoding": "gzip" }, "x"]);
      expect(await rejection((await pinned(url)).fetch(url))).to.be.instanceOf(Error);
    });

    it("give up connecting when the connection is closed [G7]", async () => {
      const stalling = await stallingServer(bench);
      const url = `https://${HOST}:${new URL(stalling.origin).port}/mcp`;
      const connection = await pinned(url);
      const asking = rejection(connection.fetch(url));
      await Promise.race([stalling.connected, asking]);
      await connection.destroy();
      expect(await asking).to.be.instanceOf(Error);
      await stalling.listener.waitForSocketClose();
    });

    it("give up connecting when the signal fires that they are made under [G7]", async () => {
      const stalling = await stallingServer(bench);
      const url = `https://${HOST}:${new URL(stalling.origin).port}/mcp`;
      const connection = await pinned(url);
      const controller = new AbortController();
      const asking = connection.fetch(url, { signal: controller.signal });
      await Promise.race([stalling.connected, asking]);
      controller.abort();
      expect(await rejection(asking)).to.be.instanceOf(Error);
      await stalling.listener.waitForSocketClose();
    });

    it("end with the signal they are made under, and their connection with them [G7]", async () => {
      const server = createServer(issued({ names: [HOST] }));
      const listener = new LoopbackListener(server);
      const url = `https://${HOST}:${new URL(`http://${await listener.listen()}`).port}/mcp`;
      bench.onClose(() => listener.close());
      const connection = await pinned(url);
      const controller = new AbortController();
      const arrived = once(server, "request");
      const asking = connection.fetch(url, { signal: controller.signal });
      await arrived;
      controller.abort();
      expect(await rejection(asking)).to.be.instanceOf(Error);
      await listener.waitForSocketClose();
    });
  });
});
