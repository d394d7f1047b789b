import { holds } from "./bench_case.ts";
import type { CaseResult, Claim } from "./bench_case.ts";

/** Writes a case's result for people: a line for each thing measured, then what is claimed of it. */
export function tableText({
  title,
  rows,
  claims,
  notes = [],
}: CaseResult & { readonly title: string }): string {
  const columns = [...new Set(rows.flatMap(({ figures }) => Object.keys(figures)))];
  const nameWidth = Math.max(0, ...rows.map(({ name }) => name.length));
  const width = (column: string) => Math.max(column.length, 9);
  const line = (name: string, cell: (column: string) => string) =>
    `  ${name.padEnd(nameWidth)}  ${columns.map((column) => cell(column).padStart(width(column))).join("  ")}`;
  return [
    `\n${title}`,
    line("", (column) => column.replaceAll("_", " ")),
    ...rows.map(({ name, figures }) => line(name, (column) => shown(figures[column]))),
    ...claims.map((claim) => `  ${holds(claim) ? "holds" : "FAILS"}: ${claimText(claim)}`),
    ...notes.map((note) => `  note: ${note}`),
  ].join("\n");
}

function claimText(claim: Claim): string {
  const bound = "atMost" in claim ? `at most ${claim.atMost}` : `at least ${claim.atLeast}`;
  return `${claim.says}: ${shown(claim.figure)} (${bound})`;
}

function shown(figure: number | undefined): string {
  if (figure === undefined || Number.isNaN(figure)) return "-";
  const digits = Math.abs(figure) >= 100 ? 0 : Math.abs(figure) >= 10 ? 1 : 2;
  return figure.toFixed(digits);
}
