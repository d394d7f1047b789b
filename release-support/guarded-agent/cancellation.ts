import { setMaxListeners } from "node:events";

/**
 * Settles as the promise does, but rejects with the signal's reason as soon as that fires. The promise is not
 * abandoned unheard: if it fails later, nobody is told.
 */
export function abortable<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise<Value>((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    const leave = () => signal.removeEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(leave);
  });
}

/**
 * A signal for one piece of work: fires with the reason of the first of its parents, or with `deadline.reason` when
 * its time is up. Unlike `AbortSignal.any` it lets go of its parents when the work ends, so that a long-lived signal
 * does not gather listeners.
 */
export class Scope {
  readonly #controller = new AbortController();
  readonly #parents: readonly AbortSignal[];
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(
    parents: readonly AbortSignal[],
    deadline?: { readonly seconds: number; readonly reason: Error },
  ) {
    this.#parents = parents;
    // One listener for each call of a turn is no leak. Not 0, the usual word for "no bound": Node 20 then fails to tell.
    setMaxListeners(Infinity, this.#controller.signal);
    for (const parent of parents) {
      if (parent.aborted) this.#controller.abort(parent.reason);
      parent.addEventListener("abort", this.#onAbort);
    }
    if (deadline !== undefined) {
      this.#timer = setTimeout(() => this.#controller.abort(deadline.reason), deadline.seconds * 1000);
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends the work early. */
  abort(reason: Error): void {
    this.#controller.abort(reason);
  }

  /** Lets go of parents and timer; the signal does not fire any more by itself. */
  end(): void {
    clearTimeout(this.#timer);
    for (const parent of this.#parents) parent.removeEventListener("abort", this.#onAbort);
  }

  readonly #onAbort = (event: Event): void => {
    this.#controller.abort((event.target as AbortSignal).reason);
  };
}
