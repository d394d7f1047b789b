import { expect } from "chai";
import * as fc from "fast-check";

import { isPublicAddress } from "../../../../helpers/binding/address_classes.ts";
import { isPublicHost, screenEndpoint } from "../../../../helpers/binding/endpoint_screen.ts";

interface Range {
  readonly first: bigint;
  readonly last: bigint;
}

// The special blocks once more, judged by plain arithmetic: the tables under test are not their own judge.
const specialIpv4 = (
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 " +
  "192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 " +
  "203.0.113.0/24 224.0.0.0/4 240.0.0.0/4"
)
  .split(" ")
  .map((cidr) => toRange(cidr, { separator: ".", base: 10, groups: 4, groupBits: 8 }));
const specialIpv6 = "0/3 4000/2 8000/1 2001/23 2001:db8/32 2002/16 2620:4f:8000/48 3fff/20"
  .split(" ")
  .map((cidr) => toRange(cidr, { separator: ":", base: 16, groups: 8, groupBits: 16 }));

const anyIpv4 = fc.bigInt({ min: 0n, max: 2n ** 32n - 1n });
const anyIpv6 = fc.bigInt({ min: 0n, max: 2n ** 128n - 1n });
const globalUnicastIpv6 = fc.bigInt({ min: 1n << 125n, max: (1n << 126n) - 1n });
const specialIpv4Address = within(specialIpv4);
const specialIpv6Address = within(specialIpv6);

/** A special IPv4 address in one of the ways that old parsers read: 1 to 4 parts, each decimal, octal or hex. */
const specialIpv4Spelling = fc
  .tuple(
    specialIpv4Address,
    fc.integer({ min: 1, max: 4 }),
    fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 4, maxLength: 4 }),
  )
  .map(([value, parts, bases]) => {
    const leading = split(value, 4, 8).slice(0, parts - 1);
    // The last part of a short form holds all the bits that are left.
    const last = value & ((1n << BigInt(8 * (5 - parts))) - 1n);
    return [...leading, last].map((part, index) => inBase(part, bases[index] ?? 0)).join(".");
  });

/** An IPv6 literal that carries an IPv4 address, in both notations. */
const carriedIpv4Spelling = fc
  .tuple(anyIpv4, fc.constantFrom("::", "::ffff:", "::ffff:0:", "64:ff9b::", "64:ff9b:1::"), fc.boolean())
  .map(([value, prefix, decimal]) => `[${prefix}${decimal ? dotted(value) : hexGroups(value, 2).join(":")}]`);

const ipv6Style = fc.integer({ min: 0, max: 4 });

