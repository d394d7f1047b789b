import { onAbort } from "../../helpers/on_abort.ts";
import { otherAnswer, tooLarge } from "./channel.ts";
import type { Asking, Channel, Listener } from "./channel.ts";
import { eventsFrom, TooLarge } from "./event_stream.ts";
import { McpFailure } from "./failure.ts";
import { mediaType, readRefusal, readText } from "./http_answer.ts";
import { letGo, request } from "./http_carrier.ts";
import type { Carrier } from "./http_carrier.ts";
import { isAnswer, readMessages } from "./json_rpc.ts";
import type { Answer, Incoming } from "./json_rpc.ts";
import { pause, Repeats } from "./repeats.ts";

/** Where a server is and what the requests to it are made with. */
export interface HttpServer {
  /** The endpoint; no other URL is asked. */
  readonly url: string;
  /** Headers that go with every request; those of the protocol come before them. */
  readonly headers: Headers;
  readonly carrier: Carrier;
  /** The largest answer that is read, in bytes. */
  readonly maxAnswerBytes: number;
}

/** How long a server may take to end a stream behind its answer, in milliseconds; else its socket is closed. */
const ENDING_MS = 100;
/** So many streams in a row that were not ended, and the next ones are not waited for. */
const ENDLESS = 3;
/** How long to wait before a stream is taken up again where the server does not say, in milliseconds. */
const RESUME_MS = 1000;
const MIN_RESUME_MS = 50;
const MAX_RESUME_MS = 30_000;

/** How far a stream was read without an answer. */
interface Unanswered {
  readonly kind: "unanswered";
  /** Where it can be taken up again, or `null`. */
  readonly lastEventId: string | null;
  readonly retryMs: number | null;
  /** Whether it broke off, so that the server may be gone, rather than ended. */
  readonly isBroken: boolean;
}

/** The channel over streamable HTTP: every message is a POST, and every request has its answer in the response to it. */
export class StreamableHttp implements Channel {
  readonly whenLost = "the connection was closed";
  readonly #server: HttpServer;
  readonly #opensStream: boolean;
  readonly #ending = new AbortController();
  readonly #streams = new Repeats(0);
  #listener: Listener | null = null;
  #sessionId: string | null = null;
  /** The server has said that it does not know the session. */
  #isForgotten = false;
  #version: string | null = null;
  /** Whether there is a stream of unasked messages, or a next one is waited for. */
  #listens = false;
  #hasListened = false;
  #endlessStreams = 0;

  /** @param opensStream - whether to hold a stream open on which the server can speak unasked */
  constructor(server: HttpServer, { opensStream }: { readonly opensStream: boolean }) {
    this.#server = server;
    this.#opensStream = opensStream;
  }

  open(listener: Listener): Promise<void> {
    this.#listener = listener;
    return Promise.resolve();
  }

  async ask(id: number, text: string, { stop, sending }: Asking): Promise<Answer> {
    // A signal of its own: the one that is given may be shared by many.
    const exchange = new AbortController();
    const forget = onAbort(stop, () => exchange.abort(stop.reason));
    try {
      const response = await this.#post(text, exchange.signal, sending);
      this.#sessionId ??= response.headers.get("mcp-session-id");
      return await this.#answerIn(response, id, exchange.signal);
    } finally {
      forget();
    }
  }

