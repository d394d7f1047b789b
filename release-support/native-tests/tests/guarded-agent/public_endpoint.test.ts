import { expect } from "chai";

import { PublicMcpEndpoint } from "../../../guarded-agent/index.ts";
import type { DisclosureConsent } from "../../../guarded-agent/index.ts";

const consent: DisclosureConsent = { discloseEndpointToAgentGuild: true };

function expectRefused(urls: readonly unknown[], problem: string): void {
  for (const url of urls) {
    expect(() => PublicMcpEndpoint.of(url as string, consent), String(url)).to.throw(
      TypeError,
      `url: refused (${problem})`,
    );
  }
}

describe("guarded agent: endpoint", () => {
  it("takes a public https URL and gives it back exactly as given [G1]", () => {
    const urls = [
      "https://mcp.example.com/mcp",
      "https://MCP.example.com:443/mcp/",
      "https://mcp.example.com",
      "https://mcp.example.com:8443/a/b-c_d.e~f/@me;v=1",
      "https://8.8.8.8/mcp",
      "https://[2606:4700::1]/mcp",
    ];
    for (const url of urls) expect(PublicMcpEndpoint.of(url, consent).url).to.equal(url);
  });

  it("wants consent to the disclosure in so many words; there is no default [G1]", () => {
    const answers = [undefined, null, {}, { discloseEndpointToAgentGuild: false }, true];
    const truthy = [{ discloseEndpointToAgentGuild: "true" }, { discloseEndpointToAgentGuild: 1 }];
    for (const answer of [...answers, ...truthy]) {
      expect(() => PublicMcpEndpoint.of("https://mcp.example.com/mcp", answer as DisclosureConsent)).to.throw(
        TypeError,
      );
    }
  });

  it("refuses http [G1]", () => {
    expectRefused(["http://mcp.example.com/mcp"], "scheme");
  });

  it("refuses credentials, queries and fragments, bare markers too [G1]", () => {
    expectRefused(["https://user:secret@mcp.example.com/mcp", "https://@mcp.example.com/"], "user_info");
    expectRefused(["https://mcp.example.com/mcp?key=1", "https://mcp.example.com/mcp?"], "query");
    expectRefused(["https://mcp.example.com/mcp#f", "https://mcp.example.com/mcp#"], "fragment");
  });

  it("refuses private and reserved addresses and local names [G1]", () => {
    const hosts = ["127.0.0.1", "10.0.0.5", "169.254.169.254", "[::1]", "[fc00::1]", "localhost", "intranet"];
    expectRefused(
      [...hosts, "nas.local", "mcp.internal"].map((host) => `https://${host}/mcp`),
      "host_not_public",
    );
  });

  it("refuses an address in another spelling, IPv4-mapped included, before any connection (G-21 a, b) [G1]", () => {
    expectRefused(["https://[::ffff:127.0.0.1]:8443/mcp", "https://0x7f.1/mcp"], "not_as_serialised");
    expectRefused(["https://[::ffff:7f00:1]:8443/mcp"], "host_not_public");
  });

  it("refuses a path that is not plain and normalised [G1]", () => {
    expectRefused(["https://mcp.example.com/a/../b", "https://mcp.example.com/./b"], "not_as_serialised");
    const paths = ["/a%20b", "/a%2Fb", "/a//b", "//", "/|"];
    expectRefused(
      paths.map((path) => `https://mcp.example.com${path}`),
      "path_not_plain",
    );
  });

  it("refuses what is no string, and never repeats what it refused [G1]", () => {
    expectRefused([undefined, null, 7, new URL("https://mcp.example.com/")], "not_text");
    expect(() => PublicMcpEndpoint.of("https://mcp.example.com/?token=s3cret", consent)).to.throw(
      /^(?!.*(?:s3cret|example\.com))/,
    );
  });

  it("cannot be made in another way, nor changed [G1, G8]", () => {
    const Constructor = PublicMcpEndpoint as unknown as new (url: string, consent: unknown) => unknown;
    expect(() => new Constructor("https://127.0.0.1/mcp", consent)).to.throw(TypeError);
    const endpoint = PublicMcpEndpoint.of("https://mcp.example.com/mcp", consent);
    expect(() => Object.assign(endpoint, { url: "https://evil.example.com/" })).to.throw(TypeError);
    expect(PublicMcpEndpoint.settingsOf({ url: "https://mcp.example.com/mcp" })).to.equal(null);
  });
});