/** Text that is close enough to a URL for many samples to pass the screen and many to fail it late. */
const schemePart = fc.constantFrom(
  "https://",
  "http://",
  "https://",
  "HTTPS://",
  "https:/",
  "https:",
  "ftp://",
  "",
);
const hostPart = fc.oneof(
  { weight: 4, arbitrary: fc.domain() },
  { weight: 2, arbitrary: fc.ipV4Extended() },
  { weight: 1, arbitrary: fc.ipV6().map((text) => `[${text}]`) },
  { weight: 1, arbitrary: globalUnicastIpv6.map((value) => `[${ipv6Spelling(value, 4)}]`) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "MCP.Example.com",
      "localhost",
      "mcp",
      "a.internal.",
      "a..b",
      "xn--bcher-kva.net",
    ),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 8 }) },
);
const portPart = fc.oneof(
  { weight: 4, arbitrary: fc.constant("") },
  { weight: 1, arbitrary: fc.constantFrom(":", ":0", ":80", ":443", ":0443", ":8443", ":65536", ":x") },
);
const pathPart = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      "",
      "/",
      "/mcp",
      "/a/../b",
      "/%2e/a",
      "/a;b=c",
      "/@me",
      "//",
      "/mcp?",
      "/mcp#",
    ),
  },
  { weight: 2, arbitrary: fc.webPath() },
  { weight: 1, arbitrary: fc.string({ maxLength: 12 }).map((text) => `/${text}`) },
);
const urlLike = fc.tuple(schemePart, hostPart, portPart, pathPart).map((parts) => parts.join(""));
const anyText = fc.oneof(
  { weight: 3, arbitrary: urlLike },
  { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
  { weight: 1, arbitrary: fc.webUrl({ withQueryParameters: true, withFragments: true }) },
);

/** A URL that the screen accepts. */
const eligibleUrl = fc
  .tuple(fc.constantFrom("https://", "http://"), fc.domain(), fc.constantFrom("", ":8443"), fc.webPath())
  .map((parts) => parts.join(""))
  .filter((url) => screenEndpoint(url).kind === "eligible");

describe("endpoint screen, for any text", () => {
  it("answers instead of throwing, and a refusal has no room for the URL [P4.4]", () => {
    fc.assert(
      fc.property(anyText, fc.boolean(), (text, allowPrivateHosts) => {
        const screening = screenEndpoint(text, { allowPrivateHosts });
        if (screening.kind === "eligible") {
          expect(screening.url).to.equal(text);
        } else {
          expect(Object.keys(screening)).to.deep.equal(["kind", "rule", "problem"]);
          expect(screening.problem).to.match(/^[a-z_]+$/);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("accepts only what serialises to itself but for host case, default port and empty path [P4.2]", () => {
    fc.assert(
      fc.property(urlLike, (text) => {
        if (screenEndpoint(text, { allowPrivateHosts: true }).kind !== "eligible") return;
        const parsed = new URL(text);
        const afterScheme = text.slice(parsed.protocol.length + 2);
        const slash = afterScheme.includes("/") ? afterScheme.indexOf("/") : afterScheme.length;
        const defaultPort = parsed.protocol === "http:" ? ":80" : ":443";
        expect(text.startsWith(`${parsed.protocol}//`)).to.equal(true);
        expect([parsed.host, parsed.host + defaultPort]).to.include(
          afterScheme.slice(0, slash).toLowerCase(),
        );
        expect(afterScheme.slice(slash) || "/").to.equal(parsed.pathname);
        expect(parsed.username + parsed.password + parsed.search + parsed.hash).to.equal("");
        expect(text).to.match(/^[\x21-\x7e]{1,2048}$/);
      }),
      { numRuns: 2000 },
    );
  });

  it("accepts only URLs whose parsed host is the host that it names, and public [P4.3]", () => {
    fc.assert(
      fc.property(urlLike, (text) => {
        const screening = screenEndpoint(text);
        if (screening.kind !== "eligible") return;
        const host = new URL(text).hostname;
        expect(screening.host).to.equal(host);
        expect(isPublicHost(host)).to.equal(true);
        expect(text.toLowerCase()).to.include(`//${host}`);
      }),
      { numRuns: 2000 },
    );
  });

  it("gives the same answer with private hosts allowed, unless P4.3 was the reason [P4.3]", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const strict = screenEndpoint(text);
        const lifted = screenEndpoint(text, { allowPrivateHosts: true });
        if (strict.kind === "ineligible" && strict.rule === "P4.3") expect(lifted.kind).to.equal("eligible");
        else expect(lifted).to.deep.equal(strict);
      }),
      { numRuns: 2000 },
    );
  });

  it("refuses an eligible URL once a forbidden character is put anywhere into it [P4.1, P4.2]", () => {
    const sign = fc.constantFrom(..." \t\n\r\0\x7f\x85\\?#^\u3002\uff0e".split(""));
    fc.assert(
      fc.property(eligibleUrl, sign, fc.double({ min: 0, max: 1, noNaN: true }), (url, one, part) => {
        const at = Math.round(part * url.length);
        expect(screenEndpoint(url.slice(0, at) + one + url.slice(at)).kind).to.equal("ineligible");
      }),
      { numRuns: 1000 },
    );
  });
});

describe("special-purpose addresses, in any spelling", () => {
  it("never pass as IPv4 in octal, hex, integer or short form [P4.2, P4.3]", () => {
    fc.assert(
      fc.property(specialIpv4Spelling, fc.constantFrom("", "."), (host, dot) => {
        expect(screenEndpoint(`http://${host}${dot}/mcp`).kind).to.equal("ineligible");
        expect(isPublicHost(host + dot)).to.equal(false);
      }),
      { numRuns: 2000 },
    );
  });

  it("never pass as IPv4 in percent-coded or full-width digits [P4.2]", () => {
    fc.assert(
      fc.property(specialIpv4Address, (value) => {
        const plain = dotted(value);
        const coded = plain.replace(/\d/g, (digit) => `%3${digit}`);
        const wide = plain.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit)));
        for (const host of [coded, wide, plain.replaceAll(".", "\u3002")]) {
          expect(screenEndpoint(`https://${host}/mcp`).kind).to.equal("ineligible");
        }
      }),
      { numRuns: 500 },
    );
  });

  it("never pass as IPv6 that carries an IPv4 address, even a public one [P4.3]", () => {
    fc.assert(
      fc.property(carriedIpv4Spelling, (host) => {
        expect(screenEndpoint(`https://${host}/mcp`).kind).to.equal("ineligible");
        expect(isPublicAddress(host.slice(1, -1))).to.equal(false);
      }),
      { numRuns: 1000 },
    );
  });

  it("never pass as IPv6, expanded, padded, upper-case, mixed or short [P4.2, P4.3]", () => {
    fc.assert(
      fc.property(specialIpv6Address, ipv6Style, (value, style) => {
        const address = ipv6Spelling(value, style);
        expect(screenEndpoint(`https://[${address}]/mcp`).kind).to.equal("ineligible");
        expect(isPublicAddress(address)).to.equal(false);
        expect(isPublicAddress(`${address}%eth0`)).to.equal(false);
      }),
      { numRuns: 1000 },
    );
  });
});

