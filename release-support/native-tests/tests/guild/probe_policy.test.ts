import { expect } from "chai";

import { isProbedAddress, protocolsAt, screenTarget } from "../../../guild/probe_policy.ts";
import type { TargetProblem } from "../../../guild/probe_policy.ts";

const STRICT = { allowLoopback: false };
const LOOPBACK = { allowLoopback: true };

describe("the live Guild's URL policy", () => {
  const longest = `https://mcp.example.com/${"a".repeat(476)}`;

  const admitted = [
    "https://mcp.example.com/mcp",
    "http://mcp.example.com",
    "HTTPS://MCP.Example.com/mcp?query#fragment",
    "http://mcp.example.com:80/mcp",
    "http://mcp.example.com:443/mcp",
    "https://mcp.example.com:443/mcp",
    "https://mcp.example.com:8080/mcp",
    "https://mcp.example.com:8443/mcp",
    "https://mcp.example.com/@me",
    "https://mcp.example.com/?mail=me@example.com",
    longest,
    // 500 characters, though more UTF-16 units.
    `${longest.slice(0, -2)}\u{1f600}\u{1f600}`,
  ];
  for (const target of admitted) {
    it(`admits ${target.slice(0, 60)} [S2]`, () => {
      expect(screenTarget(target, STRICT).kind).to.equal("admitted");
    });
  }

  const refused: readonly (readonly [target: string, problem: TargetProblem])[] = [
    ["", "not_a_url"],
    ["mcp.example.com/mcp", "not_a_url"],
    ["https://", "not_a_url"],
    ["https://mcp.example.com:65536/", "not_a_url"],
    ["ftp://mcp.example.com/mcp", "scheme"],
    ["file:///etc/hosts", "scheme"],
    ["javascript:alert(1)", "scheme"],
    [`${longest}a`, "too_long"],
    [" https://mcp.example.com/mcp", "whitespace_or_control"],
    ["https://mcp.example.com/m\tcp", "whitespace_or_control"],
    ["https://mcp.example.com/mcp\0", "whitespace_or_control"],
    ["https://me@mcp.example.com/mcp", "user_info"],
    ["https://me:secret@mcp.example.com/mcp", "user_info"],
    ["https://@mcp.example.com/mcp", "user_info"],
    ["https:me@mcp.example.com/mcp", "user_info"],
    ["https:\\\\me@mcp.example.com/mcp", "user_info"],
    ["https://mcp.example.com:22/mcp", "port"],
    ["https://mcp.example.com:0/mcp", "port"],
    ["https://mcp.example.com:8444/mcp", "port"],
  ];
  for (const [target, problem] of refused) {
    it(`refuses ${JSON.stringify(target.slice(0, 60))}: ${problem} [S2]`, () => {
      expect(screenTarget(target, STRICT)).to.deep.equal({ kind: "refused", problem });
    });
  }

  it("lets loopback mode use any port, and nothing more [S2]", () => {
    expect(screenTarget("http://127.0.0.1:22/mcp", LOOPBACK).kind).to.equal("admitted");
    expect(screenTarget("http://me@127.0.0.1/mcp", LOOPBACK).kind).to.equal("refused");
    expect(screenTarget("ftp://127.0.0.1/mcp", LOOPBACK).kind).to.equal("refused");
    expect(screenTarget(`${longest}a`, LOOPBACK).kind).to.equal("refused");
  });
});

describe("the live Guild's addresses", () => {
  it("are public ones [S2]", () => {
    for (const address of ["93.184.215.14", "2606:4700::1"]) {
      expect(isProbedAddress(address, STRICT), address).to.equal(true);
    }
    for (const address of ["127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "fe80::1", "not an address"]) {
      expect(isProbedAddress(address, STRICT), address).to.equal(false);
    }
  });

  it("are loopback ones too in loopback mode, and no other special ones [S2]", () => {
    for (const address of ["127.0.0.1", "127.255.255.254", "::1", "0:0:0:0:0:0:0:1", "93.184.215.14"]) {
      expect(isProbedAddress(address, LOOPBACK), address).to.equal(true);
    }
    for (const address of ["10.0.0.1", "0.0.0.0", "::", "::ffff:127.0.0.1", "::1%lo", "localhost"]) {
      expect(isProbedAddress(address, LOOPBACK), address).to.equal(false);
    }
  });
});

describe("the live Guild's protocol probes", () => {
  const expected: readonly (readonly [path: string, protocols: readonly string[]])[] = [
    ["", ["a2a"]],
    ["/", ["a2a"]],
    ["/a2a", ["a2a"]],
    ["/v1/a2a/agent", ["a2a"]],
    ["/mcp", ["mcp"]],
    ["/api/mcp-server", ["mcp"]],
    ["/a2a/mcp", ["a2a", "mcp"]],
    ["/api", []],
    ["/MCP", []],
  ];
  for (const [path, protocols] of expected) {
    it(`for the path ${JSON.stringify(path)} are ${protocols.join(" and ") || "none"} [S2]`, () => {
      expect(protocolsAt(path)).to.deep.equal(protocols);
    });
  }
});
