/** How often something may repeat by itself before somebody has to use the connection for it to go on. */
const MOST = 8;
const FIRST_DELAY_MS = 1000;
const LAST_DELAY_MS = 60_000;

/**
 * Bounds traffic that repeats by itself: growing delays, and an end (SPEC H11). Whoever uses the connection allows for
 * one repetition more, at most once a minute.
 */
export class Repeats {
  readonly #free: number;
  #times = 0;
  #allowed = MOST;
  #lastAt = performance.now();

  /** @param free - how many come without a delay */
  constructor(free: number) {
    this.#free = free;
  }

  /**
   * Waits until it is time for the next repetition.
   *
   * @param atLeastMs - what the other side asks for
   * @returns whether there is a next one; `false` as well when `ending` fires
   */
  async next(ending: AbortSignal, atLeastMs = 0): Promise<boolean> {
    if (this.#times >= this.#allowed || ending.aborted) return false;
    const late = this.#times - this.#free;
    this.#times += 1;
    const own = late < 0 ? 0 : Math.min(FIRST_DELAY_MS * 2 ** late, LAST_DELAY_MS);
    const goesOn = await pause(Math.max(own, Math.min(atLeastMs, LAST_DELAY_MS)), ending);
    this.#lastAt = performance.now();
    return goesOn;
  }

  /** The connection is used. */
  use(): void {
    if (this.#times < this.#allowed || performance.now() - this.#lastAt < LAST_DELAY_MS) return;
    this.#allowed = this.#times + 1;
  }
}

/**
 * Waits.
 *
 * @returns `false` when the signal fired before the time was over
 */
export async function pause(ms: number, ending: AbortSignal): Promise<boolean> {
  if (ending.aborted) return false;
  return await new Promise((resolve) => {
    const stop = () => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      ending.removeEventListener("abort", stop);
      resolve(true);
    }, ms);
    ending.addEventListener("abort", stop, { once: true });
  });
}