  async tell(text: string, stop: AbortSignal): Promise<void> {
    await letGo(await this.#post(text, stop));
  }

  agree(version: string): void {
    this.#version = version;
  }

  listen(): void {
    this.#streams.use();
    if (this.#listens || !this.#opensStream) return;
    this.#listens = true;
    void this.#listenOn(this.#hasListened);
    this.#hasListened = true;
  }

  async endSession(stop: AbortSignal): Promise<void> {
    if (this.#sessionId === null || this.#isForgotten) return;
    await letGo(await this.#request("DELETE", {}, { signal: stop }));
  }

  async destroy(): Promise<void> {
    this.#ending.abort();
    await this.#server.carrier.destroy();
  }

  #post(text: string, signal: AbortSignal, sending?: () => void): Promise<Response> {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    return this.#request("POST", headers, { signal, body: text }, sending);
  }

  #request(
    method: string,
    own: Readonly<Record<string, string>>,
    init: RequestInit,
    sending?: () => void,
  ): Promise<Response> {
    const headers = new Headers(this.#server.headers);
    for (const [name, value] of Object.entries(own)) headers.set(name, value);
    if (this.#sessionId !== null) headers.set("mcp-session-id", this.#sessionId);
    if (this.#version !== null) headers.set("mcp-protocol-version", this.#version);
    return request(this.#server.carrier, this.#server.url, { ...init, method, headers }, sending);
  }

  async #answerIn(response: Response, id: number, signal: AbortSignal): Promise<Answer> {
    if (!response.ok) return await this.#answerOfRefusal(response, id);
    const type = mediaType(response);
    if (type === "text/event-stream") return await this.#answerOfStream(response, id, signal);
    if (response.status === 202 || response.body === null || type !== "application/json") {
      await letGo(response);
      throw McpFailure.unknownEnd("the server took the request and did not answer it");
    }
    const messages = readMessages(await readText(response, this.#server.maxAnswerBytes));
    if (messages === null) throw McpFailure.unknownEnd("the server does not speak MCP as expected");
    const answer = this.#answerAmong(messages, id);
    if (answer === null) throw McpFailure.unknownEnd("the server's answer is not what MCP prescribes");
    return answer;
  }

  async #answerOfRefusal(response: Response, id: number): Promise<Answer> {
    const refusal = await readRefusal(response, id, this.#sessionId !== null);
    this.#isForgotten ||= refusal.isForgotten;
    if (refusal.kind === "failure") throw refusal.failure;
    if (refusal.isForgotten) this.#listener?.lost();
    return refusal.answer;
  }

  /** @throws McpFailure for an answer to another request; nothing else can stand in the response to this one */
  #answerAmong(messages: readonly Incoming[], id: number): Answer | null {
    for (const message of messages) {
      if (!isAnswer(message)) this.#listener?.heard(message);
      else if (message.id === id || (message.kind === "error" && message.id === null)) return message;
      else throw otherAnswer();
    }
    return null;
  }

  /** Reads a stream to the answer. One that ends before is taken up again where it says from which event on. */
  async #answerOfStream(first: Response, id: number, signal: AbortSignal): Promise<Answer> {
    let response = first;
    let known: string | null = null;
    let breaks: boolean;
    for (let times = 0; ; times += 1) {
      const end = await this.#readStream(response, (messages) => this.#answerAmong(messages, id));
      if (end.kind !== "unanswered") return end;
      known = end.lastEventId ?? known;
      breaks = end.isBroken;
      if (known === null) break;
      const wait = Math.max(end.retryMs ?? RESUME_MS, MIN_RESUME_MS) * 1.5 ** times;
      const ending = AbortSignal.any([signal, this.#ending.signal]);
      if (!(await pause(Math.min(wait, MAX_RESUME_MS), ending))) break;
      response = await this.#resume(known, signal);
      if (mediaType(response) === "text/event-stream" && response.ok) continue;
      await letGo(response);
      break;
    }
    signal.throwIfAborted();
    throw McpFailure.unknownEnd("the server ended the stream without an answer", { breaks });
  }

  async #resume(lastEventId: string, signal: AbortSignal): Promise<Response> {
    try {
      return await this.#getStream({ "last-event-id": lastEventId }, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof McpFailure)) throw error;
      // Whatever became of this request: it is the first one whose end is not known.
      throw McpFailure.unknownEnd(error.message, { breaks: error.breaks });
    }
  }

  #getStream(headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response> {
    return this.#request("GET", { accept: "text/event-stream", ...headers }, { signal });
  }

  /**
   * Reads a stream until something is found in it, or it ends.
   *
   * @param find - looks at the messages of one event
   */
  async #readStream<Found>(
    { body }: Response,
    find: (messages: readonly Incoming[]) => Found | null,
  ): Promise<Found | Unanswered> {
    let lastEventId: string | null = null;
    let retryMs: number | null = null;
    let isBroken = false;
    if (body === null) return { kind: "unanswered", lastEventId, retryMs, isBroken };
    const reader = body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    try {
      for await (const event of eventsFrom(reader, this.#server.maxAnswerBytes)) {
        lastEventId = event.id ?? lastEventId;
        retryMs = event.retryMs ?? retryMs;
        const found = event.type === "message" ? find(readMessages(event.data) ?? []) : null;
        if (found !== null) return found;
      }
    } catch (error) {
      if (error instanceof McpFailure) throw error;
      if (error instanceof TooLarge) throw tooLarge(this.#server.maxAnswerBytes, false);
      isBroken = true;
    } finally {
      void this.#letEnd(reader);
    }
    return { kind: "unanswered", lastEventId, retryMs, isBroken };
  }

  /**
   * A server should end the stream behind its answer, and then the socket can serve the next request. But it need not,
   * and nobody reads what else it has to say.
   */
  async #letEnd(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    if (this.#endlessStreams < ENDLESS) {
      const timer = new AbortController();
      const isOver = drained(reader).then(() => true);
      const hasEnded = await Promise.race([isOver, pause(ENDING_MS, timer.signal).then(() => false)]);
      timer.abort();
      this.#endlessStreams = hasEnded ? 0 : this.#endlessStreams + 1;
    }
    await reader.cancel().catch(() => undefined);
  }

  /** Holds the stream of unasked messages open, as long as the server wants it and repeats are left. */
  async #listenOn(isRepeat: boolean): Promise<void> {
    const { signal } = this.#ending;
    let lastEventId: string | null = null;
    let retryMs = 0;
    let goesOn = !isRepeat || (await this.#streams.next(signal));
    for (; goesOn; goesOn = await this.#streams.next(signal, retryMs)) {
      const headers: Record<string, string> = lastEventId === null ? {} : { "last-event-id": lastEventId };
      const response = await this.#getStream(headers, signal).catch(() => null);
      if (response !== null && (!response.ok || mediaType(response) !== "text/event-stream")) {
        // There is no such stream, and no further one is asked for.
        await letGo(response);
        return;
      }
      if (response === null) continue;
      const end = await this.#readStream(response, (messages) => this.#pass(messages)).catch(() => null);
      lastEventId = end?.lastEventId ?? lastEventId;
      retryMs = end?.retryMs ?? retryMs;
    }
    this.#listens = false;
  }

  #pass(messages: readonly Incoming[]): null {
    for (const message of messages) if (!isAnswer(message)) this.#listener?.heard(message);
    return null;
  }
}

async function drained(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {
    // It is over as well.
  }
}
