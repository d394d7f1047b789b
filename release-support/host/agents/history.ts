/** Who a message of the history comes from. */
export type HistoryRole = "user" | "assistant" | "tool_result" | "warning";

/** One message of an agent's history: what its model would be shown. */
export interface HistoryMessage {
  readonly role: HistoryRole;
  readonly content: string;
  /** The tool of a `tool_result`. */
  readonly toolName?: string;
}

/** The messages that an agent's model would be shown, oldest first. */
export class History {
  readonly #messages: HistoryMessage[] = [];

  get messages(): readonly HistoryMessage[] {
    return this.#messages;
  }

  add(message: HistoryMessage): void {
    this.#messages.push(Object.freeze({ ...message }));
  }
}
