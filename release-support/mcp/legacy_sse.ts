import { onAbort } from "../../helpers/on_abort.ts";
import { tooLarge, Waiting } from "./channel.ts";
import type { Asking, Channel, Listener } from "./channel.ts";
import { eventsFrom, TooLarge } from "./event_stream.ts";
import type { ServerEvent } from "./event_stream.ts";
import { McpFailure } from "./failure.ts";
import { mediaType, readRefusal, statusFailure } from "./http_answer.ts";
import { letGo, request } from "./http_carrier.ts";
import { isAnswer, readMessages } from "./json_rpc.ts";
import type { Answer } from "./json_rpc.ts";
import type { HttpServer } from "./streamable_http.ts";

const ENDED = "the server ended the event stream";

/**
 * The channel of HTTP with SSE (MCP 2024-11-05): one stream on which the server speaks, and an address within its origin
 * that takes messages. The stream is the session: it is not opened anew when it ends.
 */
export class LegacySse implements Channel {
  readonly whenLost = ENDED;
  readonly #server: HttpServer;
  readonly #waiting = new Waiting();
  readonly #ending = new AbortController();
  #listener: Listener | null = null;
  #address: string | null = null;
  #version: string | null = null;
  #failure: McpFailure | null = null;

  constructor(server: HttpServer) {
    this.#server = server;
  }

  async open(listener: Listener, stop: AbortSignal): Promise<void> {
    const init = {
      method: "GET",
      headers: this.#headers({ accept: "text/event-stream" }),
      signal: this.#ending.signal,
    };
    const response = await request(this.#server.carrier, this.#server.url, init);
    if (!response.ok || mediaType(response) !== "text/event-stream" || response.body === null) {
      await letGo(response);
      if (!response.ok) throw statusFailure(response.status, false);
      throw McpFailure.notSent("the server does not open an event stream", { breaks: true });
    }
    const events = eventsFrom(
      response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>,
      this.#server.maxAnswerBytes,
    );
    this.#address = await addressIn(events, this.#server.url);
    stop.throwIfAborted();
    this.#listener = listener;
    void this.#hear(events);
  }

  async ask(id: number, text: string, { stop, sending }: Asking): Promise<Answer> {
    return await this.#waiting.for(id, stop, async () => {
      const response = await this.#post(text, stop, sending);
      if (response.ok) return await letGo(response);
      const refusal = await readRefusal(response, id, true);
      if (refusal.kind === "failure") throw refusal.failure;
      this.#waiting.answered(refusal.answer);
    });
  }

  async tell(text: string, stop: AbortSignal): Promise<void> {
    await letGo(await this.#post(text, stop));
  }

  agree(version: string): void {
    this.#version = version;
  }

  listen(): void {
    // The one stream there is stays open by itself.
  }

  async endSession(): Promise<void> {
    // It ends with its stream.
  }

  async destroy(): Promise<void> {
    this.#ending.abort();
    await this.#server.carrier.destroy();
  }

  #headers(own: Readonly<Record<string, string>>): Headers {
    const headers = new Headers(this.#server.headers);
    for (const [name, value] of Object.entries(own)) headers.set(name, value);
    if (this.#version !== null) headers.set("mcp-protocol-version", this.#version);
    return headers;
  }

  async #post(text: string, stop: AbortSignal, sending?: () => void): Promise<Response> {
    if (this.#address === null) throw this.#failure ?? McpFailure.notSent(ENDED, { breaks: true });
    const headers = this.#headers({ "content-type": "application/json", accept: "application/json" });
    const exchange = new AbortController();
    const forget = onAbort(stop, () => exchange.abort(stop.reason));
    try {
      const init = { method: "POST", headers, body: text, signal: exchange.signal };
      return await request(this.#server.carrier, this.#address, init, sending);
    } finally {
      forget();
    }
  }

  async #hear(events: AsyncGenerator<ServerEvent>): Promise<void> {
    let failure = McpFailure.unknownEnd(ENDED, { breaks: true });
    try {
      for await (const { type, data } of events) {
        if (type !== "message") continue;
        for (const message of readMessages(data) ?? []) {
          if (isAnswer(message)) this.#waiting.answered(message);
          else this.#listener?.heard(message);
        }
      }
    } catch (error) {
      if (error instanceof TooLarge) failure = tooLarge(this.#server.maxAnswerBytes, true);
    }
    this.#address = null;
    this.#failure = McpFailure.notSent(failure.message, { breaks: true });
    this.#waiting.fail(failure);
    this.#ending.abort();
    this.#listener?.lost();
  }
}

/** Where the server takes messages, from the first event that says so: an address within the origin of its stream. */
async function addressIn(events: AsyncGenerator<ServerEvent>, stream: string): Promise<string> {
  let next: IteratorResult<ServerEvent>;
  do {
    next = await events.next().catch(() => ({ done: true, value: undefined }) as const);
    if (next.done === true) throw McpFailure.notSent(ENDED, { breaks: true });
  } while (next.value.type !== "endpoint");
  const { data } = next.value;
  const address = URL.canParse(data, stream) ? new URL(data, stream) : null;
  if (address?.origin === new URL(stream).origin) return address.href;
  throw McpFailure.notSent("the server does not speak MCP as expected", { breaks: true });
}
