import { performance } from "node:perf_hooks";

import type { PreflightAnswer } from "./preflight_contract.ts";

/** How many observations are kept, and how many bytes of text in all: a Guild could make each as long as may be. */
const MAX_ENTRIES = 1024;
const MAX_BYTES = 8_388_608;

/** An answer, when its body was complete, and the same by a monotonic clock, in milliseconds. */
export interface CachedObservation {
  readonly answer: PreflightAnswer;
  readonly observedAt: Date;
  readonly completedAt: number;
}

/** A bounded store of observations; the least recently used ones go first (SPEC P6.6). */
export class ObservationCache {
  /** The first key is the least recently used one. */
  readonly #entries = new Map<string, CachedObservation>();
  #bytes = 0;

  /** @returns what is kept under a key, with its age, unless that is greater than `maxAgeSeconds` */
  get(key: string, maxAgeSeconds: number): (CachedObservation & { readonly ageSeconds: number }) | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    const ageSeconds = (performance.now() - entry.completedAt) / 1000;
    if (ageSeconds > maxAgeSeconds) return null;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return { ...entry, ageSeconds };
  }

  /** Keeps an observation in place of an earlier one under the same key. */
  set(key: string, entry: CachedObservation): void {
    this.#delete(key);
    this.#entries.set(key, entry);
    this.#bytes += bytesOf(entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= MAX_ENTRIES && this.#bytes <= MAX_BYTES) break;
      this.#delete(oldest);
    }
  }

  #delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= bytesOf(entry);
  }
}

/** A character of a text takes up to two bytes. */
function bytesOf({ answer }: CachedObservation): number {
  return answer.untrusted.json.length * 2;
}
