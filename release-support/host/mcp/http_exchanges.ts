import { randomUUID } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";

import { Agent as HttpAgent, fetch as undiciFetch } from "undici";

import type { RemoteMcpServer } from "./configuration.ts";
import { McpFailure, systemCode } from "./failure.ts";

/** How many TCP connections one MCP connection may hold; further requests wait for their turn. */
const MAX_SOCKETS = 128;

/**
 * Stands in the `data` of the JSON-RPC error that {@link HttpExchanges} makes itself where a stream ends without an
 * answer. No server can know it, hence none can make such an error.
 */
export const STREAM_ENDED = randomUUID();

/**
 * Lets the event loop go round once: everything that sockets had to say until now is heard then. One turn alone may end
 * before they are looked at again.
 */
async function hearingOfClosedSockets(): Promise<void> {
  await turn();
  await turn();
}

/** What a POST carries, as far as it matters here. */
interface Posted {
  /** The id of the request that wants an answer, or `null`. */
  readonly asks: string | number | null;
  /** The id of the request that is called off, or `null`. */
  readonly cancels: string | number | null;
}

const NOTHING: Posted = { asks: null, cancels: null };

/**
 * The HTTP side of one MCP connection, over sockets of its own. Beside carrying requests it does what the transports of
 * the MCP SDK do not:
 *
 * - a response that cannot lead to an answer is an error at once, in controlled words; nothing is redirected, nothing
 *   sent twice, no proxy of the process used (SPEC H5);
 * - a stream that ends without an answer fails its request at once. It is not resumed either;
 * - a request that is called off gives its socket back, and is not sent any more if it was still waiting for one;
 * - a socket that the server closed while this process was busy is not used any more: a call that is lost on it must
 *   not be sent again;
 * - no signal is shared between requests, so that none gathers listeners.
 */
export class HttpExchanges {
  readonly #agent: HttpAgent;
  readonly #isSse: boolean;
  /** The requests that wait for an answer, by their ids. */
  readonly #underWay = new Map<string | number, AbortController>();

  constructor(server: RemoteMcpServer) {
    this.#isSse = server.transport === "sse";
    this.#agent = new HttpAgent({
      connections: MAX_SOCKETS,
      connect: { rejectUnauthorized: server.verify, timeout: server.initTimeout * 1000 },
      // A tool may think for hours and a stream be silent for days: the limits are those of the entry.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /**
   * Fetches for a transport of the SDK.
   *
   * @throws McpFailure when the server cannot be reached or answers with anything that cannot lead to an answer
   */
  readonly fetch = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const { asks, cancels } = init.method === "POST" ? readPosted(init.body) : NOTHING;
    if (cancels !== null) this.#underWay.get(cancels)?.abort();
    if (asks === null) return await this.#request(url, init);
    const exchange = new AbortController();
    this.#underWay.set(asks, exchange);
    try {
      const response = await this.#request(url, init, exchange.signal);
      return this.#isSse ? response : await this.#withAnswer(asks, response);
    } catch (error) {
      this.#underWay.delete(asks);
      throw error;
    }
  };

  /** Closes every socket at once. */
  async destroy(): Promise<void> {
    await this.#agent.destroy();
  }

  /** @param signal - replaces that of `init`, which the SDK gives to all requests of a connection */
  async #request(url: string | URL, init: RequestInit, signal: AbortSignal | null = null): Promise<Response> {
    const request = { ...init, signal, redirect: "manual", dispatcher: this.#agent };
    let response: Response;
    await hearingOfClosedSockets();
    try {
      // The fetch of the undici package and the global one differ in their types alone.
      response = await undiciFetch(url, request as Parameters<typeof undiciFetch>[1]);
    } catch (error) {
      throw new McpFailure("broken", unreachable(error));
    }
    const failure = this.#failureOf(response, init);
    if (failure === null) return response;
    await response.body?.cancel();
    throw failure;
  }

  #failureOf({ ok, status }: Response, { method, headers }: RequestInit): McpFailure | null {
    if (ok) return null;
    if (status >= 300 && status < 400)
      return new McpFailure("broken", "the server answered with a redirect, and redirects are not followed");
    const isInSession = method === "POST" && (this.#isSse || new Headers(headers).has("mcp-session-id"));
    if (status === 404 && isInSession)
      return new McpFailure("not_run", "the server has forgotten the session");
    return new McpFailure("broken", `the server answered with the HTTP status ${status}`);
  }

  /** The response of a request, made such that the request ends with it whatever it brings. */
  async #withAnswer(id: string | number, response: Response): Promise<Response> {
    const { status, headers, body } = response;
    const type = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
    if (status === 202 || body === null || (type !== "application/json" && type !== "text/event-stream")) {
      await body?.cancel();
      throw new McpFailure("broken", "the server took the request and did not answer it");
    }
    const ending = type === "text/event-stream" ? endingFor(id) : null;
    const answer = ReadableStream.from(this.#throughToEnd(id, body, ending));
    return new Response(answer, { status, headers: [...headers] });
  }

  async *#throughToEnd(id: string | number, body: ReadableStream<Uint8Array>, ending: Uint8Array | null) {
    try {
      yield* body;
    } catch (error) {
      if (ending === null) throw error;
    } finally {
      this.#underWay.delete(id);
    }
    if (ending !== null) yield ending;
  }
}

/**
 * What is put behind the last event of a stream: an error for the request, which is of no account when its answer was
 * there, and a result for no request at all, after which the SDK takes the stream for done and does not resume it.
 */
function endingFor(id: string | number): Uint8Array {
  const error = { code: -32000, message: "the stream ended without an answer", data: STREAM_ENDED };
  const messages = [
    { jsonrpc: "2.0", id, error },
    { jsonrpc: "2.0", id: STREAM_ENDED, result: {} },
  ];
  return Buffer.from(`\n\n${messages.map((message) => `data: ${JSON.stringify(message)}\n\n`).join("")}`);
}

/** Reads the JSON-RPC message that the SDK posts; always text, and always one message. */
function readPosted(body: unknown): Posted {
  if (typeof body !== "string") return NOTHING;
  const { id, method, params } = JSON.parse(body) as {
    readonly id?: string | number;
    readonly method?: string;
    readonly params?: { readonly requestId?: string | number };
  };
  const isCancellation = method === "notifications/cancelled";
  return {
    asks: method === undefined ? null : (id ?? null),
    cancels: isCancellation ? (params?.requestId ?? null) : null,
  };
}

function unreachable(error: unknown): string {
  const code = systemCode(error);
  return code === null
    ? "the request cannot be made: look at the entry's url and headers"
    : `the server cannot be reached (${code})`;
}
