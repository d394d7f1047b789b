import type { LookupAddress } from "node:dns";
import { request as startRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import { connect as connectTcp, isIP } from "node:net";
import type { LookupFunction, Socket } from "node:net";
import { connect as connectTls } from "node:tls";

/** How much of an answer's body is read, in bytes. */
export const MAX_ANSWER_BYTES = 8192;

/** How long a request may take from the lookup to the last byte, in milliseconds. */
export const REQUEST_MS = 3000;

/** What all requests of one probe depend on. */
export interface ProbeNetwork {
  /** How host names become addresses. */
  readonly lookup: LookupFunction;
  /** Whether an address may be connected to. */
  readonly isAllowedAddress: (address: string) => boolean;
  /** Certificates to trust in place of the system's, in PEM; `null` for the system's. */
  readonly ca: string | null;
  /** How long each request may take, in milliseconds. */
  readonly requestMs: number;
  /** Ends the probe: its connection is closed. */
  readonly signal: AbortSignal;
}

/** One request of a probe. */
export interface ProbeRequest {
  readonly method: "GET" | "HEAD" | "POST";
  /** Where to; its fragment is not sent. */
  readonly url: URL;
  /** Header lines beside `Host`, `User-Agent` and those about the body and the connection. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Whether the answer's body matters, or nothing behind its status. */
  readonly read: "status" | "body";
  /** Whether what was read so far says it all; asked whenever more of the body has arrived. */
  readonly isEnough?: (answer: ProbeHead & { readonly body: Uint8Array }) => boolean;
}

/** The head of an answer. */
export interface ProbeHead {
  /** 200 to 999. */
  readonly status: number;
  /** The content type as sent; empty when there is none. */
  readonly contentType: string;
}

/**
 * What came back. The body ended as its framing says (`complete`), has more than was read (`capped`), was cut off by
 * the deadline or a lost connection (`cut`), or the rest of it was of no interest (`left`).
 */
export type ProbeAnswer =
  | (ProbeHead & {
      readonly kind: "answer";
      readonly body: Uint8Array;
      readonly ending: "complete" | "capped" | "cut" | "left";
    })
  /** No status line: refused by the screen, not connected, no valid certificate, silent, no HTTP. */
  | { readonly kind: "no_answer" };

const NO_ANSWER: ProbeAnswer = { kind: "no_answer" };

/**
 * Makes one bounded request on a connection of its own and closes it (SPEC S2): the host is resolved, one address that may not
 * be connected to refuses it, and the connection leads to one of those that were screened. No redirect, no retry, no proxy,
 * no credentials; TLS is verified against the host name.
 *
 * @throws the reason of `network.signal` once that has fired; nothing else
 */
export async function requestOnce(request: ProbeRequest, network: ProbeNetwork): Promise<ProbeAnswer> {
  network.signal.throwIfAborted();
  const end = new AbortController();
  const stop = () => end.abort();
  const timer = setTimeout(stop, network.requestMs);
  network.signal.addEventListener("abort", stop, { once: true });
  try {
    return await exchange(request, network, end.signal);
  } finally {
    clearTimeout(timer);
    network.signal.removeEventListener("abort", stop);
    // Whatever the outcome, the connection does not outlive the request.
    stop();
    network.signal.throwIfAborted();
  }
}

async function exchange(
  request: ProbeRequest,
  network: ProbeNetwork,
  end: AbortSignal,
): Promise<ProbeAnswer> {
  const host = hostOf(request.url);
  const addresses = await unlessEnded(screenedAddresses(host, network), end);
  if (addresses.length === 0) return NO_ANSWER;
  const response = await responseTo(request, () => {
    const socket = openSocket(request.url, addresses, network.ca);
    end.addEventListener("abort", () => socket.destroy(), { once: true });
    return socket;
  });
  // 1xx are no answers; the parser has passed over them.
  if (response?.statusCode === undefined || response.statusCode < 200) return NO_ANSWER;
  const head = { status: response.statusCode, contentType: response.headers["content-type"] ?? "" };
  if (request.read === "status") return { kind: "answer", ...head, body: Buffer.alloc(0), ending: "left" };
  return { kind: "answer", ...head, ...(await readBody(response, head, request.isEnough)) };
}

/** All addresses of a host, or none when one of them may not be connected to or the name has none. */
async function screenedAddresses(
  host: string,
  { lookup, isAllowedAddress }: ProbeNetwork,
): Promise<readonly LookupAddress[]> {
  const family = isIP(host);
  const addresses = family === 0 ? await resolve(host, lookup) : [{ address: host, family }];
  return addresses.every(({ address }) => isAllowedAddress(address)) ? addresses : [];
}

function resolve(host: string, lookup: LookupFunction): Promise<readonly LookupAddress[]> {
  return new Promise((done) => {
    lookup(host, { all: true }, (error, found) => {
      if (error !== null) return done([]);
      done(typeof found === "string" ? [{ address: found, family: isIP(found) }] : found);
    });
  });
}

/** The addresses, or none once the request has ended: a lookup cannot be interrupted, so its result is dropped. */
async function unlessEnded(
  addresses: Promise<readonly LookupAddress[]>,
  end: AbortSignal,
): Promise<readonly LookupAddress[]> {
  if (end.aborted) return [];
  return await new Promise((done) => {
    end.addEventListener("abort", () => done([]), { once: true });
    addresses.then(done, () => done([]));
  });
}

function openSocket(url: URL, addresses: readonly LookupAddress[], ca: string | null): Socket {
  const host = hostOf(url);
  const secure = url.protocol === "https:";
  const target = {
    host,
    port: url.port === "" ? (secure ? 443 : 80) : Number(url.port),
    // Asked for all addresses, since the family is left open; a literal address is not looked up.
    lookup: ((_host, _options, callback) => callback(null, [...addresses])) satisfies LookupFunction,
    autoSelectFamily: true,
  };
  if (!secure) return connectTcp(target);
  return connectTls({
    ...target,
    // An absolute name ends in a dot, which neither SNI nor certificates have.
    ...(isIP(host) === 0 ? { servername: host.replace(/\.$/, "") } : {}),
    ...(ca === null ? {} : { ca }),
    ALPNProtocols: ["http/1.1"],
    rejectUnauthorized: true,
  });
}

/** Sends the request and waits for the head of the answer; `null` when none comes. */
function responseTo(request: ProbeRequest, createConnection: () => Socket): Promise<IncomingMessage | null> {
  const { method, url, headers = {}, body } = request;
  return new Promise((done) => {
    const outgoing = startRequest({
      method,
      path: url.pathname + url.search,
      headers: {
        host: url.host,
        "user-agent": "agent-guild-live-local",
        ...headers,
        "accept-encoding": "identity",
        connection: "close",
        ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }),
      },
      // With a connection of its own the request uses no agent, hence no pool and no proxy.
      createConnection,
    });
    outgoing.once("response", (response) => {
      // The connection may be closed at any time from here on: what the stream says about that does not matter.
      response.on("error", () => undefined);
      done(response);
    });
    outgoing.on("error", () => done(null));
    outgoing.once("close", () => done(null));
    outgoing.end(body);
  });
}

async function readBody(
  response: IncomingMessage,
  head: ProbeHead,
  isEnough: ProbeRequest["isEnough"] = () => false,
): Promise<{ readonly body: Uint8Array; readonly ending: "complete" | "capped" | "cut" | "left" }> {
  let body = Buffer.alloc(0);
  try {
    for await (const chunk of response as AsyncIterable<Uint8Array>) {
      body = Buffer.concat([body, chunk]);
      if (body.length > MAX_ANSWER_BYTES)
        return { body: body.subarray(0, MAX_ANSWER_BYTES), ending: "capped" };
      if (isEnough({ ...head, body })) return { body, ending: "left" };
    }
    return { body, ending: "complete" };
  } catch {
    return { body, ending: "cut" };
  }
}

/** The host of a URL without brackets. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}
