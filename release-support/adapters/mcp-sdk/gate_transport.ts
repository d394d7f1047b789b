import { onAbort } from "../../../helpers/on_abort.ts";
import { askGate } from "../ask_gate.ts";
import type { AdaptedHost } from "../ask_gate.ts";
import { denialOf, toolOf } from "./message.ts";
import type { Message } from "./message.ts";

/** What the gate uses of a transport of the MCP TypeScript SDK: the same in its lines 1.x and 2.x. */
export interface GateableTransport {
  send(message: never, options?: never): Promise<void>;
  close(): Promise<void>;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: never, extra?: never) => void) | undefined;
}

/** Where a transport leads, and what of it is gated. */
export interface GatedConnection {
  readonly host: AdaptedHost;
  /** The server's name in the host's configuration. */
  readonly server: string;
  /** The methods that are gated. */
  readonly methods: ReadonlySet<unknown>;
  /** Fires when nothing gated may be sent any more. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Puts the gate between an MCP client and its transport: whatever goes to the server passes here, whichever method of
 * the client it comes from (SPEC A1). What is not gated goes through untouched, and what else the transport offers is
 * there as before.
 *
 * @param transport - a transport that is not started yet
 * @param connection - where it leads
 * @returns the transport to hand to the client
 */
export function gateTransport<T extends GateableTransport>(transport: T, connection: GatedConnection): T {
  const gated = new GatedSending(transport, connection);
  let onclose = transport.onclose;
  return new Proxy(transport, {
    get(target, key) {
      if (key === "send") return gated.send;
      if (key === "close") return gated.closing(() => target.close());
      if (key === "onclose") return onclose;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
    set(target, key, value: unknown) {
      if (key !== "onclose") return Reflect.set(target, key, value, target);
      onclose = value as () => void;
      return Reflect.set(target, key, gated.closing(onclose), target);
    },
  });
}

/** What of the options of a message counts here. Line 2.x may cancel a call by a signal instead of a message. */
interface SendOptions {
  readonly requestSignal?: AbortSignal | undefined;
}

const CLOSED = new Error("the connection was closed before the call was sent");
/** Whoever cancels a call by the protocol wants no answer. */
const CANCELLED = new Error("the call was cancelled before it was sent");

class GatedSending {
  readonly #transport: GateableTransport;
  readonly #connection: GatedConnection;
  /** The calls that the gate is being asked about, and how to stop waiting for it. */
  readonly #waiting = new Map<AbortController, Message>();

  constructor(transport: GateableTransport, connection: GatedConnection) {
    this.#transport = transport;
    this.#connection = connection;
  }

  /** Resolves once the message is sent, or is known never to be: denied and answered so, or cancelled. */
  readonly send = async (message: Message | readonly Message[], options?: SendOptions): Promise<void> => {
    const parts = [message].flat();
    if (!parts.some((part) => this.#isGated(part) || this.#cancelledBy(part).length > 0))
      return await this.#forward(message, options);
    // Of a batch that cannot go as it is each message goes by itself.
    await Promise.all(parts.map((part) => this.#sendOne(part, options)));
  };

  /** What to call when the transport closes: what waits for the gate until then is never sent. */
  closing<Result>(then: (() => Result) | undefined): () => Result | undefined {
    return () => {
      for (const call of this.#waiting.keys()) call.abort(CLOSED);
      return then?.();
    };
  }

  async #sendOne(message: Message, options?: SendOptions): Promise<void> {
    const cancelled = this.#cancelledBy(message);
    for (const call of cancelled) call.abort(CANCELLED);
    if (cancelled.length > 0) return;
    if (!this.#isGated(message)) return await this.#forward(message, options);
    // What was decided on is what is sent, whatever becomes of the sender's object meanwhile.
    const copy = JSON.parse(JSON.stringify(message)) as Message;
    if (await this.#mayBeSent(copy, options)) await this.#forward(copy, options);
  }

  /** Asks the gate, and answers the call when that denies it. */
  async #mayBeSent(message: Message, { requestSignal }: SendOptions = {}): Promise<boolean> {
    const { host, server, signal } = this.#connection;
    const call = new AbortController();
    const forget = [signal, requestSignal].map((end) => end && relay(end, call));
    this.#waiting.set(call, message);
    try {
      const answer = await askGate(host, { server, tool: toolOf(message), signal: call.signal });
      call.signal.throwIfAborted();
      if (answer.kind === "not_denied") return true;
      if (answer.fault !== null) this.#transport.onerror?.(answer.fault);
      if (message.id !== undefined) this.#transport.onmessage?.(denialOf(message, answer.text) as never);
      return false;
    } catch (error) {
      if (error === CANCELLED) return false;
      throw error;
    } finally {
      this.#waiting.delete(call);
      for (const unlisten of forget) unlisten?.();
    }
  }

  #forward(message: unknown, options: unknown): Promise<void> {
    return this.#transport.send(message as never, options as never);
  }

  #isGated({ method }: Message): boolean {
    return this.#connection.methods.has(method);
  }

  #cancelledBy({ method, params }: Message): AbortController[] {
    if (method !== "notifications/cancelled") return [];
    return [...this.#waiting].filter(([, { id }]) => id === params?.requestId).map(([call]) => call);
  }
}

/** Ends a call's waiting when a signal fires, or has fired. */
function relay(signal: AbortSignal, call: AbortController): () => void {
  const end = () => call.abort(signal.reason);
  if (!signal.aborted) return onAbort(signal, end);
  end();
  return end;
}
