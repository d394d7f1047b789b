/** How long a case may measure. */
export interface Pace {
  /** For each group of things that are measured side by side, in milliseconds; warming up comes on top. */
  readonly ms: number;
  /** Whether a look is enough: fewer sizes, fewer repetitions. */
  readonly quick: boolean;
}

/** One line of a case's table. */
export interface Row {
  readonly name: string;
  /** By column. A column's name ends in its unit: `median_us`, `growth_mb`, `calls_per_s`. */
  readonly figures: Readonly<Record<string, number>>;
}

/** Something that is said of the project, and what this run makes of it. */
export type Claim = {
  readonly says: string;
  readonly figure: number;
} & ({ readonly atMost: number } | { readonly atLeast: number });

/** What came of a case. */
export interface CaseResult {
  readonly rows: readonly Row[];
  readonly claims: readonly Claim[];
  /** What a reader must know, such as what could not be measured here. */
  readonly notes?: readonly string[];
}

/** One case: a module of `cases/` exports it as its default. It runs in a process of its own, with `gc` exposed. */
export interface BenchCase {
  readonly title: string;
  /** Starts what it needs, measures, closes everything. */
  run(pace: Pace): Promise<CaseResult>;
}

/** Whether a run bears a claim out. */
export function holds(claim: Claim): boolean {
  return "atMost" in claim ? claim.figure <= claim.atMost : claim.figure >= claim.atLeast;
}
