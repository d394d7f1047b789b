import { setImmediate as turn } from "node:timers/promises";

import { fetch as undiciFetch } from "undici";
import type { Dispatcher } from "undici";

import { McpFailure, systemCode } from "./failure.ts";

/** What carries the HTTP requests of one connection: sockets of its own. Who uses the core gives it one. */
export interface Carrier {
  /**
   * Makes one request, follows no redirect and uses no proxy.
   *
   * @param sending - to be called just before the first byte leaves
   */
  fetch(url: string, init: RequestInit, sending: () => void): Promise<Response>;
  /** Closes every socket at once. */
  destroy(): Promise<void>;
}

/** Fetches over a dispatcher of the caller's, see {@link Carrier.fetch}. */
export async function fetchOver(
  dispatcher: Dispatcher,
  url: string,
  init: RequestInit,
  sending: () => void,
): Promise<Response> {
  await hearingOfClosedSockets();
  const watched = { dispatch: dispatchTelling(dispatcher, sending) };
  // The fetch of the undici package and the global one differ in their types alone.
  const options = { ...init, dispatcher: watched } as unknown as Parameters<typeof undiciFetch>[1];
  return await undiciFetch(url, options);
}

/**
 * Lets the event loop go round once: everything that sockets had to say until now is heard then, and one that the server
 * closed while this process was busy is not used: a call that is lost on it must not be sent again. One turn alone may
 * end before the sockets are looked at again.
 */
async function hearingOfClosedSockets(): Promise<void> {
  await turn();
  await turn();
}

/** A dispatch that tells when the request has a socket and is about to be written. */
function dispatchTelling(dispatcher: Dispatcher, sending: () => void): Dispatcher["dispatch"] {
  return (options, handler) =>
    dispatcher.dispatch(
      options,
      new Proxy(handler, {
        get(target, name) {
          const member = Reflect.get(target, name) as unknown;
          if (typeof member !== "function") return member;
          // The one name in handlers of the old form, the other one in those of the new.
          const begins = name === "onConnect" || name === "onRequestStart";
          return (...args: unknown[]): unknown => {
            if (begins) sending();
            return member.apply(target, args) as unknown;
          };
        },
      }),
    );
}

/**
 * Makes a request, and says in controlled words why it has no response that could bring an answer.
 *
 * @throws McpFailure for a server that is not reached, and for a redirect; the reason of the request's signal
 */
export async function request(
  carrier: Carrier,
  url: string,
  init: RequestInit,
  sending: () => void = () => undefined,
): Promise<Response> {
  let isSent = false;
  let response: Response;
  try {
    response = await carrier.fetch(url, { ...init, redirect: "manual" }, () => {
      isSent = true;
      sending();
    });
  } catch (error) {
    init.signal?.throwIfAborted();
    if (error instanceof McpFailure) throw error;
    throw isSent ? cutOff() : unreachable(error);
  }
  if (response.status < 300 || response.status >= 400) return response;
  await letGo(response);
  const fate = { kind: "refused", by: "http", code: response.status } as const;
  throw new McpFailure(fate, "the server answered with a redirect, and redirects are not followed");
}

/** Takes back the socket of a response that nobody reads on. */
export async function letGo({ body }: Response): Promise<void> {
  await body?.cancel().catch(() => undefined);
}

/** The failure of a request whose connection ended before its response began: the server may be gone. */
function cutOff(): McpFailure {
  return McpFailure.unknownEnd("the server ended the connection without an answer", { breaks: true });
}

function unreachable(error: unknown): McpFailure {
  const code = systemCode(error);
  const message =
    code === null
      ? "the request cannot be made: look at the entry's url and headers"
      : `the server cannot be reached (${code})`;
  return McpFailure.notSent(message, { breaks: true });
}
