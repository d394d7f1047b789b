import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect } from "chai";
import * as fc from "fast-check";
import { z } from "zod";

import {
  classifyServers,
  collidingNames,
  mergeServerEntries,
  parseServerEntries,
} from "../../../host/mcp/configuration.ts";
import type { LocalMcpServer, McpServer, RemoteMcpServer } from "../../../host/mcp/configuration.ts";
import { allToolNames, findTool, hasTool } from "../../../host/mcp/tool_lookup.ts";
import { packageRoot } from "../../../packaging/package_root.ts";

const URL_ONE = "https://one.example.com/mcp";
const URL_TWO = "https://two.example.com/mcp";

describe("MCP configuration", () => {
  describe("reading entries", () => {
    const SHAPES: Readonly<Record<string, unknown>> = {
      "a map of names": { mcpServers: { one: { url: URL_ONE } } },
      "a list under mcpServers": { mcpServers: [{ name: "one", url: URL_ONE }] },
      "a bare list": [{ name: "one", url: URL_ONE }],
      "a bare entry": { name: "one", url: URL_ONE },
    };
    for (const [shape, config] of Object.entries(SHAPES)) {
      it(`takes ${shape}, as text and already parsed [H5]`, () => {
        expect(remote(config).url).to.equal(URL_ONE);
        expect(remote(JSON.stringify(config)).url).to.equal(URL_ONE);
      });
    }

    it("cuts no URL at its slashes and finds no entry in a comment [H5] (case G-18)", () => {
      const server = remote(caseInput("G-18"));
      expect([server.name, server.url, server.description]).to.deep.equal([
        "pub_server",
        "https://pub.example.com/mcp",
        "search // lookup /* beta */",
      ]);
    });

    for (const text of [
      "",
      "nonsense",
      '{"mcpServers": {"a": {"args": [',
      '{"mcpServers": {"a": {"n": 1-2}}}',
    ]) {
      it(`finds no entry in the unreadable text ${JSON.stringify(text)} [H5]`, () => {
        expect(parseServerEntries(text)).to.deep.equal([]);
      });
    }

    for (const value of [undefined, null, 5, true, "null", [1, "a", null, []], { mcpServers: "a" }]) {
      it(`finds no entry in ${JSON.stringify(value)} [H5]`, () =>
        expect(parseServerEntries(value)).to.deep.equal([]));
    }

    it("keeps names like __proto__ and 10, and their order [H5]", () => {
      const text = '{"mcpServers": {"b": {}, "10": {}, "__proto__": {"command": "x"}, "9": {}}}';
      expect(classified(text).servers.map(({ name }) => name)).to.deep.equal(["b", "10", "__proto__", "9"]);
    });

    it("keeps the __proto__ of a parsed value as a name [H5]", () => {
      const config: unknown = JSON.parse('{"mcpServers": {"__proto__": {"url": "x"}}}');
      expect(remote(config).name).to.equal("__proto__");
    });
  });

  describe("remote or local", () => {
    it("lets the last of url and serverUrl be the URL that is dialled [P5.7]", () => {
      expect(remote([{ name: "a", url: URL_ONE, serverUrl: URL_TWO }]).url).to.equal(URL_TWO);
      expect(remote([{ name: "a", serverUrl: URL_TWO, url: URL_ONE }]).url).to.equal(URL_ONE);
    });

    it("lets it be even when it is empty [P5.7]", () => {
      expect(remote([{ name: "a", serverUrl: URL_TWO, url: "" }]).url).to.equal("");
    });

    it("dials no URL that is not a text [P5.7]", () => {
      for (const url of [5, [URL_ONE], { href: URL_ONE }])
        expect(remote([{ name: "a", url }]).url).to.equal("");
    });

    it("keeps the URL byte for byte [P5.3]", () => {
      const url = " HTTPS://One.example.com:443/%7emcp/ ";
      expect(remote([{ name: "a", url }]).url).to.equal(url);
    });

    it("goes by the URL, never by the type [P5.2]", () => {
      expect(remote([{ name: "a", url: URL_ONE, type: "stdio", command: "c" }]).kind).to.equal("remote");
      expect(local([{ name: "a", type: "sse", command: "c" }]).kind).to.equal("local");
      expect(local([{ name: "a", url: "", command: "c" }]).kind).to.equal("local");
    });

    const TRANSPORTS: ReadonlyArray<readonly [unknown, string]> = [
      [undefined, "sse"],
      ["sse", "sse"],
      ["streamable-http", "streamable_http"],
      ["Http-Stream", "streamable_http"],
      ["http", "streamable_http"],
      [" http ", "sse"],
      ["stdio", "sse"],
      [3, "sse"],
    ];
    for (const [type, transport] of TRANSPORTS) {
      it(`reaches type ${JSON.stringify(type)} over ${transport} [H5]`, () => {
        expect(remote([{ name: "a", url: URL_ONE, type }]).transport).to.equal(transport);
      });
    }
  });

  describe("the other keys", () => {
    it("takes headers as texts and leaves out what is none [H5]", () => {
      const headers = { Authorization: "Bearer x", "X-Number": 1, "X-Null": null, "X-List": ["a"] };
      expect(remote([{ name: "a", url: URL_ONE, headers }]).headers).to.deep.equal({
        Authorization: "Bearer x",
        "X-Number": "1",
      });
    });

    it("takes command, arguments and environment [H5]", () => {
      const { command, args, env } = local([{ name: "a", command: "npx -y", args: ["x"], env: { A: "1" } }]);
      expect({ command, args, env }).to.deep.equal({ command: "npx", args: ["-y", "x"], env: { A: "1" } });
    });

    it("checks certificates unless told false [H5]", () => {
      expect(remote([{ name: "a", url: URL_ONE, verify: false }]).verify).to.equal(false);
      for (const verify of [undefined, true, null, "false", 0]) {
        expect(remote([{ name: "a", url: URL_ONE, verify }]).verify).to.equal(true);
      }
    });

    it("gives every time a bound that a timer can hold [H5]", () => {
      const entry = (timeout: string) =>
        `[{"name": "a", "url": "u", "init_timeout": ${timeout}, "tool_timeout": 2.5}]`;
      expect(remote(entry("7"))).to.include({ initTimeout: 7, toolTimeout: 2.5 });
      expect(remote(entry("12345678901234567890")).initTimeout).to.equal(86_400);
      for (const odd of ["0", "-1", "NaN", "null", '"5"'])
        expect(remote(entry(odd)).initTimeout).to.equal(10);
    });

    it("trims the names of disabled tools and takes numbers as texts [H5]", () => {
      const text =
        '[{"name": "a", "command": "c", "disabled_tools": [" x ", "", 1, 2.5, true, "\\u00a0y\\u3000"]}]';
      expect(local(text).disabledTools).to.deep.equal(["x", "1", "2.5", "True", "y"]);
    });
  });

  describe("refused entries", () => {
    const REFUSED: ReadonlyArray<readonly [object, string, string]> = [
      [{ name: "My Server", disabled: true }, "my_server", "Disabled in config"],
      [{ name: "a", disabled: "false" }, "a", "Disabled in config"],
      [{ command: "c", disabled: [0] }, "unnamed_server", "Disabled in config"],
      [{ command: "c" }, "unnamed_server", "server_name is required"],
      [{ name: "__not__found__", command: "c" }, "unnamed_server", "server_name is required"],
      [{ name: 5, command: "c" }, "5", "the name is not a text"],
    ];
    for (const [entry, name, reason] of REFUSED) {
      it(`says of ${JSON.stringify(entry)}: ${reason} [H5]`, () => {
        const { servers, disconnected } = classified([entry]);
        expect(servers).to.deep.equal([]);
        expect(disconnected.map((one) => [one.name, one.reason])).to.deep.equal([[name, reason]]);
      });
    }

    for (const disabled of [false, null, 0, "", [], {}]) {
      it(`keeps an entry whose disabled is ${JSON.stringify(disabled)} [H5]`, () => {
        expect(classified([{ name: "a", disabled }]).servers).to.have.length(1);
      });
    }

    it("gives up on the whole configuration where a disabled server's name is no text [H5]", () => {
      const entries = parseServerEntries([
        { name: 7, disabled: true },
        { name: "ok", command: "c" },
      ]);
      expect(classifyServers(entries)).to.have.property("kind", "unusable");
    });
  });

  describe("merging a project's configuration", () => {
    it("puts a project's entry, whole, in the place of the global one [H5]", () => {
      const merged = merge(
        { mcpServers: { "My Server": { url: URL_ONE, headers: { a: "b" } }, z: { command: "c" } } },
        { mcpServers: { "my-server": { url: URL_TWO } } },
      );
      expect(merged).to.deep.equal([
        { url: URL_TWO, name: "my_server", scope: "project" },
        { command: "c", name: "z", scope: "global" },
      ]);
    });

    it("puts unnamed entries first and merges none of them [H5]", () => {
      const merged = merge([{ name: "x" }, { command: "u" }], [{ command: "u" }, { name: " " }]);
      expect(merged).to.deep.equal([
        { command: "u", scope: "global" },
        { command: "u", scope: "project" },
        { name: " ", scope: "project" },
        { name: "x", scope: "global" },
      ]);
    });

    it("gives up where a name is an empty list [H5]", () => {
      expect(mergeServerEntries(parseServerEntries([{ name: [] }]), [])).to.have.property("kind", "unusable");
    });
  });

  describe("colliding names", () => {
    it("are those that two entries of one scope carry [P5.1]", () => {
      expect(collisions([{ name: "Pub-Server" }, { name: "pub server" }, { name: "b" }], [])).to.deep.equal([
        "pub_server",
      ]);
      expect(collisions([], { mcpServers: { "a b": {}, "a.b": {} } })).to.deep.equal(["a_b"]);
    });

    it("stay where a merge keeps only the last of them [P5.1]", () => {
      const project = [
        { name: "a-b", url: URL_ONE },
        { name: "a b", url: URL_TWO },
      ];
      expect(merge([], project)).to.have.length(1);
      expect(collisions([], project)).to.deep.equal(["a_b"]);
    });

    it("are not those of a project's entry and the global one it replaces [P5.1]", () => {
      expect(collisions([{ name: "a" }], [{ name: "A" }])).to.deep.equal([]);
    });

    it("do not count disabled entries [P5.1]", () => {
      expect(collisions([{ name: "a" }, { name: "A", disabled: true }], [])).to.deep.equal([]);
    });
  });

  it("never throws, whatever the configuration [H5]", () => {
    const keys = fc.constantFrom(
      "mcpServers",
      "name",
      "url",
      "serverUrl",
      "disabled",
      "disabled_tools",
      "command",
      "args",
      "env",
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: "small" },
        fc.constantFrom<unknown>(null, true, 0, "", "a", " ", URL_ONE, NaN, 1e300),
        fc.array(tie("tree")),
        fc.dictionary(keys, tie("tree")),
      ),
    }));
    fc.assert(
      fc.property(tree, tree, fc.nat(), (one, other, cut) => {
        const globalEntries = parseServerEntries(one);
        const projectEntries = parseServerEntries(JSON.stringify(other).slice(0, -1 - (cut % 5)));
        const merged = mergeServerEntries(globalEntries, projectEntries);
        classifyServers(merged.kind === "merged" ? merged.entries : globalEntries);
        collidingNames(globalEntries, projectEntries);
      }),
    );
  });

  describe("tool lookup", () => {
    const SERVERS = [
      { name: "dup", disabledTools: ["hidden"], tools: ["first", "hidden", "ns.read"] },
      { name: "dup", disabledTools: [], tools: ["second", "hidden"] },
      { name: "", disabledTools: [], tools: ["blank"] },
    ];

    it("sees only the first server of a name [P5.4]", () => {
      expect(hasTool(SERVERS, "dup.first")).to.equal(true);
      expect(hasTool(SERVERS, "dup.second")).to.equal(false);
    });

    it("does not see disabled tools, not even of a later server of the name [P5.4]", () => {
      expect(hasTool(SERVERS, "dup.hidden")).to.equal(false);
    });

    it("splits a name at its first dot [H5]", () => expect(hasTool(SERVERS, "dup.ns.read")).to.equal(true));

    for (const name of ["Dup.first", "dup.first ", "dup", "dup.", ".blank", "", "dup:first"]) {
      it(`does not find ${JSON.stringify(name)} [H5]`, () => expect(hasTool(SERVERS, name)).to.equal(false));
    }

    it("asks the map of function names only for a name that is no tool [H5]", () => {
      const map = new Map([
        ["dup_first_1a2b", "dup.first"],
        ["dup.ns.read", "dup.first"],
        ["gone", "dup.gone"],
      ]);
      expect(findTool(SERVERS, "dup_first_1a2b", map)).to.equal("dup.first");
      expect(findTool(SERVERS, "dup.ns.read", map)).to.equal("dup.ns.read");
      expect(findTool(SERVERS, "gone", map)).to.equal(null);
    });

    it("lists what is enabled, of every server [H5]", () => {
      expect(allToolNames(SERVERS)).to.deep.equal([
        "dup.first",
        "dup.ns.read",
        "dup.second",
        "dup.hidden",
        ".blank",
      ]);
    });
  });
});

