import type { Answer, Incoming } from "./json_rpc.ts";
import { McpFailure } from "./failure.ts";
import { onAbort } from "../../helpers/on_abort.ts";

/** A request that is on its way. */
export interface Asking {
  /** Fires when nobody waits for the answer any more. Never before the request is given. */
  readonly stop: AbortSignal;
  /** Called just before the first byte leaves: until then the server knows nothing of it. */
  readonly sending: () => void;
}

/** Who hears what the server says unasked. */
export interface Listener {
  heard(message: Incoming): void;
  /** The channel has ended by itself: nothing goes over it any more. Told at most once. */
  lost(): void;
}

/** What carries JSON-RPC messages to one server and back. Everything is sent once, and never again (SPEC H11). */
export interface Channel {
  /** What it means when the channel ends by itself, in controlled words. */
  readonly whenLost: string;
  /** @throws McpFailure when there is no way to the server */
  open(listener: Listener, stop: AbortSignal): Promise<void>;
  /**
   * Sends a request and waits for its answer.
   *
   * @param text - the request as JSON
   * @throws McpFailure, as soon as it is certain that no answer comes
   */
  ask(id: number, text: string, asking: Asking): Promise<Answer>;
  /** Sends what wants no answer. @throws McpFailure */
  tell(text: string, stop: AbortSignal): Promise<void>;
  /** The server has taken up the session, in this version of the protocol. */
  agree(version: string): void;
  /** The connection is in use: a way on which the server can speak unasked is kept open, as far as that is bounded. */
  listen(): void;
  /** Tells the server that the session is over, where there is a way to. */
  endSession(stop: AbortSignal): Promise<void>;
  /** Closes everything at once and waits until it is closed. */
  destroy(): Promise<void>;
}

interface Waiter {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (failure: McpFailure) => void;
}

/** The requests that wait for their answers on a channel on which all of them come. */
export class Waiting {
  readonly #waiters = new Map<unknown, Waiter>();
  #lastId = 0;

  /**
   * Waits for an answer.
   *
   * @param send - sends the request; when it fails, so does the waiting
   */
  async for(id: number, stop: AbortSignal, send: () => Promise<void>): Promise<Answer> {
    this.#lastId = id;
    let forget: (() => void) | undefined;
    try {
      return await new Promise<Answer>((resolve, reject) => {
        this.#waiters.set(id, { resolve, reject });
        forget = onAbort(stop, () => reject(stop.reason as Error));
        send().catch(reject);
      });
    } finally {
      forget?.();
      this.#waiters.delete(id);
    }
  }

  /** Takes an answer to whoever waits for it. One to no request of ours fails the only one that it can be meant for. */
  answered(answer: Answer): void {
    const waiter = this.#waiters.get(answer.id);
    if (waiter !== undefined) return waiter.resolve(answer);
    // The answer to a request that was given up comes late; that is not this.
    const isLate = typeof answer.id === "number" && answer.id >= 1 && answer.id <= this.#lastId;
    const [only, ...more] = this.#waiters.values();
    if (isLate || only === undefined || more.length > 0) return;
    if (answer.kind === "error" && answer.id === null) only.resolve(answer);
    else only.reject(otherAnswer());
  }

  /** Fails everything that waits. */
  fail(failure: McpFailure): void {
    for (const { reject } of this.#waiters.values()) reject(failure);
  }
}

/** The failure of a request in whose place another one was answered. */
export function otherAnswer(): McpFailure {
  return McpFailure.unknownEnd("the server answered another request than this one");
}

/** The failure of a request whose answer is larger than what is read. */
export function tooLarge(maxBytes: number, breaks: boolean): McpFailure {
  const size = `${Math.round(maxBytes / 2 ** 20)} MiB`;
  return McpFailure.unknownEnd(`the server's answer is too large: more than ${size}`, { breaks });
}
