import { expect } from "chai";

import { isPublicAddress } from "../../../../helpers/binding/address_classes.ts";

/** First and last address of each special block, and its public neighbours where it has any. */
const ipv4Blocks: readonly { what: string; inside: string[]; outside: string[] }[] = [
  { what: "this network", inside: ["0.0.0.0", "0.255.255.255"], outside: ["1.0.0.0"] },
  {
    what: "private use 10/8",
    inside: ["10.0.0.0", "10.255.255.255"],
    outside: ["9.255.255.255", "11.0.0.0"],
  },
  {
    what: "shared carrier space",
    inside: ["100.64.0.0", "100.127.255.255"],
    outside: ["100.63.255.255", "100.128.0.0"],
  },
  { what: "loopback", inside: ["127.0.0.0", "127.255.255.255"], outside: ["126.255.255.255", "128.0.0.0"] },
  {
    what: "link local",
    inside: ["169.254.0.0", "169.254.169.254", "169.254.255.255"],
    outside: ["169.253.255.255", "169.255.0.0"],
  },
  {
    what: "private use 172.16/12",
    inside: ["172.16.0.0", "172.31.255.255"],
    outside: ["172.15.255.255", "172.32.0.0"],
  },
  {
    what: "protocol assignments",
    inside: ["192.0.0.0", "192.0.0.255"],
    outside: ["191.255.255.255", "192.0.1.0"],
  },
  { what: "TEST-NET-1", inside: ["192.0.2.0", "192.0.2.255"], outside: ["192.0.1.255", "192.0.3.0"] },
  {
    what: "AS112 redirection",
    inside: ["192.31.196.0", "192.31.196.255"],
    outside: ["192.31.195.255", "192.31.197.0"],
  },
  {
    what: "multicast tunnelling",
    inside: ["192.52.193.0", "192.52.193.255"],
    outside: ["192.52.192.255", "192.52.194.0"],
  },
  {
    what: "6to4 relays",
    inside: ["192.88.99.0", "192.88.99.255"],
    outside: ["192.88.98.255", "192.88.100.0"],
  },
  {
    what: "private use 192.168/16",
    inside: ["192.168.0.0", "192.168.255.255"],
    outside: ["192.167.255.255", "192.169.0.0"],
  },
  {
    what: "AS112 delegation",
    inside: ["192.175.48.0", "192.175.48.255"],
    outside: ["192.175.47.255", "192.175.49.0"],
  },
  {
    what: "benchmarking",
    inside: ["198.18.0.0", "198.19.255.255"],
    outside: ["198.17.255.255", "198.20.0.0"],
  },
  {
    what: "TEST-NET-2",
    inside: ["198.51.100.0", "198.51.100.255"],
    outside: ["198.51.99.255", "198.51.101.0"],
  },
  { what: "TEST-NET-3", inside: ["203.0.113.0", "203.0.113.255"], outside: ["203.0.112.255", "203.0.114.0"] },
  { what: "multicast", inside: ["224.0.0.0", "239.255.255.255"], outside: ["223.255.255.255"] },
  {
    what: "reserved and broadcast",
    inside: ["240.0.0.0", "255.255.255.254", "255.255.255.255"],
    outside: [],
  },
];

