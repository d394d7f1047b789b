import { onAbort } from "../helpers/on_abort.ts";

/** How long something may take, and who may end it before. */
export interface Limits {
  /** In milliseconds. */
  readonly ms: number;
  /** Made and thrown when the time is over. */
  readonly late: () => Error;
  readonly signal: AbortSignal | null;
}

/**
 * Waits for something until it is done, its time is over or a signal fires, whichever is first. Leaves neither timer
 * nor listener behind.
 *
 * @param limits - the bounds
 * @param run - begins it; the signal that it gets fires when nobody waits any more, with a reason that tells nothing
 * @throws what `run` throws; `limits.late()`; the reason of `limits.signal`, before anything begins if it has fired
 */
export async function within<Result>(
  { ms, late, signal }: Limits,
  run: (stop: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  let isDone = false;
  const begin = () =>
    run(controller.signal).finally(() => {
      isDone = true;
    });
  let timer: NodeJS.Timeout | undefined;
  const timed = () =>
    new Promise<Result>((resolve, reject) => {
      timer = setTimeout(() => reject(late()), ms);
      begin().then(resolve, reject);
    });
  try {
    return await (signal === null ? timed() : unlessAborted(signal, timed));
  } finally {
    clearTimeout(timer);
    // Not when it is done: the SDK would still take that for a cancellation, and tell the server.
    if (!isDone) controller.abort("cancelled");
  }
}

/**
 * Waits for something until it is done or a signal fires. What was begun then goes on, and nobody hears of it.
 *
 * @throws what `run` throws; the reason of `signal`, before anything begins if it has fired
 */
export async function unlessAborted<Result>(
  signal: AbortSignal,
  run: () => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  let forget: (() => void) | undefined;
  try {
    return await new Promise<Result>((resolve, reject) => {
      forget = onAbort(signal, () => reject(signal.reason as Error));
      run().then(resolve, reject);
    });
  } finally {
    forget?.();
  }
}
