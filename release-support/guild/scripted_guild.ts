import { EventEmitter, once } from "node:events";
import { createServer as createHttpServer, STATUS_CODES } from "node:http";
import type { IncomingMessage, ServerOptions } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer as createTcpServer } from "node:net";
import type { Server, Socket } from "node:net";
import { gzipSync } from "node:zlib";

import { healthy } from "./preflight_bodies.ts";

/** A body as text, as bytes, as JSON, or made for the URL that is asked about. */
export type AnswerBody =
  | string
  | Uint8Array
  | Readonly<Record<string, unknown>>
  | readonly unknown[]
  | ((target: string) => string | Uint8Array | Readonly<Record<string, unknown>>);

/** Header lines by name; a list repeats the line, `null` takes a default line out. Names are sent as written. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | null>>;

/**
 * What the Guild does with a request for a target (SPEC S1). A `body` that is left out is a healthy answer. Where an
 * answer is complete, the connection stays open unless the client asked to close it: closing is the client's to do.
 */
export type GuildAnswer =
  /** A complete answer; status 200 and JSON unless it says otherwise. */
  | {
      readonly kind: "json";
      readonly body?: AnswerBody;
      readonly status?: number;
      readonly headers?: AnswerHeaders;
    }
  /** Nothing for `ms` milliseconds, then another answer. */
  | { readonly kind: "delay"; readonly ms: number; readonly next: GuildAnswer }
  /** The status line, then `lines` header lines, one every `everyMs` milliseconds, then the rest at once. */
  | {
      readonly kind: "drip_headers";
      readonly everyMs: number;
      readonly lines: number;
      readonly body?: AnswerBody;
    }
  /** The head, then `spaces` single spaces, one every `everyMs` milliseconds, then the body at once. */
  | {
      readonly kind: "drip_body";
      readonly everyMs: number;
      readonly spaces: number;
      readonly body?: AnswerBody;
    }
  /** Reads the request and never answers. */
  | { readonly kind: "silent" }
  /** A TCP reset before any byte, after half of the head, or after the head and half of the body. */
  | { readonly kind: "reset"; readonly at: "start" | "headers" | "body"; readonly body?: AnswerBody }
  /** The whole body, but less than announced, or chunked without the final chunk; then the end. */
  | { readonly kind: "truncated"; readonly framing: "length" | "chunked"; readonly body?: AnswerBody }
  /** A head that announces `bytes` bytes and nothing behind it: who waits for a body waits forever. */
  | { readonly kind: "announced"; readonly bytes: number }
  /** The body with spaces behind it, `totalBytes` bytes together. */
  | {
      readonly kind: "padded";
      readonly totalBytes: number;
      readonly framing: "length" | "chunked";
      readonly body?: AnswerBody;
    }
  /** The body, compressed and labelled so. */
  | { readonly kind: "gzip"; readonly body?: AnswerBody }
  /** A redirect without a body; status 302 unless it says otherwise. */
  | { readonly kind: "redirect"; readonly location: string; readonly status?: number }
  /** A page, as the platform of a sleeping service sends one; status 200 unless it says otherwise. */
  | { readonly kind: "html"; readonly text?: string; readonly status?: number }
  /** Two JSON documents, one behind the other, in one complete answer. */
  | { readonly kind: "two_documents"; readonly first?: AnswerBody; readonly second?: AnswerBody }
  /** Exactly these bytes on the wire, then the end, a reset, or nothing more. */
  | {
      readonly kind: "raw";
      readonly bytes: string | Uint8Array;
      readonly ending: "end" | "reset" | "stay_open";
    }
  /** Whatever a test needs beyond these: it writes on the socket itself. */
  | { readonly kind: "custom"; readonly respond: (request: GuildRequestRecord, socket: Socket) => void };

