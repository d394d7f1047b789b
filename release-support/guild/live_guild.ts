import { lookup as systemLookup } from "node:dns";
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { LookupFunction } from "node:net";
import { performance } from "node:perf_hooks";

import { readRegistry } from "./guild_registry.ts";
import type { RegistryFile } from "./guild_registry.ts";
import type { PreflightBody } from "./preflight_bodies.ts";
import { probeTarget } from "./probe.ts";
import type { ProbeSettings } from "./probe.ts";
import { REQUEST_MS } from "./probe_request.ts";
import { Slots } from "../slots.ts";
import { preflightReport } from "./report.ts";

/** One preflight that the service has made. */
export interface LivePreflight {
  readonly body: PreflightBody;
  /** How long it took, waiting for a slot included, in milliseconds. */
  readonly ms: number;
}

/** How to start one. */
export interface LiveGuildOptions {
  /** 0 to 65535; 0, the default, takes a free one. */
  readonly port?: number;
  /** A loopback address only: a prober that others can reach would probe for them. Default 127.0.0.1. */
  readonly host?: "127.0.0.1" | "::1";
  /** Lets targets be on loopback and on any port: for tests and the demo. Default false. */
  readonly allowLoopback?: boolean;
  /** The path of a registry file, or what it would hold; without it no evidence is independent. */
  readonly registry?: string | RegistryFile;
  /** How many probes run at once, from 1; the others wait. Default 8. */
  readonly concurrency?: number;
  /** How long each request of a probe may take, in milliseconds, from 1 to 3000, the default. */
  readonly requestMs?: number;
  /** How host names become addresses; the system's own way unless a test says otherwise. */
  readonly lookup?: LookupFunction;
  /** Certificates to trust in place of the system's, in PEM. */
  readonly ca?: string;
  /** Told of each preflight once it is made, before it is sent. */
  readonly onPreflight?: (preflight: LivePreflight) => void;
  /** Closes the service. */
  readonly signal?: AbortSignal;
}

/** A running live Guild. */
export interface LiveGuild {
  /** As `http://127.0.0.1:PORT`. */
  readonly origin: string;
  /** How many HTTP requests have arrived so far. */
  readonly requests: number;
  /** Ends every probe and connection and stops listening; may be called again. */
  close(): Promise<void>;
}

/**
 * Starts a Guild on loopback that really probes (SPEC S2): `GET /preflight?url=...` answers 200 with what the endpoint
 * proves right now, a URL that the policy refuses included; without `url` 422, other paths 404, other methods 405.
 *
 * @throws TypeError for options outside their bounds and for a registry that is none; the reason of `signal` when that
 * has fired already; the system's error when the port cannot be had
 */
export async function startLiveGuild(options: LiveGuildOptions = {}): Promise<LiveGuild> {
  const { port = 0, host = "127.0.0.1", concurrency = 8, requestMs = REQUEST_MS, signal } = options;
  requireInteger("port", port, 0, 65_535);
  requireInteger("concurrency", concurrency, 1, Number.MAX_SAFE_INTEGER);
  requireInteger("requestMs", requestMs, 1, REQUEST_MS);
  if (!["127.0.0.1", "::1"].includes(host)) throw new TypeError("host: expected 127.0.0.1 or ::1");
  signal?.throwIfAborted();
  const settings = {
    allowLoopback: options.allowLoopback ?? false,
    registry: await readRegistry(options.registry),
    lookup: options.lookup ?? systemLookup,
    ca: options.ca ?? null,
    requestMs,
  };
  const guild = new LiveGuildService(settings, new Slots(concurrency), options.onPreflight);
  await guild.listen(port, host);
  guild.closeOn(signal);
  return guild;
}

function requireInteger(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw new TypeError(`${name}: expected a whole number from ${least} to ${most}`);
}

/** An answer of the service: always JSON. */
interface ServiceAnswer {
  readonly status: number;
  readonly json: object;
}

class LiveGuildService implements LiveGuild {
  origin = "";
  requests = 0;
  readonly #settings: ProbeSettings;
  readonly #slots: Slots;
  readonly #onPreflight: (preflight: LivePreflight) => void;
  readonly #server: Server;
  /** Requests that are being answered: how to end each, and when it has ended. */
  readonly #running = new Map<AbortController, Promise<void>>();
  #closing: Promise<void> | null = null;

  constructor(
    settings: ProbeSettings,
    slots: Slots,
    onPreflight: (preflight: LivePreflight) => void = () => undefined,
  ) {
    this.#settings = settings;
    this.#slots = slots;
    this.#onPreflight = onPreflight;
    this.#server = createServer((request, response) => this.#onRequest(request, response));
  }

  async listen(port: number, host: string): Promise<void> {
    this.#server.listen(port, host);
    await once(this.#server, "listening");
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the service has no port");
    this.origin = `http://${host === "::1" ? "[::1]" : host}:${address.port}`;
  }

  closeOn(signal: AbortSignal | undefined): void {
    if (signal === undefined) return;
    const close = () => void this.close();
    signal.addEventListener("abort", close, { once: true });
    this.#server.once("close", () => signal.removeEventListener("abort", close));
    if (signal.aborted) close();
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  async #shutDown(): Promise<void> {
    const closed = new Promise((resolve) => {
      this.#server.close(resolve);
    });
    for (const end of this.#running.keys()) end.abort();
    this.#server.closeAllConnections();
    await Promise.all([closed, ...this.#running.values()]);
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    this.requests += 1;
    const end = new AbortController();
    // Who asked and left gets no answer, and the endpoint no further traffic.
    response.once("close", () => end.abort());
    const answering = this.#respond(request, response, end.signal).finally(() => this.#running.delete(end));
    this.#running.set(end, answering);
  }

  async #respond(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    let answer: ServiceAnswer;
    try {
      answer = await this.#answerTo(request, signal);
    } catch {
      if (signal.aborted) return;
      answer = problem(500, "the probe failed in this service itself");
    }
    const body = JSON.stringify(answer.json);
    response.writeHead(answer.status, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "cache-control": "no-store",
      ...(answer.status === 405 ? { allow: "GET" } : {}),
    });
    response.end(body);
  }

  async #answerTo({ method, url = "" }: IncomingMessage, signal: AbortSignal): Promise<ServiceAnswer> {
    const [, path, query] = /^([^?]*)\??(.*)$/s.exec(url) ?? [];
    if (path !== "/preflight") return problem(404, "there is no such path; ask /preflight");
    if (method !== "GET") return problem(405, "only GET is answered here");
    const target = new URLSearchParams(query).get("url");
    if (target === null) return problem(422, "the query parameter url is missing");
    return { status: 200, json: await this.#preflight(target, signal) };
  }

  async #preflight(target: string, signal: AbortSignal): Promise<PreflightBody> {
    const begin = performance.now();
    const findings = await this.#slots.run(() => probeTarget(target, this.#settings, signal), signal);
    const body = preflightReport(target, findings);
    this.#onPreflight({ body, ms: performance.now() - begin });
    return body;
  }
}

function problem(status: number, detail: string): ServiceAnswer {
  return { status, json: { detail } };
}
