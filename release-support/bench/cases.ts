import type { BenchCase } from "./bench_case.ts";

/** A case, and whether it runs without being named. */
export interface RegisteredCase {
  readonly load: () => Promise<{ readonly default: BenchCase }>;
  readonly byDefault: boolean;
}

/** Every case by its name on the command line, in the order in which they run. */
export const CASES: Readonly<Record<string, RegisteredCase>> = {
  gate: { load: () => import("./cases/gate.ts"), byDefault: true },
  decision_log: { load: () => import("./cases/decision_log.ts"), byDefault: true },
};
