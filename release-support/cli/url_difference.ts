import { screenEndpoint } from "../../helpers/binding/endpoint_screen.ts";
import { displayWidth, wrap } from "../terminal/text.ts";

/** Two URLs that must be the same, and are not (SPEC P5.3). */
export interface UrlDifference {
  readonly approved: string;
  /** The URL of the server's entry; `null` when it may hold a credential. */
  readonly configured: string | null;
  /** The first character in which they differ, counted from 1. */
  readonly differs_at: number;
}

/**
 * Compares an approved URL with that of the server's entry.
 *
 * @param approved - an eligible URL
 * @param configured - whatever the entry has
 * @returns the difference, or `null` when there is none
 */
export function urlDifference(approved: string, configured: string): UrlDifference | null {
  if (approved === configured) return null;
  let at = 0;
  while (at < approved.length && approved[at] === configured[at]) at += 1;
  const mayBeShown = screenEndpoint(configured, { allowPrivateHosts: true }).kind === "eligible";
  return { approved, configured: mayBeShown ? configured : null, differs_at: at + 1 };
}

/** Both URLs, one below the other, with the first character in which they differ marked. */
export function differenceLines(
  { approved, configured, differs_at: at }: UrlDifference,
  indent = "",
): string[] {
  const heads = [`${indent}approved:   `, `${indent}configured: `] as const;
  const urls = [approved, configured ?? "(not shown: it may hold a credential)"] as const;
  const lines = urls.map((url, index) => wrap(url, { first: heads[index] ?? "" }));
  const areWhole = lines.every((of) => of.length === 1);
  const mark = `${" ".repeat(displayWidth(heads[0]) + at - 1)}^`;
  return [
    ...lines.flat(),
    ...(areWhole && configured !== null ? [mark] : []),
    ...wrap(`They differ from character ${at} on.`, { first: indent }),
  ];
}
