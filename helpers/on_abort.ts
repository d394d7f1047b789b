/** The waiting of one signal: however many wait, the signal has one listener. */
interface Waiting {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

const waitingBySignal = new WeakMap<AbortSignal, Waiting>();

/**
 * Calls back once when a signal fires. All calls of a task share one signal, and many may be under way: a
 * listener for each would be taken for a leak, and rightly warned of.
 *
 * @param signal - one that has not fired
 * @returns takes the callback back; the last one takes the listener off the signal
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const waiting = waitingBySignal.get(signal) ?? listenTo(signal);
  waiting.callbacks.add(callback);
  return () => {
    waiting.callbacks.delete(callback);
    if (waiting.callbacks.size > 0 || waitingBySignal.get(signal) !== waiting) return;
    waitingBySignal.delete(signal);
    signal.removeEventListener("abort", waiting.listener);
  };
}

function listenTo(signal: AbortSignal): Waiting {
  const callbacks = new Set<() => void>();
  const listener = () => {
    waitingBySignal.delete(signal);
    for (const callback of callbacks) callback();
  };
  const waiting = { callbacks, listener };
  waitingBySignal.set(signal, waiting);
  signal.addEventListener("abort", listener, { once: true });
  return waiting;
}
