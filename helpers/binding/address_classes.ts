import { BlockList, isIP } from "node:net";

/** A block of addresses: its first address and the length of its prefix in bits. */
type Block = readonly [network: string, prefix: number];

/**
 * What of IPv4 is not public: the IANA IPv4 Special-Purpose Address Registry, and the multicast space beside it.
 * Blocks that the registry holds for a service (AS112, AMT, 6to4 relays) count too, globally reachable or not: no
 * MCP endpoint lives there.
 */
const specialIpv4: readonly Block[] = [
  ["0.0.0.0", 8], // this network (RFC 791, RFC 1122)
  ["10.0.0.0", 8], // private use (RFC 1918)
  ["100.64.0.0", 10], // shared address space of carriers (RFC 6598)
  ["127.0.0.0", 8], // loopback (RFC 1122)
  ["169.254.0.0", 16], // link local, cloud metadata (RFC 3927)
  ["172.16.0.0", 12], // private use (RFC 1918)
  ["192.0.0.0", 24], // IETF protocol assignments, DS-Lite, NAT64 discovery (RFC 6890)
  ["192.0.2.0", 24], // documentation, TEST-NET-1 (RFC 5737)
  ["192.31.196.0", 24], // AS112, DNAME redirection (RFC 7535)
  ["192.52.193.0", 24], // automatic multicast tunnelling (RFC 7450)
  ["192.88.99.0", 24], // 6to4 relay anycast, deprecated (RFC 7526)
  ["192.168.0.0", 16], // private use (RFC 1918)
  ["192.175.48.0", 24], // AS112, direct delegation (RFC 7534)
  ["198.18.0.0", 15], // benchmarking (RFC 2544)
  ["198.51.100.0", 24], // documentation, TEST-NET-2 (RFC 5737)
  ["203.0.113.0", 24], // documentation, TEST-NET-3 (RFC 5737)
  ["224.0.0.0", 4], // multicast (RFC 1112, RFC 5771)
  ["240.0.0.0", 4], // reserved, limited broadcast at its end (RFC 1112, RFC 919)
];

/**
 * The only IPv6 space that is public at all: global unicast (RFC 4291). Outside it lie, among others, loopback,
 * IPv4-mapped, -translated and -compatible addresses, NAT64 (64:ff9b::/96, 64:ff9b:1::/48), discard-only (100::/64),
 * segment routing (5f00::/16), unique local, link local and multicast.
 */
const globalUnicastIpv6: Block = ["2000::", 3];

/** What of global unicast is not public: the IANA IPv6 Special-Purpose Address Registry. */
const specialIpv6: readonly Block[] = [
  ["2001::", 23], // IETF protocol assignments (RFC 2928): Teredo, benchmarking, AMT, AS112, ORCHID, drone ids
  ["2001:db8::", 32], // documentation (RFC 3849)
  ["2002::", 16], // 6to4, which carries an IPv4 address (RFC 3056)
  ["2620:4f:8000::", 48], // AS112, direct delegation (RFC 7534)
  ["3fff::", 20], // documentation (RFC 9637)
];

const specialIpv4List = blockList("ipv4", specialIpv4);
const globalUnicastIpv6List = blockList("ipv6", [globalUnicastIpv6]);
const specialIpv6List = blockList("ipv6", specialIpv6);

/**
 * Tells whether an address belongs to a host of the public internet (SPEC P4.3).
 *
 * @param address - an IPv4 or IPv6 address as text, in any spelling that `net.isIP` accepts, without brackets
 * @returns `false` for an address in a special-purpose block, for IPv6 outside 2000::/3, for one with a zone id, and
 * for text that is no address. The blocks whose addresses carry an IPv4 address
 * (mapped, NAT64, 6to4, Teredo) are special, whatever it is.
 */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !specialIpv4List.check(address, "ipv4");
    case 6:
      return (
        !address.includes("%") &&
        globalUnicastIpv6List.check(address, "ipv6") &&
        !specialIpv6List.check(address, "ipv6")
      );
    default:
      return false;
  }
}

function blockList(family: "ipv4" | "ipv6", blocks: readonly Block[]): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of blocks) list.addSubnet(network, prefix, family);
  return list;
}
