import { unlessAborted } from "../../within.ts";

/** What people do to a conversation from outside: they hold it, let it go on, or step in with a message. */
export class Interventions {
  #pause: Pause | null = null;
  #messages: string[] = [];

  /** Holds whoever comes to {@link held}. */
  pause(): void {
    this.#pause ??= new Pause();
  }

  /** Lets those who are held go on. */
  resume(): void {
    this.#pause?.end();
    this.#pause = null;
  }

  /** Leaves a message for the next who asks. */
  add(message: string): void {
    this.#messages.push(message);
  }

  /** Takes the oldest message; `null` when there is none. */
  take(): string | null {
    return this.#messages.shift() ?? null;
  }

  /**
   * Waits for as long as it is held.
   *
   * @throws the reason of `signal` when that fires
   */
  async held(signal: AbortSignal): Promise<void> {
    while (this.#pause !== null) {
      const { ended } = this.#pause;
      await unlessAborted(signal, () => ended);
    }
  }
}

class Pause {
  readonly ended: Promise<void>;
  end: () => void = () => undefined;

  constructor() {
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
  }
}