/** One request as it arrived. */
export interface GuildRequestRecord {
  readonly method: string;
  /** The request target as on the wire, query included. */
  readonly path: string;
  /** The `url` parameter, decoded; `null` when there is none. */
  readonly url: string | null;
  /** Names and values in turn, as received: Node's own form. */
  readonly rawHeaders: readonly string[];
  /** How many bytes of body came with it so far. */
  readonly bodyBytes: number;
  readonly at: Date;
}

/** A gate that a test holds shut. */
export interface Hold {
  /** Resolves when the first request stands before the gate. */
  readonly arrived: Promise<void>;
  /** Opens the gate, once and for all. */
  release(): void;
}

/** How to start one. */
export interface ScriptedGuildOptions {
  /** 4 listens on 127.0.0.1 (the default), 6 on ::1. */
  readonly family?: 4 | 6;
  /** Speaks HTTPS with this key and certificate, in PEM. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** An https origin that accepts TCP and reads, but never shakes hands; no request is ever seen. */
  readonly tlsStall?: boolean;
}

/** A running scripted Guild. */
export interface ScriptedGuild {
  /** As `http://127.0.0.1:PORT`. */
  readonly origin: string;
  /** Every request, in order of arrival, whatever its method and path. */
  readonly requests: readonly GuildRequestRecord[];
  /** How many connections are open now. */
  readonly openSockets: number;
  /** Scripts the answer for one target, or with `"*"` for every target without one; replaces an earlier script. */
  answer(target: string, answer: GuildAnswer): void;
  /** Keeps requests for one target (`"*"`: for any) waiting until released; then the script of that moment applies. */
  hold(target: string): Hold;
  /** Resolves once at least `count` requests have arrived. */
  waitForRequests(count: number): Promise<void>;
  /** Resolves once no connection is open. */
  waitForSocketClose(): Promise<void>;
  /** Drops every connection and stops listening; may be called again. */
  close(): Promise<void>;
}

/**
 * Starts a Guild whose answers are scripted (SPEC S1): `GET /preflight?url=...` gets the answer for its target, by
 * default a healthy one; without `url` 422, other paths 404. Listens on a free port of the loopback interface.
 */
export async function startScriptedGuild(options: ScriptedGuildOptions = {}): Promise<ScriptedGuild> {
  const guild = new LoopbackGuild(options);
  await guild.listen(options);
  return guild;
}

/** A server on a free loopback port, with an eye on its connections. Shared with the other fixtures. */
export class LoopbackListener {
  /** How many connections were accepted so far. */
  connections = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #events = new EventEmitter();
  #closing: Promise<void> | null = null;

  constructor(server: Server) {
    this.#server = server;
    server.on("connection", (socket: Socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      // A client that resets is what many tests are about.
      socket.on("error", () => undefined);
      socket.once("close", () => {
        this.#sockets.delete(socket);
        this.#events.emit("close");
      });
    });
  }

  /** @returns host and port, as they stand in a URL */
  async listen(family: 4 | 6 = 4): Promise<string> {
    this.#server.listen(0, family === 6 ? "::1" : "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the server has no port");
    const { port } = address;
    return family === 6 ? `[::1]:${port}` : `127.0.0.1:${port}`;
  }

  get openSockets(): number {
    return this.#sockets.size;
  }

  /** Resolves once no connection is open. */
  async waitForSocketClose(): Promise<void> {
    while (this.#sockets.size > 0) await once(this.#events, "close");
  }

  /** Resets the TCP connection under a socket; a TLS socket cannot do that itself. */
  reset(socket: Socket): void {
    const { remotePort } = socket;
    [...this.#sockets].find((tcp) => tcp.remotePort === remotePort)?.resetAndDestroy();
  }

  /** Drops every connection and stops listening; may be called again. */
  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  async #shutDown(): Promise<void> {
    const closed = new Promise((resolve) => {
      this.#server.close(resolve);
    });
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all([closed, this.waitForSocketClose()]);
  }
}

/** Gates by name. Shared with the other fixtures. */
export class Gates {
  readonly #shut = new Map<string, { readonly arrival: Latch; readonly opening: Latch }>();

