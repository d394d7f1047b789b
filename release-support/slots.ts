/** Lets only so many run at once; the others wait in line. */
export class Slots {
  #free: number;
  readonly #line: (() => void)[] = [];

  /** @param count - how many may run at once; at least 1 */
  constructor(count: number) {
    this.#free = count;
  }

  /**
   * Runs an action when its turn comes.
   *
   * @throws the reason of `signal` when that fires while it waits, and whatever the action throws
   */
  async run<Result>(action: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    await this.#take(signal);
    try {
      return await action();
    } finally {
      this.#give();
    }
  }

  async #take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    await new Promise<void>((enter, leave) => {
      const onTurn = () => {
        signal.removeEventListener("abort", onAbort);
        enter();
      };
      const onAbort = () => {
        this.#line.splice(this.#line.indexOf(onTurn), 1);
        leave(signal.reason as Error);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#line.push(onTurn);
    });
  }

  /** Hands the slot to the first in line, or keeps it for the next who comes. */
  #give(): void {
    const next = this.#line.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
