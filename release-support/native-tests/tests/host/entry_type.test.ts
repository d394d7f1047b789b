import { expect } from "chai";

import { doctorDocument } from "../../../cli/output_schemas.ts";
import { HostRoot } from "../../../fixtures/host_root.ts";
import { classifyServers, parseServerEntries } from "../../../host/mcp/configuration.ts";
import { typeWarning } from "../../../host/mcp/entry_type.ts";
import { cli, documentIn } from "../cli/support.ts";
import { gatedSuite } from "../gated_suite.ts";

const URL = "https://mcp.example.com/mcp";

/** What the host warns of an entry. */
function warningOf(entry: Readonly<Record<string, unknown>>): string | null {
  const classified = classifyServers(parseServerEntries({ mcpServers: { shop: entry } }));
  const [server] = classified.kind === "classified" ? classified.servers : [];
  if (server === undefined) expect.fail("the entry is no server");
  return typeWarning(server);
}

const UNKNOWN: readonly Readonly<Record<string, unknown>>[] = [
  { type: "streamableHttp", url: URL },
  { type: "streamable_http", url: URL },
  { type: 5, url: URL },
  { type: true, url: URL },
  { type: ["http"], url: URL },
  { type: { kind: "http" }, url: URL },
  { type: "stdio", url: URL },
  { type: " http", url: URL },
  { type: "websocket", serverUrl: URL },
  { transport: "http", url: URL },
  { transport: 5, url: URL },
  { transportType: "streamable-http", url: URL },
  { type: null, transport: "http", url: URL },
  { type: "docker", command: "node" },
  { type: "http", command: "node" },
  { transport: "http", command: "node" },
];

const KNOWN: readonly Readonly<Record<string, unknown>>[] = [
  { url: URL },
  { type: null, url: URL },
  { type: "", url: URL },
  { type: "sse", url: URL },
  { type: "SSE", url: URL },
  { type: "http", url: URL },
  { type: "Streamable-HTTP", url: URL },
  { type: "http-stream", url: URL },
  { type: "streaming-http", url: URL },
  { type: "http-streaming", url: URL },
  { type: "http", transport: "sse", url: URL },
  { transport: "sse", url: URL },
  { transport: null, url: URL },
  { command: "node" },
  { type: "stdio", command: "node" },
  { transport: "stdio", command: "node" },
];

describe("the type of an MCP entry", () => {
  for (const entry of UNKNOWN) {
    it(`is warned of where the host does not know it: ${JSON.stringify(entry)} [H12]`, () => {
      const becomes = entry["command"] === undefined ? "dialled as SSE" : "started as a local process";
      expect(warningOf(entry)).to.include(becomes);
    });
  }

  for (const entry of KNOWN) {
    it(`is not warned of where the host knows it: ${JSON.stringify(entry)} [H12]`, () => {
      expect(warningOf(entry)).to.equal(null);
    });
  }

  it("is a warning of doctor with the entry's name, and nothing of what the entry says [H12]", async () => {
    const root = new HostRoot();
    try {
      root.installPlugin();
      root.writeMcpServers({ mcpServers: { shop: { type: "streamableHttp-secret", url: URL } } });
      root.writeConfig({ protected_servers: { shop: URL } });
      const run = await cli(["doctor", "--root", root.path, "--json"]);
      const found = documentIn(run, doctorDocument).findings.filter(({ code }) => code === "mcp_type");
      expect(found.map(({ level, words }) => `${level}: ${words}`)).to.deep.equal([
        "warning: MCP server shop: its type is not known: it is dialled as SSE.",
      ]);
      expect(run.stdout).not.to.include("secret");
    } finally {
      root.remove();
    }
  });

  describe("in a running host", () => {
    const { open } = gatedSuite();

    it("that is not known is in the boot report, and the call is gated and dialled as SSE [H12]", async () => {
      const gated = await open({
        servers: { pub_server: { transport: "sse" } },
        mcpServers: ({ urls }) => ({
          mcpServers: { pub_server: { type: "streamableHttp", url: urls["pub_server"] } },
        }),
      });
      expect(gated.host.bootReport().mcpWarnings).to.deep.equal([
        { name: "pub_server", warning: "its type is not known: it is dialled as SSE" },
      ]);
      const outcome = await gated.call("pub_server.search");
      expect(outcome.kind).to.equal("ran");
      expect(gated.guild.requests).to.have.length(1);
    });
  });
});
