import { EventEmitter, once } from "node:events";
import { createServer as createHttpServer, get } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { buffer } from "node:stream/consumers";

import { expect } from "chai";

import { readPreflightAnswer } from "../../../../helpers/preflight/preflight_contract.ts";
import { readStrictAnswer } from "../../../guarded-agent/strict_contract.ts";
import { startLiveGuild } from "../../../guild/live_guild.ts";
import type { LiveGuild, LiveGuildOptions } from "../../../guild/live_guild.ts";
import type { CheckName, CheckStatus, PreflightBody } from "../../../guild/preflight_bodies.ts";
import { LoopbackListener } from "../../../guild/scripted_guild.ts";

/** What an endpoint does with one request. */
export type Reply = (response: ServerResponse, request: IncomingMessage) => void;

/** Replies by method and path, as `POST /mcp`; everything else is 404. */
export type Routes = Readonly<Record<string, Reply>>;

/** One request as it arrived. */
export interface SeenRequest {
  /** As `POST /mcp`. */
  readonly line: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An endpoint for probes: an HTTP server on loopback that does what its routes say. */
export class ProbedEndpoint {
  origin = "";
  readonly seen: SeenRequest[] = [];
  readonly listener: LoopbackListener;
  readonly #events = new EventEmitter();

  private constructor(routes: Routes, tls: { readonly key: string; readonly cert: string } | undefined) {
    const onRequest = (request: IncomingMessage, response: ServerResponse) => {
      void buffer(request).then((body) => {
        const { method = "", url = "", headers } = request;
        const line = `${method} ${url}`;
        this.seen.push({ line, headers, body: body.toString() });
        this.#events.emit("request");
        const reply = Object.hasOwn(routes, line) ? routes[line] : undefined;
        (reply ?? answer(404, "nothing here", "text/plain"))(response, request);
      });
    };
    const server = tls === undefined ? createHttpServer(onRequest) : createHttpsServer(tls, onRequest);
    // A probe that gives up while TLS shakes hands is what some tests are about.
    server.on("tlsClientError", () => undefined);
    this.listener = new LoopbackListener(server);
  }

  static async start(
    routes: Routes,
    tls?: { readonly key: string; readonly cert: string },
    family: 4 | 6 = 4,
  ): Promise<ProbedEndpoint> {
    const endpoint = new ProbedEndpoint(routes, tls);
    const scheme = tls === undefined ? "http" : "https";
    endpoint.origin = `${scheme}://${await endpoint.listener.listen(family)}`;
    return endpoint;
  }

  get port(): string {
    return new URL(this.origin).port;
  }

  /** Method and path of every request, in order. */
  get lines(): readonly string[] {
    return this.seen.map(({ line }) => line);
  }

  async waitForRequests(count: number): Promise<void> {
    while (this.seen.length < count) await once(this.#events, "request");
  }
}

/** A complete answer. */
export function answer(status: number, body: string | Uint8Array = "", type = "application/json"): Reply {
  return (response) => {
    response.writeHead(status, { "content-type": type });
    response.end(body);
  };
}

/** A complete JSON answer. */
export function json(value: unknown, status = 200): Reply {
  return answer(status, JSON.stringify(value));
}

/** A complete event stream. */
export function eventStream(text: string): Reply {
  return answer(200, text, "text/event-stream");
}

/** An answer that begins and never ends. */
export function unfinished(beginning: string, type = "application/json"): Reply {
  return (response) => {
    response.writeHead(200, { "content-type": type });
    response.write(beginning);
  };
}

/** An answer whose connection is lost in the middle of the body. */
export function torn(beginning: string): Reply {
  return (response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": 5000 });
    response.write(beginning, () => response.destroy());
  };
}

export function redirect(location: string, status = 302): Reply {
  return (response) => {
    response.writeHead(status, { location });
    response.end();
  };
}

/** No answer at all; the connection stays open. */
export const silence: Reply = () => undefined;

/** The connection is lost before a status line. */
export const hangUp: Reply = (response) => {
  response.destroy();
};

/** An InitializeResult in its JSON-RPC response, with some of it replaced. */
export function initializeResponse(
  replaced: { readonly response?: object; readonly result?: object } = {},
): object {
  return {
    jsonrpc: "2.0",
    id: 1,
    result: {
      protocolVersion: "2025-03-26",
      capabilities: { tools: {} },
      serverInfo: { name: "synthetic", version: "1.0.0" },
      ...replaced.result,
    },
    ...replaced.response,
  };
}

/** One event of a stream. */
export function event(message: object): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}

export const CARD_LINE = "GET /.well-known/agent-card.json";

/** The statuses in the service's order, each by its first letter: p, f, u. */
export function summary({ checks }: PreflightBody): string {
  return checks.map(({ status }) => status.charAt(0)).join("");
}

/** What an answer says about one check. */
export function checkOf(
  body: PreflightBody,
  name: CheckName,
): { status: CheckStatus; [extra: string]: unknown } {
  const found = body.checks.find(({ check }) => check === name);
  if (found === undefined) throw new Error("the check is missing");
  return found;
}

/** One test's endpoints and services; `close` ends them all. */
export class LiveBench {
  readonly #closings: (() => Promise<unknown>)[] = [];

  onClose(close: () => Promise<unknown>): void {
    this.#closings.unshift(close);
  }

  async endpoint(
    routes: Routes = {},
    tls?: { readonly key: string; readonly cert: string },
    family?: 4 | 6,
  ): Promise<ProbedEndpoint> {
    const endpoint = await ProbedEndpoint.start(routes, tls, family);
    this.onClose(() => endpoint.listener.close());
    return endpoint;
  }

  /** A live Guild for targets on loopback, unless the options say otherwise. */
  async guild(options: LiveGuildOptions = {}): Promise<LiveGuild> {
    const guild = await startLiveGuild({ allowLoopback: true, ...options });
    this.onClose(() => guild.close());
    return guild;
  }

  /** Starts a service for one question. */
  async probe(target: string, options: LiveGuildOptions = {}): Promise<PreflightBody> {
    return await preflight(await this.guild(options), target);
  }

  async close(): Promise<void> {
    for (const close of this.#closings.splice(0)) await close();
  }
}

/** An answer of the service as it came. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Asks a service for any path. */
export async function ask(guild: LiveGuild, path: string, method = "GET"): Promise<RawAnswer> {
  const outgoing = get(guild.origin + path, { method, agent: false });
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) };
}

/** Asks about a target, and holds the answer against both readers of the contract, the plugin's and the guarded agent's. */
export async function preflight(guild: LiveGuild, target: string): Promise<PreflightBody> {
  const { status, headers, body } = await ask(guild, `/preflight?url=${encodeURIComponent(target)}`);
  expect(status).to.equal(200);
  expect(headers["content-type"]).to.equal("application/json");
  expect(readPreflightAnswer(body, target).kind).to.equal("consistent");
  expect(readStrictAnswer(body, target).kind).to.equal("answer");
  return JSON.parse(body.toString()) as PreflightBody;
}
