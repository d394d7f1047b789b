import { isIP } from "node:net";

import { isPublicAddress } from "./address_classes.ts";

/** Why a URL is ineligible, as a fixed word that says nothing of the URL itself (SPEC P4.4). */
export type EndpointProblem =
  | "not_text"
  | "too_long"
  | "whitespace_or_control"
  | "not_ascii"
  | "scheme"
  | "backslash"
  | "query"
  | "fragment"
  | "user_info"
  | "empty_port"
  | "percent_in_authority"
  | "not_a_url"
  | "not_as_serialised"
  | "port_zero"
  | "host_name"
  | "host_not_public";

/** What the screen makes of a URL. Only the eligible answer holds any text of it. */
export type EndpointScreening =
  | {
      readonly kind: "eligible";
      /** The URL exactly as given. */
      readonly url: string;
      readonly scheme: "http" | "https";
      /** The host as a URL parser gives it: lower-case, IPv6 in brackets, a trailing dot kept, no port. */
      readonly host: string;
    }
  | {
      readonly kind: "ineligible";
      /** The rule of the specification that refuses it. */
      readonly rule: "P4.1" | "P4.2" | "P4.3";
      readonly problem: EndpointProblem;
    };

type Refusal = Extract<EndpointScreening, { kind: "ineligible" }>;

const maxUrlLength = 2048;

/**
 * What the text itself must not hold, the first that matches being the answer. The text is judged before any parser
 * sees it, since a parser drops tabs, newlines, edge spaces and empty markers, and repairs slashes. An `@` or `:`
 * counts where the authority has it (up to the first slash) and, as a bare marker, at the very end.
 */
const textProblems: readonly (readonly [rule: Refusal["rule"], problem: EndpointProblem, found: RegExp])[] = [
  ["P4.1", "whitespace_or_control", /[\s\p{Cc}]/u],
  ["P4.2", "not_ascii", /[^\x21-\x7e]/],
  ["P4.1", "scheme", /^(?!https?:\/\/)/],
  ["P4.2", "backslash", /\\/],
  ["P4.1", "query", /\?/],
  ["P4.1", "fragment", /#/],
  ["P4.1", "user_info", /^https?:\/\/[^/]*@|@$/],
  ["P4.1", "empty_port", /^https?:\/\/[^/]*:(?:\/|$)|:$/],
  ["P4.2", "percent_in_authority", /^https?:\/\/[^/]*%/],
];

const privateNames: readonly string[] = [
  "localhost",
  "local",
  "internal",
  "lan",
  "home",
  "home.arpa",
  "corp",
  "test",
  "invalid",
  "example",
  "onion",
];

/**
 * Tells from its text alone whether a URL may be an approved endpoint; no name is resolved (SPEC P4; vectors
 * `endpoint_screen`). It never throws.
 *
 * @param url - the URL as configured; anything but a string is ineligible
 * @param options - `allowPrivateHosts`: true lifts P4.3, and only that
 */
export function screenEndpoint(
  url: unknown,
  options: { readonly allowPrivateHosts?: boolean } = {},
): EndpointScreening {
  if (typeof url !== "string") return refuse("P4.1", "not_text");
  if (url.length > maxUrlLength) return refuse("P4.2", "too_long");
  for (const [rule, problem, found] of textProblems) if (found.test(url)) return refuse(rule, problem);

  if (!URL.canParse(url)) return refuse("P4.2", "not_a_url");
  const parsed = new URL(url);
  if (!isAsSerialised(url, parsed)) return refuse("P4.2", "not_as_serialised");
  if (parsed.port === "0") return refuse("P4.2", "port_zero");

  const host = parsed.hostname;
  if (!isLiteralIpv6(host) && nameLabels(host) === null) return refuse("P4.2", "host_name");
  if (options.allowPrivateHosts !== true && !isPublicHost(host)) return refuse("P4.3", "host_not_public");
  return { kind: "eligible", url, scheme: parsed.protocol === "http:" ? "http" : "https", host };
}

/**
 * Tells whether a host is public by its text alone (SPEC P4.3).
 *
 * @param hostname - a DNS name, an IPv4 address or an IPv6 address, the latter with or without brackets; no port
 * @returns `false` for an address in a special-purpose block, a single label, a special-use or private name or one
 * below it, a name that a URL parser would read as a number, and text that is no host at all. One trailing dot of a
 * name is ignored.
 */
export function isPublicHost(hostname: string): boolean {
  const address = isLiteralIpv6(hostname) ? hostname.slice(1, -1) : hostname;
  if (isIP(address) !== 0) return isPublicAddress(address);
  const labels = nameLabels(hostname);
  return labels !== null && labels.length > 1 && !endsInNumber(labels) && !isPrivateName(labels.join("."));
}

function refuse(rule: Refusal["rule"], problem: EndpointProblem): Refusal {
  return { kind: "ineligible", rule, problem };
}

/**
 * Whether the text is what the WHATWG serialiser writes for it, but for the letter case of the host, an explicit
 * default port and an empty path. The text has passed `textProblems`.
 */
function isAsSerialised(url: string, parsed: URL): boolean {
  const [, scheme = "", authority = "", path = ""] = /^(https?:\/\/)([^/]*)(.*)$/.exec(url) ?? [];
  const defaultPort = scheme === "http://" ? /:80$/ : /:443$/;
  // The standard escapes `^` in a path since 2024; parsers older than that leave it, and the answer must not depend
  // on the age of the runtime.
  if (path.includes("^")) return false;
  return scheme + authority.toLowerCase().replace(defaultPort, "") + (path || "/") === parsed.href;
}

function isLiteralIpv6(hostname: string): boolean {
  return /^\[.*:.*\]$/.test(hostname);
}

/**
 * The labels of a DNS name in lower case, a trailing dot left out; `null` when it is no such name. Underscores are
 * no part of the host name rules but occur in the DNS. What else the URL parser lets into a host (quotes, commas,
 * empty labels) is read differently by different clients, so it is refused.
 */
function nameLabels(hostname: string): string[] | null {
  const name = hostname.replace(/\.$/, "");
  const labels = name.split(".");
  const isName = name.length <= 253 && labels.every((label) => /^[a-z0-9_-]{1,63}$/i.test(label));
  return isName ? labels.map((label) => label.toLowerCase()) : null;
}

/** Whether a URL parser reads these labels as an IPv4 address (in octal, hex, short form), or fails trying. */
function endsInNumber(labels: readonly string[]): boolean {
  return /^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? "");
}

function isPrivateName(name: string): boolean {
  return privateNames.some((ending) => name === ending || name.endsWith(`.${ending}`));
}
