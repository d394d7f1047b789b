import type { RequestPicture } from "./picture.ts";

/** One choice of a filter. Its id is also the class of what it leaves to be seen. */
export interface Filter {
  readonly id: string;
  readonly label: string;
}

/** By how a request ended. */
export const OUTCOME_FILTERS: readonly Filter[] = [
  { id: "all", label: "all" },
  { id: "ran", label: "ran" },
  { id: "denied", label: "denied" },
  { id: "other", label: "neither" },
];

/** By what was known about the endpoint. */
export const EVIDENCE_FILTERS: readonly Filter[] = [
  { id: "all", label: "all" },
  { id: "fresh", label: "asked afresh" },
  { id: "cached", label: "from the cache" },
  { id: "unavailable", label: "unavailable" },
  { id: "unasked", label: "not asked" },
];

/** The filter of a request's outcome that shows it. */
export function outcomeClass({ outcome }: RequestPicture): string {
  return outcome === "ran" || outcome === "denied" ? outcome : "other";
}

/** The filter of a request's evidence that shows it. */
export function evidenceClass({ evidence }: RequestPicture): string {
  if (evidence === null) return "unasked";
  if (evidence.verdict === null) return "unavailable";
  return evidence.cached ? "cached" : "fresh";
}

/** The rules that hide what a chosen filter leaves out. */
export function filterRules(): string {
  const groups = [
    ["outcome", OUTCOME_FILTERS],
    ["evidence", EVIDENCE_FILTERS],
  ] as const;
  return groups
    .flatMap(([name, filters]) =>
      filters
        .filter(({ id }) => id !== "all")
        .map(({ id }) => `main:has(#${name}-${id}:checked) .item:not(.${id}) { display: none; }`),
    )
    .join("\n");
}
