import { BlockList, isIP } from "node:net";

import { isPublicAddress } from "../../helpers/binding/address_classes.ts";

/** The longest URL that is probed, in characters (code points). */
export const MAX_TARGET_CHARACTERS = 500;

/** The ports that are probed; an empty text stands for the default port of the scheme. */
const PORTS: ReadonlySet<string> = new Set(["", "80", "443", "8080", "8443"]);

/** An at sign before the path: user info, be it empty. */
const USER_INFO = /^[^:]*:[\\/]*[^\\/?#]*@/;

/** What a start for tests and the demo allows beyond the service's policy. */
export interface ProbeAllowance {
  /** Any port, and loopback addresses beside public ones. */
  readonly allowLoopback: boolean;
}

/** Why the service does not probe a URL. */
export type TargetProblem =
  | "too_long"
  | "whitespace_or_control"
  | "not_a_url"
  | "scheme"
  | "user_info"
  | "port";

/** What the service's URL policy makes of a target. */
export type TargetScreening =
  | { readonly kind: "admitted"; readonly url: URL }
  | { readonly kind: "refused"; readonly problem: TargetProblem };

/** A protocol that the service looks for. */
export type Protocol = "a2a" | "mcp";

/**
 * Tells from its text alone whether the service probes a URL (SPEC S2). Addresses are screened later, for each request.
 *
 * @param target - the URL as received; any text
 * @param allowance - `allowLoopback` lifts the rule about ports
 */
export function screenTarget(target: string, { allowLoopback }: ProbeAllowance): TargetScreening {
  // By iteration: a character outside the basic plane counts once.
  if (Array.from(target).length > MAX_TARGET_CHARACTERS) return refuse("too_long");
  if (/[\s\p{Cc}]/u.test(target)) return refuse("whitespace_or_control");
  if (!URL.canParse(target)) return refuse("not_a_url");
  const url = new URL(target);
  if (url.protocol !== "http:" && url.protocol !== "https:") return refuse("scheme");
  if (USER_INFO.test(target)) return refuse("user_info");
  if (!allowLoopback && !PORTS.has(url.port)) return refuse("port");
  return { kind: "admitted", url };
}

/**
 * Tells which protocol probes apply to a path, in the order in which they run (SPEC S2). Without one the service can never report
 * a handshake.
 *
 * @param pathname - the path as a URL parser serialises it
 */
export function protocolsAt(pathname: string): readonly Protocol[] {
  const protocols: Protocol[] = [];
  if (pathname === "" || pathname === "/" || pathname.includes("/a2a")) protocols.push("a2a");
  if (pathname.includes("/mcp")) protocols.push("mcp");
  return protocols;
}

/**
 * Tells whether the service connects to an address.
 *
 * @param address - an address as text; anything else is refused
 * @param allowance - `allowLoopback` adds 127.0.0.0/8 and ::1, and only those
 */
export function isProbedAddress(address: string, { allowLoopback }: ProbeAllowance): boolean {
  return isPublicAddress(address) || (allowLoopback && isLoopback(address));
}

// Apart, since a list of both would find an IPv4-mapped address in the IPv4 block.
const loopbackIpv4 = new BlockList();
loopbackIpv4.addSubnet("127.0.0.0", 8, "ipv4");
const loopbackIpv6 = new BlockList();
loopbackIpv6.addAddress("::1", "ipv6");

function isLoopback(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return loopbackIpv4.check(address, "ipv4");
    case 6:
      return !address.includes("%") && loopbackIpv6.check(address, "ipv6");
    default:
      return false;
  }
}

function refuse(problem: TargetProblem): TargetScreening {
  return { kind: "refused", problem };
}
