import type { CallDecision } from "./call_decision.ts";
import type { Message } from "./prompt_executor.ts";

/** What happened in one run (SPEC G13). The observations of its decisions hold untrusted data. */
export interface RunTrace {
  /** Made by the agent; every decision of the run has it. */
  readonly runId: string;
  /** The conversation, without the system prompt: history, task, turns, results, answer. Fit to be a later `history`. */
  readonly messages: readonly Message[];
  /** What the guard decided, in the order in which it did. */
  readonly decisions: readonly CallDecision[];
}
