import { AsyncLocalStorage } from "node:async_hooks";
import { isIP } from "node:net";
import { connect as connectTls } from "node:tls";
import type { TLSSocket } from "node:tls";

import { Agent } from "undici";
import type { buildConnector } from "undici";

import { McpFailure, systemCode } from "../mcp/failure.ts";
import { fetchOver, letGo } from "../mcp/http_carrier.ts";
import type { Carrier } from "../mcp/http_carrier.ts";
import { abortable } from "./cancellation.ts";
import { GuardedAgentError } from "./errors.ts";
import { screenHost } from "./network.ts";
import type { Network } from "./network.ts";
import { lookupOf } from "./screened_lookup.ts";

/** The largest answer that is read, in bytes; a longer one fails the request. */
export const MAX_RESPONSE_BYTES = 8 * 1024 * 1024;

/** How long TCP and TLS may take, in milliseconds. */
const CONNECT_MS = 10_000;

/** The addresses that a connection may lead to. */
type Addresses = readonly [string, ...string[]];

/**
 * All HTTP traffic with one endpoint. The host's addresses are resolved and screened once; every socket, now and
 * later, leads to one of them, and from the first that stands on to that one alone (SPEC G2). TLS names the host, not
 * the address. No redirect, no proxy, no decompression, and no dispatcher but its own.
 */
export class PinnedConnection implements Carrier {
  /** In which phase the latest attempt to connect failed; `null` once one stood. */
  failure: "connect_failed" | "tls_failed" | null = null;
  readonly #url: URL;
  readonly #ca: string | null;
  readonly #agent: Agent;
  readonly #sockets = new Set<TLSSocket>();
  readonly #callSignal = new AsyncLocalStorage<AbortSignal>();
  readonly #screened: Addresses;
  #addresses: Addresses;

  private constructor(url: URL, addresses: Addresses, ca: string | null) {
    this.#url = url;
    this.#ca = ca;
    this.#screened = addresses;
    this.#addresses = addresses;
    this.#agent = new Agent({
      connect: (_options, callback) => this.#connect(callback),
      maxResponseSize: MAX_RESPONSE_BYTES,
      // Idle timers are off: each call has a deadline of its own.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /**
   * Screens the addresses of an endpoint's host. Nothing is connected to yet.
   *
   * @param endpoint - an `https` URL
   * @throws GuardedAgentError `resolution_failed` or `address_refused`; the reason of `signal` when that fires first
   */
  static async prepare(endpoint: string, network: Network, signal: AbortSignal): Promise<PinnedConnection> {
    const url = new URL(endpoint);
    // The system's resolver cannot be interrupted: what it says after an abort is dropped.
    const screening = await abortable(screenHost(hostOf(url), network), signal);
    if (screening.kind === "refused") throw new GuardedAgentError(screening.error);
    return new PinnedConnection(url, screening.addresses, network.ca);
  }

  /** Another connection to the addresses that were screened for this one. Nothing is resolved again. */
  again(): PinnedConnection {
    return new PinnedConnection(this.#url, this.#screened, this.#ca);
  }

  /**
   * Makes one request to the endpoint itself. It ends, and a socket that is still connecting for it closes, when the
   * signal of `init` fires.
   *
   * @throws Error for any other URL, a redirect unless it is to be given back as it is, and whatever the network does;
   * McpFailure for a compressed answer
   */
  readonly fetch = async (
    url: string,
    init: RequestInit = {},
    sending: () => void = () => undefined,
  ): Promise<Response> => {
    if (url !== this.#url.href) throw new Error("only the endpoint itself is asked");
    const signal = init.signal ?? null;
    signal?.throwIfAborted();
    const headers = new Headers(init.headers);
    headers.set("accept-encoding", "identity");
    const redirect = init.redirect === "manual" ? "manual" : "error";
    const request = () => fetchOver(this.#agent, url, { ...init, headers, redirect }, sending);
    const response = await (signal === null ? request() : this.#callSignal.run(signal, request));
    const encoding = response.headers.get("content-encoding");
    if (encoding === null || encoding.trim().toLowerCase() === "identity") return response;
    // A few KiB could unpack to more than the bound on what is read.
    await letGo(response);
    throw McpFailure.unknownEnd("the answer is compressed, though that was not asked for");
  };

  /** Closes every socket and fails every request under way; may be called again. */
  async destroy(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    if (!this.#agent.destroyed) await this.#agent.destroy();
  }

  #connect(callback: buildConnector.Callback): void {
    const socket = this.#openSocket();
    const signal = this.#callSignal.getStore();
    const report = (error: Error | null) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", giveUp);
      socket.off("error", onFailure).off("close", onFailure);
      // From here on errors are undici's; this listener only keeps one that comes between from being nobody's.
      socket.on("error", () => undefined);
      if (error === null) callback(null, socket);
      else callback(error, null);
    };
    // A socket that only closes was given up.
    const onFailure = (error?: unknown) =>
      report(Object.assign(new Error("no connection"), { code: systemCode(error) ?? "ETIMEDOUT" }));
    const giveUp = () => socket.destroy();
    const timer = setTimeout(giveUp, CONNECT_MS);
    signal?.addEventListener("abort", giveUp);
    if (signal?.aborted === true) giveUp();
    this.failure = "connect_failed";
    socket
      .once("error", onFailure)
      .once("close", onFailure)
      .once("connect", () => {
        this.failure = "tls_failed";
      })
      .once("secureConnect", () => {
        if (this.#pinTo(socket)) {
          this.failure = null;
          report(null);
        } else {
          socket.destroy();
        }
      });
  }

  #openSocket(): TLSSocket {
    const host = hostOf(this.#url);
    // A literal address is never looked up; it was screened like the others.
    const target = {
      host,
      port: Number(this.#url.port) || 443,
      lookup: lookupOf(this.#addresses),
      autoSelectFamily: true,
    };
    const socket = connectTls({
      ...target,
      // An absolute name ends in a dot, which neither SNI nor certificates have.
      ...(isIP(host) === 0 ? { servername: host.replace(/\.$/, "") } : {}),
      ...(this.#ca === null ? {} : { ca: this.#ca }),
      ALPNProtocols: ["http/1.1"],
      rejectUnauthorized: true,
    });
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    return socket;
  }

  /** Keeps to the address of the first socket that stands. `false` for a socket that leads anywhere else. */
  #pinTo(socket: TLSSocket): boolean {
    const address = this.#addresses.find((known) => known === socket.remoteAddress);
    if (address === undefined) return false;
    this.#addresses = [address];
    return true;
  }
}

/** The host of a URL without brackets. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}
