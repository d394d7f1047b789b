import { setInterval as every } from "node:timers/promises";

import type { CallOutcome, GatedHost } from "../../../fixtures/gated_host.ts";

const CALL_EVERY_MS = 10;

/** One call of many. */
export interface TimedOutcome {
  /** How many calls had ended with a denial when this one began. */
  readonly deniedBefore: number;
  readonly outcome: CallOutcome;
}

/** Calls the protected tool every few milliseconds until something else is done. */
export async function callUntil(host: GatedHost, done: Promise<unknown>): Promise<TimedOutcome[]> {
  const ending = new AbortController();
  void done.then(
    () => ending.abort(),
    () => ending.abort(),
  );
  let denied = 0;
  const call = async (): Promise<TimedOutcome> => {
    const deniedBefore = denied;
    const outcome = await host.call();
    if (outcome.kind === "denied") denied += 1;
    return { deniedBefore, outcome };
  };
  const calls: Promise<TimedOutcome>[] = [];
  for await (const _ of every(CALL_EVERY_MS)) {
    if (ending.signal.aborted) break;
    calls.push(call());
  }
  return Promise.all(calls);
}

/** Those of the calls whose tool ran. */
export function ran(outcomes: readonly TimedOutcome[]): TimedOutcome[] {
  return outcomes.filter(({ outcome }) => outcome.kind === "ran");
}
