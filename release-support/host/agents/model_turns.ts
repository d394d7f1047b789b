import { unlessAborted } from "../../within.ts";
import type { ToolArgs } from "./tool.ts";

/** A tool call as the model asked for it. */
export interface ToolRequest {
  readonly name: string;
  readonly args: ToolArgs;
}

/**
 * One turn of the scripted model: a text, which may be a tool request in JSON, or the native function calls of a
 * turn (SPEC H9).
 */
export type ModelTurn = string | { readonly toolCalls: readonly ToolRequest[] };

/** What came of asking for a turn. */
export type NextTurn = { readonly kind: "turn"; readonly turn: ModelTurn } | { readonly kind: "script_over" };

/** What a scripted model says, asked for turn by turn. */
export class ModelTurns {
  readonly #turns: Iterator<ModelTurn> | AsyncIterator<ModelTurn>;
  #over = false;

  constructor(turns: Iterable<ModelTurn> | AsyncIterable<ModelTurn>) {
    this.#turns = Symbol.asyncIterator in turns ? turns[Symbol.asyncIterator]() : turns[Symbol.iterator]();
  }

  /**
   * Asks for the next turn.
   *
   * @param signal - whose cancellation is not kept waiting by the model
   * @returns the turn, or that the script is over
   * @throws whatever the model throws, which ends the script; the reason of `signal` when that fires
   */
  async next(signal: AbortSignal): Promise<NextTurn> {
    return this.#over ? { kind: "script_over" } : await unlessAborted(signal, () => this.#ask());
  }

  /** Tells the model that nobody asks it any more. It is not waited for: it may be busy. */
  leave(): void {
    if (this.#over) return;
    this.#over = true;
    (async () => this.#turns.return?.())().catch(() => undefined);
  }

  async #ask(): Promise<NextTurn> {
    try {
      const next = await this.#turns.next();
      if (next.done !== true) return { kind: "turn", turn: next.value };
    } catch (error) {
      this.#over = true;
      throw error;
    }
    this.#over = true;
    return { kind: "script_over" };
  }
}