const ipv6Blocks: readonly { what: string; inside: string[]; outside: string[] }[] = [
  {
    what: "protocol assignments",
    inside: ["2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"],
    outside: ["2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"],
  },
  { what: "Teredo", inside: ["2001::1", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff"], outside: [] },
  { what: "benchmarking", inside: ["2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff"], outside: [] },
  { what: "multicast tunnelling", inside: ["2001:3::1"], outside: [] },
  {
    what: "AS112",
    inside: ["2001:4:112::1", "2620:4f:8000::", "2620:4f:8000:ffff::1"],
    outside: ["2620:4f:7fff::1", "2620:4f:8001::"],
  },
  {
    what: "ORCHID and ORCHIDv2",
    inside: ["2001:10::1", "2001:1f::1", "2001:20::1", "2001:2f::1"],
    outside: [],
  },
  {
    what: "documentation",
    inside: ["2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::", "3fff:fff:ffff::1"],
    outside: ["2001:db7:ffff::1", "2001:db9::", "3ffe:ffff::1", "3fff:1000::"],
  },
  {
    what: "6to4",
    inside: ["2002::", "2002:7f00:1::", "2002:808:808::1", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
    outside: ["2001:ffff::1", "2003::"],
  },
  { what: "unspecified and loopback", inside: ["::", "::1"], outside: [] },
  { what: "IPv4-mapped", inside: ["::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:8.8.8.8"], outside: [] },
  { what: "IPv4-translated", inside: ["::ffff:0:8.8.8.8", "::ffff:0:7f00:1"], outside: [] },
  { what: "IPv4-compatible", inside: ["::8.8.8.8", "::127.0.0.1"], outside: [] },
  { what: "NAT64", inside: ["64:ff9b::7f00:1", "64:ff9b::8.8.8.8", "64:ff9b:1::1"], outside: [] },
  { what: "discard-only and dummy", inside: ["100::1", "100:0:0:1::1"], outside: [] },
  { what: "segment routing", inside: ["5f00::1"], outside: [] },
  { what: "unique local", inside: ["fc00::1", "fd12:3456::1", "fdff:ffff::1"], outside: [] },
  { what: "link local and site local", inside: ["fe80::1", "febf::1", "fec0::1"], outside: [] },
  {
    what: "multicast",
    inside: ["ff00::", "ff02::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
    outside: [],
  },
  {
    what: "space beside global unicast",
    inside: ["1fff:ffff::1", "4000::"],
    outside: ["2000::", "3fff:ffff:ffff::1"],
  },
];

describe("address classes", () => {
  for (const { what, inside, outside } of ipv4Blocks) {
    it(`counts the whole IPv4 block, and nothing beside it, as not public: ${what} [P4.3]`, () => {
      expect(inside.filter(isPublicAddress)).to.deep.equal([]);
      expect(outside.filter(isPublicAddress)).to.deep.equal(outside);
    });
  }

  for (const { what, inside, outside } of ipv6Blocks) {
    it(`counts the whole IPv6 block, and nothing beside it, as not public: ${what} [P4.3]`, () => {
      expect(inside.filter(isPublicAddress)).to.deep.equal([]);
      expect(outside.filter(isPublicAddress)).to.deep.equal(outside);
    });
  }

  it("counts ordinary addresses of both families as public [P4.3]", () => {
    const addresses = [
      "8.8.8.8",
      "1.1.1.1",
      "93.184.216.34",
      "2606:4700:4700::1111",
      "2a00:1450:4001:81b::200e",
    ];
    expect(addresses.filter(isPublicAddress)).to.deep.equal(addresses);
  });

  it("reads every spelling of one IPv6 address alike [P4.3]", () => {
    expect(spellings("2606:4700").filter((text) => !isPublicAddress(text))).to.deep.equal([]);
    expect(spellings("2001:db8").filter(isPublicAddress)).to.deep.equal([]);
  });

  it("refuses an address with a zone id [P4.2]", () => {
    expect(
      ["fe80::1%eth0", "2606:4700:4700::1111%eth0", "2606:4700:4700::1111%1"].filter(isPublicAddress),
    ).to.deep.equal([]);
  });

  it("refuses text that is no canonical address [P4.3]", () => {
    const texts = [
      "",
      "8.8.8",
      "134744072",
      "010.8.8.8",
      "0x8.8.8.8",
      "8.8.8.8 ",
      "[2606:4700::1]",
      "8.8.8.8:443",
      "name",
    ];
    expect(texts.filter(isPublicAddress)).to.deep.equal([]);
  });
});

/** One address below a prefix of two groups, in several spellings. */
function spellings(prefix: string): string[] {
  return [
    `${prefix}::1`,
    `${prefix}:0:0:0:0:0:1`,
    `${prefix}:0000:0000:0000:0000:0000:0001`,
    `${prefix}::0.0.0.1`,
    `${prefix}::a`.toUpperCase(),
  ];
}