describe("address classes, for any address", () => {
  it("agree with plain arithmetic on IPv4 [P4.3]", () => {
    fc.assert(
      fc.property(fc.oneof(anyIpv4, specialIpv4Address), (value) => {
        expect(isPublicAddress(dotted(value))).to.equal(!isInside(specialIpv4, value));
      }),
      { numRuns: 1500 },
    );
  });

  it("agree with plain arithmetic on IPv6 in every spelling [P4.3]", () => {
    fc.assert(
      fc.property(fc.oneof(anyIpv6, globalUnicastIpv6, specialIpv6Address), ipv6Style, (value, style) => {
        expect(isPublicAddress(ipv6Spelling(value, style))).to.equal(!isInside(specialIpv6, value));
      }),
      { numRuns: 1500 },
    );
  });
});

function toRange(
  cidr: string,
  form: { separator: string; base: number; groups: number; groupBits: number },
): Range {
  const [network = "", prefix = ""] = cidr.split("/");
  const given = network.split(form.separator).map((group) => BigInt(Number.parseInt(group, form.base)));
  const padded = [...given, ...Array<bigint>(form.groups - given.length).fill(0n)];
  const first = padded.reduce((sum, group) => (sum << BigInt(form.groupBits)) | group, 0n);
  const size = 1n << BigInt(form.groups * form.groupBits - Number(prefix));
  return { first, last: first + size - 1n };
}

/** Addresses inside the ranges; fast-check prefers the edges. */
function within(ranges: readonly Range[]): fc.Arbitrary<bigint> {
  return fc.constantFrom(...ranges).chain(({ first, last }) => fc.bigInt({ min: first, max: last }));
}

function isInside(ranges: readonly Range[], value: bigint): boolean {
  return ranges.some(({ first, last }) => value >= first && value <= last);
}

/** The number as so many groups of so many bits, the highest first. */
function split(value: bigint, groups: number, bits: number): bigint[] {
  const mask = (1n << BigInt(bits)) - 1n;
  return Array.from({ length: groups }, (_, index) => (value >> BigInt((groups - 1 - index) * bits)) & mask);
}

function dotted(value: bigint): string {
  return split(value, 4, 8).join(".");
}

function hexGroups(value: bigint, groups: number): string[] {
  return split(value, groups, 16).map((group) => group.toString(16));
}

function inBase(value: bigint, style: number): string {
  if (style === 0) return value.toString();
  if (style === 1) return `0${value.toString(8)}`;
  return style === 2 ? `0x${value.toString(16)}` : `0X${value.toString(16).toUpperCase()}`;
}

function ipv6Spelling(value: bigint, style: number): string {
  const groups = hexGroups(value, 8);
  if (style === 0) return groups.join(":");
  if (style === 1) return groups.map((group) => group.padStart(4, "0")).join(":");
  if (style === 2) return groups.join(":").toUpperCase();
  if (style === 3) return [...groups.slice(0, 6), dotted(value & 0xffff_ffffn)].join(":");
  return new URL(`http://[${groups.join(":")}]/`).hostname.slice(1, -1);
}