  /** Shuts the gate of that name; another `hold` of it shuts a new one for who comes after. */
  hold(name: string): Hold {
    const gate = { arrival: new Latch(), opening: new Latch() };
    this.#shut.set(name, gate);
    return {
      arrived: gate.arrival.released,
      release: () => {
        if (this.#shut.get(name) === gate) this.#shut.delete(name);
        gate.opening.release();
      },
    };
  }

  /** Resolves at once, unless the gate of that name is shut. */
  async pass(name: string): Promise<void> {
    const gate = this.#shut.get(name);
    gate?.arrival.release();
    await gate?.opening.released;
  }
}

/** A promise that is resolved from outside. */
class Latch {
  release!: () => void;
  readonly released = new Promise<void>((resolve) => {
    this.release = resolve;
  });
}

/** One request that is to be answered. */
interface Exchange {
  readonly request: GuildRequestRecord;
  readonly target: string;
  readonly socket: Socket;
  /** Whether the client asked for the connection to end with the answer. */
  readonly closes: boolean;
  readonly reset: () => void;
}

class LoopbackGuild implements ScriptedGuild {
  origin = "";
  readonly #requests: GuildRequestRecord[] = [];
  readonly #answers = new Map<string, GuildAnswer>([["*", { kind: "json" }]]);
  readonly #gates = new Gates();
  readonly #events = new EventEmitter();
  readonly #listener: LoopbackListener;

  constructor(options: ScriptedGuildOptions) {
    this.#listener = new LoopbackListener(this.#server(options));
  }

  async listen({ family, tls, tlsStall }: ScriptedGuildOptions): Promise<void> {
    const scheme = tls !== undefined || tlsStall === true ? "https" : "http";
    this.origin = `${scheme}://${await this.#listener.listen(family)}`;
  }

  get requests(): readonly GuildRequestRecord[] {
    return this.#requests;
  }

  get openSockets(): number {
    return this.#listener.openSockets;
  }

  answer(target: string, answer: GuildAnswer): void {
    this.#answers.set(target, answer);
  }

  hold(target: string): Hold {
    return this.#gates.hold(target);
  }

  async waitForRequests(count: number): Promise<void> {
    while (this.#requests.length < count) await once(this.#events, "request");
  }

  waitForSocketClose(): Promise<void> {
    return this.#listener.waitForSocketClose();
  }

  close(): Promise<void> {
    return this.#listener.close();
  }

  #server({ tls, tlsStall }: ScriptedGuildOptions): Server {
    if (tlsStall === true) return createTcpServer((socket) => socket.resume());
    // Node's parser reads the requests; every answer is written as bytes on the socket. No timer of the server's
    // own may step in.
    const options: ServerOptions = { requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0 };
    const server = tls === undefined ? createHttpServer(options) : createHttpsServer({ ...options, ...tls });
    server.on("request", (message) => this.#onRequest(message));
    server.on("connect", (message, socket) => {
      this.#record(message);
      socket.destroy();
    });
    return server;
  }

  #record(message: IncomingMessage): {
    -readonly [Member in keyof GuildRequestRecord]: GuildRequestRecord[Member];
  } {
    const path = message.url ?? "";
    const request = {
      method: message.method ?? "",
      path,
      url: queryOf(path).get("url"),
      rawHeaders: message.rawHeaders,
      bodyBytes: 0,
      at: new Date(),
    };
    this.#requests.push(request);
    this.#events.emit("request");
    return request;
  }

  #onRequest(message: IncomingMessage): void {
    const request = this.#record(message);
    const { socket } = message;
    message.on("data", (chunk: Buffer) => {
      request.bodyBytes += chunk.length;
    });
    message.on("end", () => {
      const closes = /\bclose\b/i.test(message.headers.connection ?? "");
      const exchange = {
        request,
        target: request.url ?? "",
        socket,
        closes,
        reset: () => this.#listener.reset(socket),
      };
      void this.#reply(exchange);
    });
  }

