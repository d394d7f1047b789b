// Not shared: the plugin has a cache of its own and takes what the service sends.
import type { ResponseHeaders } from "../../helpers/preflight/guild_request.ts";

/** The headers in which caches say what they did. */
const CACHE_REPORTS = ["cache-status", "cf-cache-status", "x-cache", "x-vercel-cache"] as const;

/** What else about caching an operator may want to see. */
const CACHE_HEADERS = [
  ...CACHE_REPORTS,
  "age",
  "cache-control",
  "date",
  "etag",
  "expires",
  "last-modified",
  "pragma",
  "vary",
] as const;

/** A whole word that speaks of a stored answer; words that end in "hit" too, as in `TCP_HIT` and `RefreshHit`. */
const STORED = /(?<![a-z0-9])(?:[a-z0-9]*hit|stale|revalidated|updating)(?![a-z0-9])/i;

/**
 * Whether an answer looks like one from a cache: an `Age` above 0 or one that is no number, or a cache that says so
 * (SPEC G5). `MISS`, `BYPASS`, `DYNAMIC`, `EXPIRED` and no such header at all do not.
 */
export function looksCached(headers: ResponseHeaders): boolean {
  const ages = [headers["age"] ?? []].flat();
  return (
    ages.some((age) => !/^\s*0+\s*$/.test(age)) ||
    CACHE_REPORTS.some((name) => [headers[name] ?? []].flat().some((value) => STORED.test(value)))
  );
}

/** The headers about caching, each in one text. */
export function cacheHeadersOf(headers: ResponseHeaders): Readonly<Record<string, string>> {
  const found = CACHE_HEADERS.flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [[name, [value].flat().join(", ")] as const];
  });
  return Object.freeze(Object.fromEntries(found));
}
