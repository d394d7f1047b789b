import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect } from "chai";
import { z } from "zod";

import { isPublicHost, screenEndpoint } from "../../../../helpers/binding/endpoint_screen.ts";
import type { EndpointScreening } from "../../../../helpers/binding/endpoint_screen.ts";
import { packageRoot } from "../../../packaging/package_root.ts";

const casesPath = join(packageRoot, "release-support", "native-tests", "cases", "cases.json");
const casesShape = z.array(z.object({ id: z.string(), input: z.unknown() }));
const rowsShape = z.object({ refuse: z.array(z.string()), accept: z.array(z.string()) });

function caseRows(id: string): z.infer<typeof rowsShape> {
  const cases = casesShape.parse(JSON.parse(readFileSync(casesPath, "utf8")));
  return rowsShape.parse(cases.find((one) => one.id === id)?.input);
}

/** The rule and the word of a refusal in one text, or `eligible`. */
function answer(screening: EndpointScreening): string {
  return screening.kind === "eligible" ? "eligible" : `${screening.rule} ${screening.problem}`;
}

function expectAnswer(urls: readonly string[], expected: string): void {
  for (const url of urls) {
    expect(answer(screenEndpoint(url)), JSON.stringify(url)).to.equal(expected);
    if (!expected.startsWith("P4.3")) {
      const lifted = screenEndpoint(url, { allowPrivateHosts: true });
      expect(answer(lifted), `${JSON.stringify(url)} with private hosts`).to.equal(expected);
    }
  }
}