  async #reply(exchange: Exchange): Promise<void> {
    await this.#gates.pass("*");
    await this.#gates.pass(exchange.target);
    if (!exchange.socket.destroyed) perform(this.#answerTo(exchange.request), exchange);
  }

  #answerTo({ method, path, url }: GuildRequestRecord): GuildAnswer {
    // What stands before the path is left aside: asked as a proxy, it answers too.
    if (!/^(?:http:\/\/[^/?#]*)?\/preflight(?:\?|$)/.test(path)) return problem(404, "no such path");
    if (method !== "GET") return problem(405, "only GET is answered here");
    if (url === null) return problem(422, "the url parameter is missing");
    return this.#answers.get(url) ?? this.#answers.get("*") ?? problem(500, "no answer is scripted");
  }
}

function queryOf(path: string): URLSearchParams {
  const mark = path.indexOf("?");
  return new URLSearchParams(mark < 0 ? "" : path.slice(mark + 1));
}

function problem(status: number, detail: string): GuildAnswer {
  return { kind: "json", status, body: { detail } };
}

function perform(answer: GuildAnswer, exchange: Exchange): void {
  const { socket } = exchange;
  const bodyOf = (body: AnswerBody = healthy) => bytesOf(body, exchange.target);
  switch (answer.kind) {
    case "json": {
      const { status = 200, headers = {} } = answer;
      return complete(exchange, wholeMessage(status, { ...JSON_TYPE, ...headers }, bodyOf(answer.body)));
    }
    case "delay":
      return after(socket, answer.ms, () => perform(answer.next, exchange));
    case "drip_headers": {
      const [statusLine, rest] = splitAfter(wholeMessage(200, JSON_TYPE, bodyOf(answer.body)), CRLF);
      const lines = Array.from({ length: answer.lines }, (_, index) => Buffer.from(`x-drip-${index}: 1\r\n`));
      return drip(exchange, answer.everyMs, [statusLine, ...lines], rest);
    }
    case "drip_body": {
      const body = bodyOf(answer.body);
      const start = head(200, { ...JSON_TYPE, "content-length": String(answer.spaces + body.length) });
      const spaces = Array.from({ length: answer.spaces }, () => SPACE);
      return drip(exchange, answer.everyMs, [start, ...spaces], body);
    }
    case "silent":
      return;
    case "reset": {
      const [start, body] = splitAfter(wholeMessage(200, JSON_TYPE, bodyOf(answer.body)), EMPTY_LINE);
      const sent = { start: EMPTY, headers: firstHalf(start), body: Buffer.concat([start, firstHalf(body)]) };
      socket.write(sent[answer.at], () => resetOnceRead(exchange));
      return;
    }
    case "truncated": {
      const body = bodyOf(answer.body);
      socket.end(
        answer.framing === "chunked"
          ? Buffer.concat([head(200, CHUNKED_JSON), chunkOf(body)])
          : Buffer.concat([head(200, { ...JSON_TYPE, "content-length": String(body.length + 1) }), body]),
      );
      return;
    }
    case "announced":
      socket.write(head(200, { ...JSON_TYPE, "content-length": String(answer.bytes) }));
      return;
    case "padded": {
      const body = bodyOf(answer.body);
      const padded = Buffer.concat([body, Buffer.alloc(answer.totalBytes - body.length, SPACE)]);
      if (answer.framing === "length") return complete(exchange, wholeMessage(200, JSON_TYPE, padded));
      return complete(exchange, Buffer.concat([head(200, CHUNKED_JSON), ...chunksOf(padded), LAST_CHUNK]));
    }
    case "gzip": {
      const headers = { ...JSON_TYPE, "content-encoding": "gzip" };
      return complete(exchange, wholeMessage(200, headers, gzipSync(bodyOf(answer.body))));
    }
    case "redirect":
      return complete(exchange, wholeMessage(answer.status ?? 302, { location: answer.location }, EMPTY));
    case "html": {
      const { status = 200, text = "<!doctype html><title>Synthetic platform page</title>" } = answer;
      return complete(exchange, wholeMessage(status, { "content-type": "text/html" }, Buffer.from(text)));
    }
    case "two_documents": {
      const body = Buffer.concat([bodyOf(answer.first), bodyOf(answer.second)]);
      return complete(exchange, wholeMessage(200, JSON_TYPE, body));
    }
    case "raw":
      socket.write(answer.bytes, () => {
        if (answer.ending === "end") socket.end();
        if (answer.ending === "reset") resetOnceRead(exchange);
      });
      return;
    case "custom":
      return answer.respond(exchange.request, socket);
  }
}

function bytesOf(body: AnswerBody, target: string): Uint8Array {
  const content = typeof body === "function" ? body(target) : body;
  if (content instanceof Uint8Array) return content;
  return Buffer.from(typeof content === "string" ? content : JSON.stringify(content));
}

function complete({ socket, closes }: Exchange, bytes: Uint8Array): void {
  socket.write(bytes);
  if (closes) socket.end();
}

/** Writes the first piece at once, the others one every `everyMs`, then the rest. Ends with the socket. */
function drip(exchange: Exchange, everyMs: number, pieces: readonly Uint8Array[], rest: Uint8Array): void {
  const [piece, ...later] = pieces;
  if (piece === undefined) return complete(exchange, rest);
  exchange.socket.write(piece);
  after(exchange.socket, everyMs, () => drip(exchange, everyMs, later, rest));
}

/**
 * Resets when the client has had the time to read what was written: to a Node client a reset that arrives together with
 * data looks like an ordinary end. The turn of the event loop is for a client in this process.
 */
function resetOnceRead({ socket, reset }: Exchange): void {
  after(socket, 10, () => setImmediate(reset));
}

/** A timer that the end of the connection clears. */
function after(socket: Socket, ms: number, action: () => void): void {
  const cancel = () => clearTimeout(timer);
  const timer = setTimeout(() => {
    socket.off("close", cancel);
    if (!socket.destroyed) action();
  }, ms);
  socket.once("close", cancel);
}

const CRLF = "\r\n";
const EMPTY_LINE = "\r\n\r\n";
const EMPTY = Buffer.alloc(0);
const SPACE = Buffer.from(" ");
const LAST_CHUNK = Buffer.from("0\r\n\r\n");
const JSON_TYPE = { "content-type": "application/json" };
const CHUNKED_JSON = { ...JSON_TYPE, "transfer-encoding": "chunked" };

/** A complete message with an announced length. */
function wholeMessage(status: number, headers: AnswerHeaders, body: Uint8Array): Buffer {
  return Buffer.concat([head(status, { "content-length": String(body.length), ...headers }), body]);
}

function head(status: number, headers: AnswerHeaders): Buffer {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    (value === null ? [] : [value].flat()).map((text) => `${name}: ${text}`),
  );
  const statusLine = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Scripted"}`;
  return Buffer.from([statusLine, ...lines, "", ""].join(CRLF), "latin1");
}

function chunkOf(bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from(CRLF)]);
}

function chunksOf(bytes: Uint8Array): Buffer[] {
  const size = 65_536;
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_, index) =>
    chunkOf(bytes.subarray(index * size, (index + 1) * size)),
  );
}

function splitAfter(bytes: Buffer, mark: string): [Buffer, Buffer] {
  const end = bytes.indexOf(mark) + mark.length;
  return [bytes.subarray(0, end), bytes.subarray(end)];
}

function firstHalf(bytes: Buffer): Buffer {
  return bytes.subarray(0, Math.floor(bytes.length / 2));
}
