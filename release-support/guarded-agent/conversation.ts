import { randomUUID } from "node:crypto";

import type { CallDecision } from "./call_decision.ts";
import type { AssistantMessage } from "./model_turn.ts";
import type { Message } from "./prompt_executor.ts";
import type { RunTrace } from "./run_trace.ts";
import { fixedMessage } from "./tool_messages.ts";
import type { ToolMessage } from "./tool_messages.ts";

/** One run's record, kept while it goes on. */
export class Conversation {
  readonly runId = randomUUID();
  readonly #messages: Message[];
  readonly #decisions: CallDecision[] = [];

  /** @param history - earlier messages, checked */
  constructor(history: readonly Message[], task: string) {
    this.#messages = [...history, Object.freeze({ role: "user", text: task })];
  }

  get messages(): readonly Message[] {
    return this.#messages;
  }

  /**
   * Adds a turn of the model. Each of its calls counts as `why` until its result is there, so that no call is ever left
   * without an answer, however the run ends.
   *
   * @returns where a call's result goes, by the call's position
   */
  add(turn: AssistantMessage, why: "cancelled" | "last_turn"): (index: number, result: ToolMessage) => void {
    const first = this.#messages.push(turn);
    this.#messages.push(...turn.calls.map((call) => fixedMessage(call, why)));
    return (index, result) => {
      this.#messages[first + index] = result;
    };
  }

  decided(decision: CallDecision): void {
    this.#decisions.push(decision);
  }

  /** What happened so far; later events do not change it. */
  trace(): RunTrace {
    return Object.freeze({
      runId: this.runId,
      messages: Object.freeze([...this.#messages]),
      decisions: Object.freeze([...this.#decisions]),
    });
  }
}