describe("endpoint screen", () => {
  describe("what a parser would have thrown away or repaired (G-01)", () => {
    const rows = caseRows("G-01");
    for (const url of rows.refuse) {
      it(`refuses ${JSON.stringify(url)} [P4.1, P4.2]`, () => {
        expect(screenEndpoint(url).kind).to.equal("ineligible");
        expect(screenEndpoint(url, { allowPrivateHosts: true }).kind).to.equal("ineligible");
      });
    }
    for (const url of rows.accept) {
      it(`accepts ${JSON.stringify(url)} [P4.1, P4.2]`, () => {
        expect(answer(screenEndpoint(url))).to.equal("eligible");
      });
    }
  });

  describe("private hosts in disguise (G-02)", () => {
    const rows = caseRows("G-02");
    for (const url of rows.refuse) {
      it(`refuses ${JSON.stringify(url)} [P4.2, P4.3]`, () => {
        expect(screenEndpoint(url).kind).to.equal("ineligible");
      });
    }
    for (const url of rows.accept) {
      it(`accepts ${JSON.stringify(url)} [P4.3]`, () => {
        expect(answer(screenEndpoint(url))).to.equal("eligible");
      });
    }
  });

  describe("the text", () => {
    it("gives an eligible URL back untouched, with its scheme and host [P4.1]", () => {
      expect(screenEndpoint("https://MCP.Example.com:443/a%20b")).to.deep.equal({
        kind: "eligible",
        url: "https://MCP.Example.com:443/a%20b",
        scheme: "https",
        host: "mcp.example.com",
      });
    });

    it("refuses anything that is no string [P4.1]", () => {
      const values = [
        undefined,
        null,
        7,
        {},
        ["https://mcp.example.com/"],
        new URL("https://mcp.example.com/"),
      ];
      for (const value of values) expect(answer(screenEndpoint(value))).to.equal("P4.1 not_text");
    });

    it("accepts 2,048 characters and refuses one more [P4.2]", () => {
      const longest = "https://mcp.example.com/".padEnd(2048, "a");
      expectAnswer([longest], "eligible");
      expectAnswer([`${longest}a`], "P4.2 too_long");
    });

    it("refuses whitespace and control characters anywhere [P4.1]", () => {
      for (const sign of [
        " ",
        "\t",
        "\n",
        "\r",
        "\v",
        "\0",
        "\x1f",
        "\x7f",
        "\x85",
        "\xa0",
        "\u2028",
        "\ufeff",
      ]) {
        expectAnswer(
          [
            `${sign}https://a.net/`,
            `https://a${sign}.net/`,
            `https://a.net/m${sign}p`,
            `https://a.net/${sign}`,
          ],
          "P4.1 whitespace_or_control",
        );
      }
    });

    it("refuses what is not ASCII, in the host and in the path [P4.2]", () => {
      expectAnswer(
        ["https://b\u00fccher.net/", "https://a.net/\u00fc", "https://a.net/\ud800"],
        "P4.2 not_ascii",
      );
    });

    it("refuses every scheme but a literal lower-case http:// or https:// [P4.1]", () => {
      const urls = [
        "ftp://a.net/",
        "HTTPS://a.net/",
        "https:/a.net/",
        "https:a.net/",
        "//a.net/",
        "a.net/mcp",
        "",
        "x",
      ];
      expectAnswer(urls, "P4.1 scheme");
    });

    it("refuses a backslash anywhere [P4.2]", () => {
      expectAnswer(["https://a.net\\@b.net/", "https://a.net/\\", "https://\\a.net/"], "P4.2 backslash");
    });

    it("refuses a query or a fragment, an empty one too [P4.1]", () => {
      expectAnswer(
        ["https://a.net/?x=1", "https://a.net/mcp?", "https://a.net?", "https://a.net/?#"],
        "P4.1 query",
      );
      expectAnswer(["https://a.net/#f", "https://a.net/mcp#", "https://a.net#"], "P4.1 fragment");
    });

    it("refuses user info, an empty one and a bare trailing @ too [P4.1]", () => {
      expectAnswer(
        [
          "https://u@a.net/",
          "https://u:p@a.net/",
          "https://@a.net/",
          "https://:@a.net/",
          "https://a.net/mcp@",
        ],
        "P4.1 user_info",
      );
    });

    it("refuses an empty port and a bare trailing colon [P4.1]", () => {
      expectAnswer(["https://a.net:/mcp", "https://a.net:", "https://a.net/mcp:"], "P4.1 empty_port");
    });

    it("accepts @ and : inside the path [P4.1]", () => {
      expectAnswer(
        ["https://a.net/@me", "https://a.net/u@h/x", "https://a.net/a:b", "https://a.net/a:/b"],
        "eligible",
      );
    });

    it("refuses a percent sign in the authority only [P4.2]", () => {
      expectAnswer(
        ["https://a%2enet/", "https://[fe80::1%25eth0]/", "https://a.net:4%343/"],
        "P4.2 percent_in_authority",
      );
      expectAnswer(["https://a.net/a%2Fb", "https://a.net/%zz"], "eligible");
    });
  });

  describe("the parsed form", () => {
    it("refuses what no URL parser accepts [P4.2]", () => {
      expectAnswer(
        ["https://", "https://a.net:65536/", "https://a.net:80a/", "https://[::1/", "https://a|b.net/"],
        "P4.2 not_a_url",
      );
    });

    it("refuses port 0 in every spelling [P4.2]", () => {
      expectAnswer(["https://a.net:0/", "http://a.net:0/"], "P4.2 port_zero");
      expectAnswer(["https://a.net:00/"], "P4.2 not_as_serialised");
    });

    it("accepts an explicit default port and an empty path [P4.2]", () => {
      expectAnswer(
        [
          "https://a.net",
          "https://a.net:443",
          "https://a.net:443/mcp",
          "http://a.net:80",
          "http://a.net:443/",
        ],
        "eligible",
      );
    });

    it("refuses a port that the serialiser would write in another way [P4.2]", () => {
      expectAnswer(
        ["https://a.net:0443/", "http://a.net:080/", "http://a.net:08080/"],
        "P4.2 not_as_serialised",
      );
    });

    it("refuses dot segments, plain and escaped [P4.2]", () => {
      const paths = ["/a/../b", "/./a", "/a/.", "/a/..", "/%2e/a", "/%2E%2e/a", "/.%2e/a", "/a/%2e"];
      expectAnswer(
        paths.map((path) => `https://a.net${path}`),
        "P4.2 not_as_serialised",
      );
      expectAnswer(["https://a.net/.../a", "https://a.net/..a/.b", "https://a.net/a//b"], "eligible");
    });

    it("refuses the signs that the serialiser escapes in a path and accepts those that it keeps [P4.2]", () => {
      expectAnswer('"<>^`{}'.split("").map(inPath), "P4.2 not_as_serialised");
      expectAnswer("!$&'()*+,-.:;=@[]_|~".split("").map(inPath), "eligible");
    });

    it("refuses a host without slashes before it, or with one too many [P4.2]", () => {
      expectAnswer(["https:///a.net/mcp", "https:////a.net/"], "P4.2 not_as_serialised");
    });

    it("refuses an IPv4 address that is not written as four plain decimals [P4.2]", () => {
      const hosts = ["010.8.8.8", "0x8.8.8.8", "8.8.2056", "8.526344", "134744072", "0x08080808", "8.8.8.8."];
      expectAnswer(hosts.map(onHost), "P4.2 not_as_serialised");
      expectAnswer(["8.8.8.08", "8.8.8.256", "8.8.8.8.8", "a.8", "a.0x"].map(onHost), "P4.2 not_a_url");
    });

    it("refuses an IPv6 address that is not in its shortest form, letter case aside [P4.2]", () => {
      expectAnswer(
        ["[2606:4700:4700:0:0:0:0:1111]", "[2606:4700:4700::0:1111]", "[2606:4700::0.0.17.17]"].map(onHost),
        "P4.2 not_as_serialised",
      );
      expectAnswer(
        ["[2606:4700:4700::abcd]", "[2606:4700:4700::ABCD]", "[2606:4700:4700::1111]:8443"].map(onHost),
        "eligible",
      );
    });

    it("refuses a host that is no DNS name, also where private hosts are allowed [P4.2]", () => {
      const hosts = [
        "a..net",
        "a.net..",
        ".a.net",
        "localhost..",
        "a,b.net",
        "a'b.net",
        'a"b.net',
        "a;b.net",
        "*.a.net",
      ];
      expectAnswer(hosts.map(onHost), "P4.2 host_name");
      expectAnswer([`${"a".repeat(64)}.net`, "a.".repeat(127) + "net"].map(onHost), "P4.2 host_name");
    });

    it("accepts punycode, underscores, digits and one trailing dot in a name [P4.2]", () => {
      const hosts = [
        "xn--bcher-kva.net",
        "a_b.net",
        "1password.net",
        "a-.net",
        "mcp.example.com.",
        "0x.net",
        "a.1a",
      ];
      expectAnswer(hosts.map(onHost), "eligible");
    });
  });

  describe("the host", () => {
    const privateAddresses = [
      "127.0.0.1",
      "10.0.0.5",
      "169.254.169.254",
      "192.52.193.1",
      "[::1]",
      "[::ffff:7f00:1]",
    ];
    const moreAddresses = ["[64:ff9b::808:808]", "[2620:4f:8000::1]", "[3fff::1]", "[2001:DB8::1]"];
    const privateHosts = [...privateAddresses, ...moreAddresses, "intranet", "intranet.", "xn--bcher-kva"];

    it("refuses addresses that are not public and single labels [P4.3]", () => {
      expectAnswer(privateHosts.map(onHost), "P4.3 host_not_public");
    });

    for (const name of "localhost local internal lan home home.arpa corp test invalid example onion".split(
      " ",
    )) {
      it(`refuses ${name} and what is below it, whatever the letter case and with a trailing dot [P4.3]`, () => {
        const hosts = [name, `${name}.`, `a.${name}`, `a.b.${name.toUpperCase()}`, `a.${name}.`];
        expectAnswer(hosts.map(onHost), "P4.3 host_not_public");
      });
    }

    it("accepts names that only look like private ones [P4.3]", () => {
      const hosts = [
        "localhost.net",
        "notlocal.net",
        "mylan.net",
        "a.home.net",
        "a.arpa",
        "nothome.arpa",
        "example.com",
      ];
      expectAnswer(hosts.map(onHost), "eligible");
    });

    it("accepts every private host where they are allowed [P4.3]", () => {
      for (const host of [...privateHosts, "localhost.", "nas.lan"]) {
        expect(answer(screenEndpoint(onHost(host), { allowPrivateHosts: true })), host).to.equal("eligible");
      }
    });

    it("lifts nothing for a truthy value that is not true [P4.3]", () => {
      const options: object = { allowPrivateHosts: "yes" };
      expect(answer(screenEndpoint("https://localhost/", options))).to.equal("P4.3 host_not_public");
    });
  });

  describe("isPublicHost", () => {
    it("takes names and addresses, IPv6 with and without brackets [P4.3]", () => {
      const hosts = ["mcp.example.com", "MCP.Example.com.", "8.8.8.8", "2606:4700::1", "[2606:4700::1]"];
      expect(hosts.filter(isPublicHost)).to.deep.equal(hosts);
    });

    it("refuses hosts that are not public, and text that is no host [P4.3]", () => {
      const hosts = [
        "",
        ".",
        "..",
        "mcp",
        "a..net",
        "localhost.",
        "127.0.0.1",
        "127.0.0.1.",
        "::1",
        "[::1]",
        "[8.8.8.8]",
      ];
      const texts = [
        "[2606:4700::1",
        "[mcp.example.com]",
        "2606:4700::1%eth0",
        "a.net:80",
        "a.net/",
        "b\u00fccher.net",
      ];
      expect([...hosts, ...texts].filter(isPublicHost)).to.deep.equal([]);
    });

    it("refuses names that a URL parser would read as an IPv4 address [P4.3]", () => {
      const hosts = ["0177.0.0.1", "127.1", "0x7f.1", "a.0x", "a.0X7F", "8.8.8.8.8", "a.net.1."];
      expect(hosts.filter(isPublicHost)).to.deep.equal([]);
    });
  });

  it("says in a refusal nothing but the rule and a fixed word [P4.4]", () => {
    expect(screenEndpoint("https://user:secret@mcp.example.com/")).to.deep.equal({
      kind: "ineligible",
      rule: "P4.1",
      problem: "user_info",
    });
  });
});

function onHost(host: string): string {
  return `https://${host}/mcp`;
}

function inPath(text: string): string {
  return `https://a.net/a${text}b`;
}
