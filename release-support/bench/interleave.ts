import type { Row } from "./bench_case.ts";

/** Something whose cost counts: one call of it. */
export type Measured = () => unknown;

/** What one round after the other showed of everything that was measured side by side. */
export class Interleaved<Name extends string> {
  readonly #times: ReadonlyMap<Name, readonly number[]>;

  /** @param times - microseconds a call, by name and round */
  constructor(times: ReadonlyMap<Name, readonly number[]>) {
    this.#times = times;
  }

  /** The median in microseconds a call. */
  median(name: Name): number {
    return quantile(this.#of(name), 0.5);
  }

  /** The median of the rounds' own ratios, so that a slow moment of the machine counts on both sides. */
  ratio(name: Name, baseline: Name): number {
    return quantile(
      paired(this.#of(name), this.#of(baseline), (one, other) => one / other),
      0.5,
    );
  }

  /** The median of the rounds' own differences, in microseconds. */
  difference(name: Name, baseline: Name): number {
    return quantile(
      paired(this.#of(name), this.#of(baseline), (one, other) => one - other),
      0.5,
    );
  }

  /** A line for each name: median, spread (the quartiles) and ratio to the first. */
  rows(): Row[] {
    const [baseline] = this.#times.keys();
    return [...this.#times].map(([name, times]) => ({
      name,
      figures: {
        median_us: this.median(name),
        q1_us: quantile(times, 0.25),
        q3_us: quantile(times, 0.75),
        ...(baseline === undefined ? {} : { ratio: this.ratio(name, baseline) }),
      },
    }));
  }

  #of(name: Name): readonly number[] {
    return this.#times.get(name) ?? [];
  }
}

/** A round gives each about this long: short enough to see the same machine, long enough for the clock. */
const BLOCK_MS = 8;
const MIN_ROUNDS = 7;

/**
 * Measures things side by side, A B A B, each round in another order: whatever the machine does meanwhile happens to all
 * of them alike.
 *
 * @param things - what to measure, the baseline first; each has run to the end before the next begins
 * @param ms - how long to measure in all; all of them are warmed up before for half as long
 */
export async function interleave<Name extends string>(
  things: Readonly<Record<Name, Measured>>,
  ms: number,
): Promise<Interleaved<Name>> {
  const names = Object.keys(things) as Name[];
  const calls = new Map<Name, number>();
  // Whoever comes first would else pay for compiling what all of them run.
  for (const turn of [1, 2, 3]) {
    for (const name of names) {
      const { done, us } = await runFor(things[name], (turn * ms) / (12 * names.length));
      calls.set(name, Math.max(1, Math.round((BLOCK_MS * 1000 * done) / us)));
    }
  }
  const times = new Map<Name, number[]>(names.map((name) => [name, []]));
  const end = performance.now() + ms;
  for (let round = 0; round < MIN_ROUNDS || performance.now() < end; round += 1) {
    for (const index of names.keys()) {
      const name = names[(index + round) % names.length] as Name;
      times.get(name)?.push(await block(things[name], calls.get(name) ?? 1));
    }
  }
  return new Interleaved(times);
}

async function runFor(thing: Measured, ms: number): Promise<{ done: number; us: number }> {
  const begin = performance.now();
  let done = 0;
  do {
    await thing();
    done += 1;
  } while (performance.now() - begin < ms);
  return { done, us: (performance.now() - begin) * 1000 };
}

/** Microseconds a call. */
async function block(thing: Measured, calls: number): Promise<number> {
  const begin = performance.now();
  for (let call = 0; call < calls; call += 1) await thing();
  return ((performance.now() - begin) * 1000) / calls;
}

function paired(
  these: readonly number[],
  those: readonly number[],
  combine: (one: number, other: number) => number,
): number[] {
  return these.map((one, index) => combine(one, those[index] ?? Number.NaN));
}

/** A quantile, by the nearest value. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}
