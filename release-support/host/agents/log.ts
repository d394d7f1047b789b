/** What a log entry is about. */
export type LogType = "info" | "tool" | "response" | "warning" | "error";

/** One entry of a context's chat log. */
export interface LogItem {
  readonly type: LogType;
  readonly heading: string;
  readonly content: string;
  readonly kvps?: Readonly<Record<string, unknown>>;
}

/** The chat log of one context: what people watch while an agent works. */
export class Log {
  readonly #items: LogItem[] = [];

  /** Every entry so far, oldest first. */
  get items(): readonly LogItem[] {
    return this.#items;
  }

  /** Adds an entry. */
  log(item: LogItem): void {
    this.#items.push(Object.freeze({ ...item }));
  }
}