function classified(config: unknown) {
  const result = classifyServers(parseServerEntries(config));
  if (result.kind !== "classified") throw new Error(result.reason);
  return result;
}

function onlyServer(config: unknown): McpServer {
  const { servers } = classified(config);
  const [server] = servers;
  if (server === undefined || servers.length > 1) throw new Error(`${servers.length} servers instead of one`);
  return server;
}

function remote(config: unknown): RemoteMcpServer {
  const server = onlyServer(config);
  if (server.kind !== "remote") throw new Error("the server is local");
  return server;
}

function local(config: unknown): LocalMcpServer {
  const server = onlyServer(config);
  if (server.kind !== "local") throw new Error("the server is remote");
  return server;
}

function merge(globalConfig: unknown, projectConfig: unknown): unknown {
  const merged = mergeServerEntries(parseServerEntries(globalConfig), parseServerEntries(projectConfig));
  return merged.kind === "merged" ? merged.entries.map((entry) => plain(entry)) : merged.reason;
}

function plain(value: unknown): unknown {
  if (!(value instanceof Map)) return value;
  return Object.fromEntries(
    [...(value as Map<string, unknown>)].map(([key, member]) => [key, plain(member)]),
  );
}

function collisions(globalConfig: unknown, projectConfig: unknown): string[] {
  return [...collidingNames(parseServerEntries(globalConfig), parseServerEntries(projectConfig))];
}

/** The configuration text of a case of `cases.json`. */
function caseInput(id: string): string {
  const path = join(packageRoot, "release-support", "native-tests", "cases", "cases.json");
  const cases = z
    .array(z.object({ id: z.string(), input: z.unknown() }))
    .parse(JSON.parse(readFileSync(path, "utf8")));
  const input = cases.find((one) => one.id === id)?.input;
  return z.object({ mcp_config_string: z.string() }).parse(input).mcp_config_string;
}
