// Loaded only for a preflight: an installed plugin that nobody configured loads no undici (SPEC P1.4).
import { connect as connectTcp, isIP } from "node:net";
import type { LookupFunction, Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import { Client } from "undici";
import type { buildConnector } from "undici";

import { BodyBuffer } from "./body_buffer.ts";

/** Why one request to the Guild gave no JSON document (SPEC P8). The caller adds `deadline` and `inconsistent`. */
export type RequestError =
  | "connect"
  | "tls"
  | "status"
  | "redirect"
  | "encoding"
  | "content_type"
  | "too_large"
  | "truncated";

/** One GET of one JSON document, with everything that it depends on: nothing comes from the environment (SPEC P6.8). */
export interface GuildRequest {
  /** Scheme, host and port, as `https://guild.example.com`. */
  readonly origin: string;
  /** Path and query, already encoded. */
  readonly path: string;
  /** How host names become addresses. */
  readonly lookup: LookupFunction;
  /** The largest body that is read, in bytes. */
  readonly maxBytes: number;
  /** Ends the request at once; its connection is closed and the promise rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Certificates to trust in place of the system's, in PEM: for tests with a certificate authority of their own. */
  readonly ca?: string;
}

/** How a request ended. */
export type GuildResponse =
  | { readonly kind: "body"; readonly body: Uint8Array; readonly headers: ResponseHeaders }
  | { readonly kind: "failed"; readonly error: RequestError };

/** Response headers by lower-case name; a header that came more than once is a list. */
export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** What status lines, headers, chunk framing and TLS may add to a body, in bytes. */
const MAX_FRAMING_BYTES = 262_144;

const HEADERS = { "user-agent": "agent-guild-preflight", accept: "application/json" };

/**
 * Makes one bounded GET on a connection of its own and closes it: no redirect, no retry, no proxy, no
 * decompression, no header but `User-Agent` and `Accept` beside HTTP's own (SPEC P6.1, P6.4, P6.5).
 *
 * @throws the reason of `signal` once that has fired; nothing else
 */
export async function requestJson(request: GuildRequest): Promise<GuildResponse> {
  const { signal } = request;
  signal.throwIfAborted();
  const connection = new OwnConnection(request);
  // The idle timers of the client are off: the one deadline is the signal's.
  const client = new Client(request.origin, {
    connect: (options, callback) => connection.open(options, callback),
    headersTimeout: 0,
    bodyTimeout: 0,
    pipelining: 1,
  });
  const close = () => {
    connection.destroy();
    // Rejects whatever is pending; what it reports is what was asked for.
    client.destroy().catch(() => undefined);
  };
  signal.addEventListener("abort", close, { once: true });
  try {
    return await exchange(client, request);
  } catch (error) {
    return { kind: "failed", error: errorCode(error, connection) };
  } finally {
    signal.removeEventListener("abort", close);
    close();
    signal.throwIfAborted();
  }
}

async function exchange(client: Client, request: GuildRequest): Promise<GuildResponse> {
  const response = await client.request({ method: "GET", path: request.path, headers: HEADERS });
  const refusal = refusalOf(response.statusCode, response.headers, request.maxBytes);
  // The connection is about to be closed: what the body's stream says about that does not matter any more.
  response.body.on("error", () => undefined);
  if (refusal !== null) return { kind: "failed", error: refusal };
  const body = new BodyBuffer(request.maxBytes);
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    if (!body.add(chunk)) return { kind: "failed", error: "too_large" };
  }
  return { kind: "body", body: body.bytes, headers: response.headers };
}

/** What the head of an answer alone is refused for, before any of its body is read. */
function refusalOf(status: number, headers: ResponseHeaders, maxBytes: number): RequestError | null {
  if (status >= 300 && status < 400) return "redirect";
  if (status !== 200) return "status";
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && !(typeof encoding === "string" && /^\s*identity\s*$/i.test(encoding))) {
    return "encoding";
  }
  const type = headers["content-type"];
  if (typeof type !== "string" || !/^\s*application\/json\s*(?:;|$)/i.test(type)) return "content_type";
  return Number(headers["content-length"] ?? 0) > maxBytes ? "too_large" : null;
}

function errorCode(error: unknown, connection: OwnConnection): RequestError {
  if (connection.phase !== "open") return connection.phase;
  if (connection.sentTooMuch) return "too_large";
  const code = (error as { code?: unknown } | null)?.code;
  return code === "UND_ERR_HEADERS_OVERFLOW" ? "too_large" : "truncated";
}

/**
 * The connection of one request. Made here and not by the client, so that it can be closed in every phase: while a
 * name is looked up (the result is dropped then, and no connect follows), while TCP connects, while TLS shakes hands.
 */
class OwnConnection {
  phase: "connect" | "tls" | "open" = "connect";
  /** Whether more came than any answer within the cap needs, whatever it was: interim answers, chunk extensions. */
  sentTooMuch = false;
  #socket: Socket | null = null;
  readonly #request: GuildRequest;

  constructor(request: GuildRequest) {
    this.#request = request;
  }

  open(options: buildConnector.Options, callback: buildConnector.Callback): void {
    const { lookup, ca, signal } = this.#request;
    const secure = options.protocol === "https:";
    const port = Number(options.port) || (secure ? 443 : 80);
    const target = { host: options.hostname, port, lookup, autoSelectFamily: true };
    const socket = secure
      ? connectTls({
          ...target,
          // Without a name in the handshake a front end that serves many has no certificate to show.
          ...(isIP(options.hostname) === 0 ? { servername: options.hostname } : {}),
          ...(ca === undefined ? {} : { ca }),
          ALPNProtocols: ["http/1.1"],
          rejectUnauthorized: true,
        })
      : connectTcp(target);
    this.#socket = socket;
    socket.on("readable", () => {
      if (socket.bytesRead <= this.#request.maxBytes + MAX_FRAMING_BYTES) return;
      this.sentTooMuch = true;
      socket.destroy();
    });
    if (signal.aborted) socket.destroy();
    const report = once((error: Error | null) =>
      error === null ? callback(null, socket) : callback(error, null),
    );
    socket.once("connect", () => {
      this.phase = secure ? "tls" : "open";
    });
    socket.once(secure ? "secureConnect" : "connect", () => {
      this.phase = "open";
      report(null);
    });
    socket.once("error", report);
    socket.once("close", () => report(new Error("the connection was closed")));
  }

  destroy(): void {
    this.#socket?.destroy();
  }
}

function once<Argument>(action: (argument: Argument) => void): (argument: Argument) => void {
  let done = false;
  return (argument) => {
    if (done) return;
    done = true;
    action(argument);
  };
}
