import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { expect } from "chai";

import type { DecisionRecord } from "../../../../helpers/decision/evidence.ts";
import { DECISIONS_KEY, LAST_OBSERVATION_KEY } from "../../../../helpers/decision/evidence.ts";
import type { McpServerView } from "../../../../helpers/host.ts";
import { resolveBinding } from "../../../../helpers/binding/mcp_binding.ts";
import { protecting } from "../../../fixtures/gated_host.ts";
import type { GatedHost, Addresses, GatedHostOptions } from "../../../fixtures/gated_host.ts";
import { startMcpServer } from "../../../fixtures/mcp_server.ts";
import type { McpServerFixture } from "../../../fixtures/mcp_server.ts";
import { endpointDown } from "../../../guild/preflight_bodies.ts";
import type { GuildAnswer } from "../../../guild/scripted_guild.ts";
import { packageRoot } from "../../../packaging/package_root.ts";
import { gatedSuite } from "../gated_suite.ts";

const STDIO = { command: process.execPath, args: [stdioServer()] };
const STREAMABLE = { transport: "streamable_http" } as const;
const TWO_SERVERS = { pub_server: STREAMABLE, other: STREAMABLE };
const PUBLIC_URL = "https://pub.example.com/mcp";
const NEXT_SETTINGS = "next_settings.json";

function stdioServer(): string {
  return fileURLToPath(new URL("../../../fixtures/stdio_server.js", import.meta.url));
}

/** An entry of the MCP configuration for a streamable HTTP server. */
function remote(url: string | undefined, more: Readonly<Record<string, unknown>> = {}) {
  return { url, type: "streamable-http", ...more };
}

function pubUrl({ urls }: Addresses): string {
  return urls["pub_server"] ?? "";
}

/**
 * An extension before the gate that puts `next_settings.json` in the place of `usr/settings.json`: the configuration
 * changes between the moment at which the host finds the tool and the moment at which the gate looks.
 */
function swapBeforeGate(what: "swap" | "swap and connect"): NonNullable<GatedHostOptions["prepare"]> {
  return (root) => {
    root.write(
      "usr/extensions/node/tool_execute_before/_20_swap.mjs",
      `import { existsSync, renameSync } from "node:fs";
       import { join } from "node:path";
       export default class {
         constructor(agent) { this.host = agent.host; }
         async execute() {
           const next = join(this.host.root, "${NEXT_SETTINGS}");
           if (!existsSync(next)) return;
           renameSync(next, join(this.host.root, "usr/settings.json"));
           if (${what === "swap and connect"}) await this.host.mcp.connect(null);
         }
       }`,
    );
  };
}

interface Inputs {
  readonly "G-01": { readonly refuse: readonly string[]; readonly accept: readonly string[] };
  readonly "G-02": { readonly refuse: readonly string[]; readonly accept: readonly string[] };
  readonly "G-03": { readonly variants: Readonly<Record<"a" | "b" | "c", unknown>> };
  readonly "G-04": {
    readonly pairs_configured_vs_approved: readonly (readonly [configured: string, approved: string])[];
    readonly equal_pair: string;
  };
  readonly "G-05": { readonly at_ms_100: Readonly<Record<"a" | "b" | "c", unknown>> };
}

/** The input of a recorded case. */
function caseInput<Id extends keyof Inputs>(wanted: Id): Inputs[Id] {
  const file = join(packageRoot, "release-support", "native-tests", "cases", "cases.json");
  const cases = JSON.parse(readFileSync(file, "utf8")) as { id: string; input: Inputs[Id] }[];
  const found = cases.find(({ id }) => id === wanted);
  if (found === undefined) throw new Error(`the case ${wanted} is missing`);
  return found.input;
}

/** The MCP configuration of a case, its hosts replaced by the loopback servers. */
function onLoopback(mcpServers: unknown, { urls }: Addresses): unknown {
  const text = JSON.stringify(mcpServers)
    .replaceAll(PUBLIC_URL, urls["pub_server"] ?? "")
    .replaceAll("https://other.example.net/mcp", urls["other"] ?? "");
  return JSON.parse(text) as unknown;
}

function records({ agent }: GatedHost): readonly DecisionRecord[] {
  return (agent.getData(DECISIONS_KEY) ?? []) as DecisionRecord[];
}

function lastRecord({ agent }: GatedHost): DecisionRecord | undefined {
  return agent.getData(LAST_OBSERVATION_KEY) as DecisionRecord | undefined;
}

/** How a call ended: `ran`, or the reason in the denial. */
async function outcomeOf(call: ReturnType<GatedHost["call"]>): Promise<string> {
  const outcome = await call;
  if (outcome.kind === "failed") throw outcome.error;
  return outcome.kind === "ran" ? "ran" : (/\((\w+)\)/.exec(outcome.message)?.[1] ?? outcome.message);
}

/** A call is denied for this reason before anything is disclosed, and the record says so. */
async function expectUnbound(host: GatedHost, reason: string): Promise<void> {
  expect(await outcomeOf(host.call())).to.equal(reason);
  expect(records(host).map((record) => [record.reason, record.observation])).to.deep.equal([
    [reason, undefined],
  ]);
  expect(host.guild.requests).to.be.empty;
  expect(Object.values(host.servers).flatMap(({ toolCalls }) => toolCalls)).to.be.empty;
}

describe("the binding", () => {
  const { open } = gatedSuite();

  /** A host with these entries under `mcpServers`, and with `pub_server` protected by its URL. */
  async function openWith(
    mcpServers: (world: Addresses) => unknown,
    options: GatedHostOptions = {},
  ): Promise<GatedHost> {
    return await open({
      servers: TWO_SERVERS,
      mcpServers: (world) => ({ mcpServers: mcpServers(world) }),
      ...options,
    });
  }

  /** A URL at which nothing listens any more. */
  async function closedUrl(): Promise<string> {
    const server = await startMcpServer(STREAMABLE);
    await server.close();
    return server.url;
  }

  describe("to exactly one server of the name", () => {
    it("holds for one enabled server, and the call goes on [P5.1]", async () => {
      const host = await open();
      expect(await outcomeOf(host.call())).to.equal("ran");
      expect(records(host).map(({ reason }) => reason)).to.deep.equal(["not_denied"]);
    });

    it("fails where no server has it any more [P5.1]", async () => {
      const host = await open({ prepare: swapBeforeGate("swap") });
      host.root.write(NEXT_SETTINGS, { mcp_servers: { mcpServers: {} } });
      await expectUnbound(host, "server_not_configured");
    });

    it("fails where the one server of the name is now disabled [P5.1]", async () => {
      const host = await open({ prepare: swapBeforeGate("swap") });
      const entry = remote(pubUrl(host.addresses), { disabled: true });
      host.root.write(NEXT_SETTINGS, { mcp_servers: { mcpServers: { pub_server: entry } } });
      await expectUnbound(host, "server_not_configured");
    });

    it("fails where the settings of the host cannot be read any more [P5.1]", async () => {
      const host = await open({ prepare: swapBeforeGate("swap") });
      host.root.write(NEXT_SETTINGS, '{"mcp_servers": ');
      await expectUnbound(host, "server_not_configured");
    });

    const COLLISIONS: Readonly<Record<string, (world: Addresses) => unknown>> = {
      "Pub-Server and pub server": (world) => ({
        "Pub-Server": remote(pubUrl(world)),
        "pub server": remote(pubUrl(world)),
      }),
      "the same name twice in a list": (world) => [
        { name: "pub_server", ...remote(pubUrl(world)) },
        { name: "pub_server", ...remote(pubUrl(world)) },
      ],
      "a remote server and a local one": (world) => ({
        pub_server: remote(pubUrl(world)),
        "Pub Server": STDIO,
      }),
      "servers with different URLs": (world) => ({
        pub_server: remote(pubUrl(world)),
        "PUB.SERVER": remote(world.urls["other"]),
      }),
    };

    for (const [what, mcpServers] of Object.entries(COLLISIONS)) {
      it(`fails for ${what} [P5.1]`, async () => {
        await expectUnbound(await openWith(mcpServers), "ambiguous_server");
      });
    }

    it("fails for a twin that could not be initialised: its port is closed [P5.1]", async () => {
      const dead = await closedUrl();
      const host = await openWith((world) => ({
        pub_server: remote(pubUrl(world)),
        "Pub Server": remote(dead),
      }));
      await expectUnbound(host, "ambiguous_server");
    });

    it("fails for a twin whose program does not exist [P5.1]", async () => {
      const host = await openWith((world) => ({
        pub_server: remote(pubUrl(world)),
        "Pub Server": { command: join(packageRoot, "no-such-program") },
      }));
      await expectUnbound(host, "ambiguous_server");
    });

    it("finds no tool where the first of two twins is the dead one, and nothing runs [P5.1]", async () => {
      const dead = await closedUrl();
      const host = await openWith((world) => ({
        "Pub Server": remote(dead),
        pub_server: remote(pubUrl(world)),
      }));
      await host.call();
      expect(host.server().toolCalls).to.be.empty;
      expect(host.guild.requests).to.be.empty;
    });

    for (const disabled of [true, "yes", 1]) {
      it(`holds where the twin is marked disabled: ${JSON.stringify(disabled)} [P5.1]`, async () => {
        const host = await openWith((world) => ({
          "Pub Server": remote(world.urls["other"], { disabled }),
          pub_server: remote(pubUrl(world)),
        }));
        expect(await outcomeOf(host.call())).to.equal("ran");
        expect(host.server().toolCalls).to.have.lengthOf(1);
      });
    }

    describe("where a project adds servers of its own", () => {
      const PROJECT = { context: { project: "alpha" } };

      it("holds where the project's entry replaces one global entry [P5.1]", async () => {
        const host = await openWith((world) => ({ "Pub-Server": remote(world.urls["other"]) }), {
          ...PROJECT,
          prepare: (root, world) =>
            root.writeProjectMcpServers("alpha", { mcpServers: { "pub server": remote(pubUrl(world)) } }),
        });
        expect(await outcomeOf(host.call())).to.equal("ran");
        expect(host.server().toolCalls).to.have.lengthOf(1);
        expect(host.server("other").toolCalls).to.be.empty;
      });

      it("fails for the agents of the project alone where its entry has another URL [P5.1, P5.3]", async () => {
        const host = await openWith((world) => ({ pub_server: remote(pubUrl(world)) }), {
          prepare: (root, { urls }) =>
            root.writeProjectMcpServers("alpha", { mcpServers: { pub_server: remote(urls["other"]) } }),
        });
        const { agent0 } = host.host.createContext({ project: "alpha" });
        expect(await outcomeOf(host.call(undefined, undefined, agent0))).to.equal("url_mismatch");
        expect(host.guild.requests).to.be.empty;
        expect(await outcomeOf(host.call())).to.equal("ran");
      });

      it("fails for two global twins of which the merge keeps only the last [P5.1]", async () => {
        const host = await openWith(
          (world) => ({ "Pub-Server": remote(world.urls["other"]), "pub server": remote(pubUrl(world)) }),
          { ...PROJECT, prepare: (root) => root.writeProjectMcpServers("alpha", { mcpServers: {} }) },
        );
        await expectUnbound(host, "ambiguous_server");
      });

      it("fails for two global twins that one entry of the project replaces [P5.1]", async () => {
        const host = await openWith(
          (world) => ({ "Pub-Server": remote(world.urls["other"]), "pub server": STDIO }),
          {
            ...PROJECT,
            prepare: (root, world) =>
              root.writeProjectMcpServers("alpha", { mcpServers: { pub_server: remote(pubUrl(world)) } }),
          },
        );
        await expectUnbound(host, "ambiguous_server");
      });

      it("fails for two twins of the project's own [P5.1]", async () => {
        const host = await openWith(() => ({}), {
          ...PROJECT,
          prepare: (root, world) =>
            root.writeProjectMcpServers("alpha", [
              { name: "Pub-Server", ...remote(world.urls["other"]) },
              { name: "pub_server", ...remote(pubUrl(world)) },
            ]),
        });
        await expectUnbound(host, "ambiguous_server");
      });

      it("does not count a disabled twin that the merge drops [P5.1]", async () => {
        const host = await openWith(
          (world) => ({
            "Pub-Server": remote(world.urls["other"], { disabled: true }),
            "pub server": remote(pubUrl(world)),
          }),
          { ...PROJECT, prepare: (root) => root.writeProjectMcpServers("alpha", { mcpServers: {} }) },
        );
        expect(await outcomeOf(host.call())).to.equal("ran");
      });
    });
  });

  describe("to a remote server", () => {
    it("fails for a local program under a protected name [P5.2]", async () => {
      const host = await openWith(() => ({ pub_server: STDIO }));
      await expectUnbound(host, "local_server");
    });

    it("fails for a local program that calls itself remote [P5.2]", async () => {
      const host = await openWith(() => ({ pub_server: { ...STDIO, type: "streamable-http", url: "" } }));
      await expectUnbound(host, "local_server");
    });
  });

  describe("to the approved URL", () => {
    const { pairs_configured_vs_approved: pairs, equal_pair: equal } = caseInput("G-04");

    for (const [configured, approved] of pairs) {
      it(`fails for ${configured} where ${approved} is approved (case G-04) [P5.3]`, async () => {
        const host = await open({
          prepare: swapBeforeGate("swap"),
          config: (world) => ({
            ...protecting(world, []),
            allow_private_hosts: false,
            protected_servers: { pub_server: approved },
          }),
        });
        host.root.write(NEXT_SETTINGS, { mcp_servers: { mcpServers: { pub_server: remote(configured) } } });
        await expectUnbound(host, "url_mismatch");
      });
    }

    const OTHER_SPELLINGS: Readonly<Record<string, (url: string) => string>> = {
      "a trailing slash": (url) => `${url}/`,
      "another case in the path": (url) => url.replace("/mcp", "/MCP"),
      "an escape of a letter": (url) => url.replace("/mcp", "/%6Dcp"),
      "another name for the same host": (url) => url.replace("127.0.0.1", "localhost"),
      "another port": (url) => url.replace(/:\d+\//, ":1/"),
      "no port": (url) => url.replace(/:\d+\//, "/"),
      "another scheme": (url) => url.replace("http:", "https:"),
      "a longer path": (url) => `${url}/v2`,
    };

    for (const [what, respell] of Object.entries(OTHER_SPELLINGS)) {
      it(`fails for a server that is up where the approved URL has ${what} [P5.3]`, async () => {
        const host = await open({
          config: (world) => ({
            ...protecting(world, []),
            protected_servers: { pub_server: respell(pubUrl(world)) },
          }),
        });
        await expectUnbound(host, "url_mismatch");
      });
    }

    it("holds for equal text, and that very text is disclosed (case G-04) [P5.3]", async () => {
      const path = new URL(equal).pathname;
      const host = await open({ servers: { pub_server: { ...STREAMABLE, path } } });
      expect(await outcomeOf(host.call())).to.equal("ran");
      const { origin } = new URL(host.server().url);
      expect(host.guild.requests.map((request) => request.path)).to.deep.equal([
        `/preflight?url=${encodeURIComponent(origin)}%2Fa%2Bb%2F%257Eteam%2Fmcp`,
      ]);
      const { searchParams } = new URL(host.guild.requests[0]?.path ?? "", "http://guild");
      expect([...searchParams.keys()]).to.deep.equal(["url"]);
    });

    describe("in the spellings of an entry (case G-03)", () => {
      const { variants } = caseInput("G-03");

      async function openVariant(variant: "a" | "b" | "c"): Promise<GatedHost> {
        const sse = { transport: "sse" } as const;
        return await open({
          servers: { pub_server: sse, other: sse },
          mcpServers: (world) => onLoopback(variants[variant], world),
        });
      }

      it("fails where serverUrl stands last and names another server [P5.3, P5.7]", async () => {
        await expectUnbound(await openVariant("a"), "url_mismatch");
      });

      it("holds where url stands last, and the other server is never dialled [P5.7]", async () => {
        const host = await openVariant("b");
        expect(await outcomeOf(host.call())).to.equal("ran");
        expect(host.server().toolCalls).to.have.lengthOf(1);
        expect(host.server("other").connections).to.equal(0);
      });

      it("holds for serverUrl alone: that is a remote server [P5.2, P5.7]", async () => {
        const host = await openVariant("c");
        expect(await outcomeOf(host.call())).to.equal("ran");
        expect(host.guild.requests).to.have.lengthOf(1);
        expect(host.server().toolCalls).to.have.lengthOf(1);
      });
    });
  });

  describe("to a tool that the server exposes", () => {
    it("fails where the tool is disabled though its server lists it [P5.4]", async () => {
      const host = await open({ prepare: swapBeforeGate("swap and connect") });
      const entry = remote(pubUrl(host.addresses), { disabled_tools: [" search "] });
      host.root.write(NEXT_SETTINGS, { mcp_servers: { mcpServers: { pub_server: entry } } });
      await expectUnbound(host, "tool_not_exposed");
      expect(await outcomeOf(host.call("pub_server.echo")), "another tool of it").to.equal("ran");
    });

    it("fails where the server no longer lists the tool [P5.4]", async () => {
      const host = await open({ prepare: swapBeforeGate("swap and connect") });
      await host.server().setTools({ echo: "x" });
      const entry = remote(pubUrl(host.addresses), { description: "read anew" });
      // The host knows the old list when it looks for the tool, and the new one when the gate looks.
      host.root.write(NEXT_SETTINGS, { mcp_servers: { mcpServers: { pub_server: entry } } });
      await expectUnbound(host, "tool_not_exposed");
    });

    it("reads what the host knows: resolving opens no connection and sends nothing [P5.4]", async () => {
      const host = await open({ prepare: swapBeforeGate("swap") });
      // To the host it is another entry, for which it has no connection yet.
      const entry = remote(pubUrl(host.addresses), { headers: { a: "b" } });
      host.root.write(NEXT_SETTINGS, { mcp_servers: { mcpServers: { pub_server: entry } } });
      const before = host.server().requests.length;
      await expectUnbound(host, "tool_not_exposed");
      expect(
        host
          .server()
          .requests.slice(before)
          .map(({ rpcMethod }) => rpcMethod),
      ).to.not.include("initialize");
    });

    it("is not even asked for where the tool is hidden from the start: nothing runs [P5.4]", async () => {
      const host = await openWith((world) => ({
        pub_server: remote(pubUrl(world), { disabled_tools: ["search"] }),
      }));
      await host.call();
      expect(host.server().toolCalls).to.be.empty;
      expect(host.guild.requests).to.be.empty;
    });
  });

  describe("to an eligible URL", () => {
    /**
     * Calls once with this URL approved and configured, byte for byte the same, and gives the reason. The server is
     * swapped in behind the host's back, so that no name is looked up and nothing is dialled.
     */
    async function reasonFor(host: GatedHost, url: string): Promise<string> {
      host.root.writeConfig({
        protected_servers: { pub_server: url },
        fixture_guild_origin: host.addresses.guildOrigin,
      });
      host.root.writeMcpServers({ mcpServers: { pub_server: remote(pubUrl(host.addresses)) } });
      host.root.write(NEXT_SETTINGS, { mcp_servers: { mcpServers: { pub_server: remote(url) } } });
      return await outcomeOf(host.call());
    }

    for (const [id, rule] of [
      ["G-01", "P4.1, P5.5"],
      ["G-02", "P4.2, P4.3, P5.5"],
    ] as const) {
      const { refuse, accept } = caseInput(id);

      it(`fails for every URL that case ${id} refuses, and nothing is disclosed [${rule}]`, async () => {
        const host = await open({ prepare: swapBeforeGate("swap") });
        for (const url of refuse)
          expect(await reasonFor(host, url), JSON.stringify(url)).to.equal("ineligible_endpoint");
        expect(host.guild.requests).to.be.empty;
        expect(host.server().toolCalls).to.be.empty;
        expect(records(host).some((record) => "endpoint" in record || "observation" in record)).to.equal(
          false,
        );
      });

      it(`does not fail for a URL that case ${id} accepts: a later rule does [${rule}]`, async () => {
        const host = await open({ prepare: swapBeforeGate("swap") });
        // Nothing listens there, so the tool is not exposed, which is the last rule of all.
        for (const url of accept)
          expect(await reasonFor(host, url), JSON.stringify(url)).to.equal("tool_not_exposed");
      });
    }

    it("fails for a loopback server that is up unless private hosts are allowed [P4.3, P5.5]", async () => {
      const host = await open({
        config: (world) => protecting(world, "pub_server", { allow_private_hosts: false }),
      });
      await expectUnbound(host, "ineligible_endpoint");
    });

    it("fails for user info also where private hosts are allowed [P4.1, P5.5]", async () => {
      const host = await open({
        config: (world) => ({
          ...protecting(world, []),
          protected_servers: { pub_server: pubUrl(world).replace("//", "//user@") },
        }),
      });
      await expectUnbound(host, "ineligible_endpoint");
    });

    it("fails without an echo of the URL in the message, the log, the record or an error's cause [P4.4]", async () => {
      const host = await open({ prepare: swapBeforeGate("swap") });
      for (const url of [
        "https://user:s3cret@pub.example.com/mcp",
        "https://pub.example.com/mcp?token=s3cret",
        "https://pub.example.com/mcp#s3cret",
        "s3cret",
      ]) {
        host.root.writeConfig({ protected_servers: { pub_server: url } });
        const outcome = await host.call();
        expect(outcome).to.have.property("message").that.includes("ineligible_endpoint");
        const written = [outcome, records(host), host.agent.context.log.items, host.agent.history.messages];
        expect(JSON.stringify(written)).to.not.match(/s3cret|pub\.example|user/);
      }
      const thrown = await caughtBy(host);
      expect(thrown).to.be.an("error").and.not.have.property("cause");
    });

    /** What the gate throws at the host, as it is. */
    async function caughtBy(host: GatedHost): Promise<unknown> {
      const { extensions } = host.host;
      const run = extensions.call.bind(extensions);
      let thrown: unknown = null;
      extensions.call = (...args) =>
        run(...args).catch((error: unknown) => {
          thrown = error;
          throw error;
        });
      await host.call();
      return thrown;
    }
  });

  describe("failing in more than one way", () => {
    const REMOTE: McpServerView = {
      kind: "remote",
      name: "pub_server",
      url: PUBLIC_URL,
      exposes: () => true,
    };
    const ELSEWHERE: McpServerView = {
      ...REMOTE,
      url: "https://other.example.net/mcp",
      exposes: () => false,
    };
    const LOCAL: McpServerView = { kind: "local", name: "pub_server" };

    function reasonOf(
      approved: string,
      servers: readonly McpServerView[],
      colliding: readonly string[] = [],
    ) {
      const binding = resolveBinding(
        { server: "pub_server", tool: "search" },
        { url: approved, allowPrivateHosts: false },
        { servers, collidingNames: new Set(colliding) },
      );
      return binding.kind === "bound" ? "bound" : binding.reason;
    }

    it("gives the reason of the first rule in the order 5, 1, 2, 3, 4 [P5.1, P5.2, P5.3, P5.4, P5.5]", () => {
      const ineligible = `${PUBLIC_URL}?`;
      expect([
        reasonOf(ineligible, []),
        reasonOf(ineligible, [LOCAL, ELSEWHERE]),
        reasonOf(ineligible, [LOCAL]),
        reasonOf(ineligible, [ELSEWHERE]),
        reasonOf(PUBLIC_URL, []),
        reasonOf(PUBLIC_URL, [LOCAL, ELSEWHERE]),
        reasonOf(PUBLIC_URL, [ELSEWHERE], ["pub_server"]),
        reasonOf(PUBLIC_URL, [LOCAL]),
        reasonOf(PUBLIC_URL, [ELSEWHERE]),
        reasonOf(PUBLIC_URL, [{ ...REMOTE, exposes: () => false }]),
        reasonOf(PUBLIC_URL, [REMOTE], ["other_server"]),
      ]).to.deep.equal([
        "ineligible_endpoint",
        "ineligible_endpoint",
        "ineligible_endpoint",
        "ineligible_endpoint",
        "server_not_configured",
        "ambiguous_server",
        "ambiguous_server",
        "local_server",
        "url_mismatch",
        "tool_not_exposed",
        "bound",
      ]);
    });

    it("says ineligible where the server is ambiguous, too [P5.5]", async () => {
      const host = await openWith((world) => ({ pub_server: STDIO, "Pub Server": remote(pubUrl(world)) }), {
        config: (world) => protecting(world, "pub_server", { allow_private_hosts: false }),
      });
      await expectUnbound(host, "ineligible_endpoint");
    });

    it("says ineligible where no server has the name, too [P5.5]", async () => {
      const host = await open({
        prepare: swapBeforeGate("swap"),
        config: (world) => protecting(world, "pub_server", { allow_private_hosts: false }),
      });
      host.root.write(NEXT_SETTINGS, { mcp_servers: "" });
      await expectUnbound(host, "ineligible_endpoint");
    });

    it("says ambiguous where the first of the twins is local, too [P5.1]", async () => {
      const host = await openWith((world) => ({
        pub_server: STDIO,
        "Pub Server": remote(world.urls["other"]),
      }));
      await expectUnbound(host, "ambiguous_server");
    });

    it("says mismatch where the tool is not exposed, too [P5.3]", async () => {
      const host = await open({ servers: TWO_SERVERS, prepare: swapBeforeGate("swap") });
      const entry = remote(host.addresses.urls["other"]);
      host.root.write(NEXT_SETTINGS, { mcp_servers: { mcpServers: { pub_server: entry } } });
      await expectUnbound(host, "url_mismatch");
    });
  });

  describe("resolved again after the preflight", () => {
    /** Makes a change while the preflight of a call is in flight, and says how the call ended. */
    async function changedInFlight(host: GatedHost, change: () => unknown): Promise<string> {
      const hold = host.guild.hold("*");
      const ending = outcomeOf(host.call());
      await hold.arrived;
      try {
        await change();
      } finally {
        hold.release();
      }
      return await ending;
    }

    /** The call is denied because the binding changed; one record has the reason and what was observed. */
    async function expectChanged(host: GatedHost, change: () => unknown): Promise<void> {
      expect(await changedInFlight(host, change)).to.equal("binding_changed");
      expect(host.guild.requests).to.have.lengthOf(1);
      expect(Object.values(host.servers).flatMap(({ toolCalls }) => toolCalls)).to.be.empty;
      expect(records(host)).to.have.lengthOf(1);
      expect(lastRecord(host)).to.deep.include({ decision: "deny", reason: "binding_changed" });
      expect(lastRecord(host)?.observation).to.deep.include({
        verdict: "no_failed_checks",
        guild_origin: host.guild.origin,
        cached: false,
        error: null,
      });
    }

    const { at_ms_100: changes } = caseInput("G-05");

    for (const [variant, what] of [
      ["a", "the server's URL"],
      ["b", "the number of servers of the name"],
      ["c", "the kind of the server"],
    ] as const) {
      it(`denies when ${what} has changed (case G-05 ${variant}) [P5.6]`, async () => {
        const host = await open({ servers: TWO_SERVERS });
        await expectChanged(host, () =>
          host.root.writeMcpServers(onLoopback(changes[variant], host.addresses)),
        );
      });
    }

    it("starts no program of a server that has become local (case G-05 c) [P5.6]", async () => {
      const host = await open();
      const mark = join(host.root.path, "started");
      const code = `require("node:fs").writeFileSync(${JSON.stringify(mark)}, "")`;
      await expectChanged(host, () =>
        host.root.writeMcpServers({
          mcpServers: { pub_server: { command: process.execPath, args: ["-e", code] } },
        }),
      );
      await host.host.close();
      expect(existsSync(mark)).to.equal(false);
    });

    it("denies when the same server no longer lists the tool (case G-05 d) [P5.6]", async () => {
      const host = await open();
      const { mcp } = host.host;
      await expectChanged(host, async () => {
        await host.server().setTools({ echo: "x" });
        // Taking the entry out and in again makes the host list its tools afresh.
        host.root.writeMcpServers({ mcpServers: {} });
        await mcp.connect(null);
        host.root.writeMcpServers({ mcpServers: { pub_server: remote(pubUrl(host.addresses)) } });
        await mcp.connect(null);
      });
    });

    it("decides under the policy as it is then (case G-05 e) [P5.6]", async () => {
      const host = await open();
      const policy = { required_proven: ["independent_evidence"] };
      const ending = await changedInFlight(host, () =>
        host.root.writeConfig(protecting(host.addresses, "pub_server", { policy })),
      );
      expect(ending).to.equal("required_not_proven");
      expect(host.server().toolCalls).to.be.empty;
      expect(records(host)).to.have.lengthOf(1);
      expect(lastRecord(host)?.policy.required_proven).to.deep.equal(["independent_evidence"]);
    });

    it("goes on where a policy was relaxed in the meantime [P5.6]", async () => {
      const host = await open({
        config: (world) =>
          protecting(world, "pub_server", { policy: { required_proven: ["independent_evidence"] } }),
      });
      const ending = await changedInFlight(host, () =>
        host.root.writeConfig(protecting(host.addresses, "pub_server")),
      );
      expect(ending).to.equal("ran");
      expect(lastRecord(host)?.policy.required_proven).to.deep.equal([
        "endpoint_reachable",
        "protocol_handshake",
      ]);
    });

    const CHANGES: Readonly<Record<string, (host: GatedHost) => unknown>> = {
      "the server is gone": ({ root }) => root.writeMcpServers({ mcpServers: {} }),
      "the server is disabled": ({ root, addresses }) =>
        root.writeMcpServers({ mcpServers: { pub_server: remote(pubUrl(addresses), { disabled: true }) } }),
      "the tool is disabled": ({ root, addresses }) =>
        root.writeMcpServers({
          mcpServers: { pub_server: remote(pubUrl(addresses), { disabled_tools: ["search"] }) },
        }),
      "the entry has other headers, for which there is no connection": ({ root, addresses }) =>
        root.writeMcpServers({
          mcpServers: { pub_server: remote(pubUrl(addresses), { headers: { a: "b" } }) },
        }),
      "serverUrl was added behind the URL": ({ root, addresses }) =>
        root.writeMcpServers({
          mcpServers: { pub_server: remote(pubUrl(addresses), { serverUrl: addresses.urls["other"] }) },
        }),
      "the host's settings are gone": ({ root }) => root.delete("usr/settings.json"),
      "the plugin's settings are invalid": ({ root }) => root.writeConfig("{"),
      "the plugin's settings no longer protect the server": ({ root, addresses }) =>
        root.writeConfig(protecting(addresses, [])),
      "the plugin's settings are gone": ({ root }) =>
        root.delete("usr/plugins/agent_guild_preflight/config.json"),
      "the plugin's settings approve another URL": ({ root, addresses }) =>
        root.writeConfig({
          ...protecting(addresses, []),
          protected_servers: { pub_server: addresses.urls["other"] },
        }),
      "another URL is approved, and the server has it and is up": async ({ root, addresses, host }) => {
        const url = addresses.urls["other"];
        root.writeConfig({ ...protecting(addresses, []), protected_servers: { pub_server: url } });
        root.writeMcpServers({ mcpServers: { pub_server: remote(url) } });
        await host.mcp.connect(null);
      },
      "private hosts are no longer allowed": ({ root, addresses }) =>
        root.writeConfig(protecting(addresses, "pub_server", { allow_private_hosts: false })),
    };

    for (const [what, change] of Object.entries(CHANGES)) {
      it(`denies when ${what}, and records what was observed [P5.6]`, async () => {
        const host = await open({ servers: TWO_SERVERS });
        await expectChanged(host, () => change(host));
      });
    }

    it("denies when a project's own file has come up that protects nothing [P5.6]", async () => {
      const host = await open({ context: { project: "alpha" } });
      await expectChanged(host, () => host.root.writeConfig({}, { project: "alpha" }));
    });

    it("denies when a project's own server has come up [P5.6]", async () => {
      const host = await open({ servers: TWO_SERVERS, context: { project: "alpha" } });
      await expectChanged(host, () =>
        host.root.writeProjectMcpServers("alpha", {
          mcpServers: { pub_server: remote(host.addresses.urls["other"]) },
        }),
      );
    });

    it("goes on when everything was changed and changed back [P5.6]", async () => {
      const host = await open();
      const ending = await changedInFlight(host, () => {
        host.root.writeConfig([]);
        host.root.writeConfig(protecting(host.addresses, "pub_server"));
      });
      expect(ending).to.equal("ran");
    });

    const ANSWERS: readonly (readonly [what: string, answer: GuildAnswer, error: string | null])[] = [
      ["the verdict do_not_delegate", { kind: "json", body: endpointDown }, null],
      ["missing evidence", { kind: "json", status: 500 }, "status"],
      ["inconsistent evidence", { kind: "json", body: "{}" }, "inconsistent"],
    ];

    for (const [what, answer, error] of ANSWERS) {
      it(`denies for the change before it denies for ${what} [P5.6]`, async () => {
        const host = await open();
        host.guild.answer("*", answer);
        const ending = await changedInFlight(host, () => host.root.writeMcpServers({ mcpServers: {} }));
        expect(ending).to.equal("binding_changed");
        expect(records(host)).to.have.lengthOf(1);
        expect(lastRecord(host)?.observation?.error).to.equal(error);
      });
    }

    it("denies for the change also where missing evidence would be let through [P5.6]", async () => {
      const host = await open({
        config: (world) => protecting(world, "pub_server", { policy: { on_unavailable: "allow" } }),
      });
      host.guild.answer("*", { kind: "json", status: 500 });
      const ending = await changedInFlight(host, () => host.root.writeConfig("{"));
      expect(ending).to.equal("binding_changed");
      expect(lastRecord(host)?.observation?.error).to.equal("status");
      expect(host.server().toolCalls).to.be.empty;
    });

    it("is resolved twice for a fresh observation and once for a reused one [P5.6]", async () => {
      const host = await open();
      const resolve = host.host.mcpConfiguration.bind(host.host);
      let resolutions = 0;
      host.host.mcpConfiguration = (agent) => {
        resolutions += 1;
        return resolve(agent);
      };
      expect(await outcomeOf(host.call())).to.equal("ran");
      expect(resolutions).to.equal(2);
      expect(await outcomeOf(host.call())).to.equal("ran");
      expect(lastRecord(host)?.observation?.cached).to.equal(true);
      expect(resolutions).to.equal(3);
    });

    it("is resolved before an observation is reused: a changed URL still denies [P5.6]", async () => {
      const host = await open({ servers: TWO_SERVERS });
      expect(await outcomeOf(host.call())).to.equal("ran");
      host.root.writeMcpServers({ mcpServers: { pub_server: remote(host.addresses.urls["other"]) } });
      expect(await outcomeOf(host.call())).to.equal("url_mismatch");
      expect(lastRecord(host)).to.not.have.property("observation");
      expect(host.server("other").toolCalls).to.be.empty;
    });
  });

  describe("of a kept connection", () => {
    /** The values of one header in the tool calls that a server got, in order. */
    function headerOfCalls({ requests }: McpServerFixture, name: string): (string | undefined)[] {
      return requests
        .filter(({ rpcMethod }) => rpcMethod === "tools/call")
        .map(({ rawHeaders }) => {
          const at = rawHeaders.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === name);
          return at < 0 ? undefined : rawHeaders[at + 1];
        });
    }

    it("serves call after call of the same entry [P5.7]", async () => {
      const host = await open();
      await host.call();
      await host.call();
      const sessions = headerOfCalls(host.server(), "mcp-session-id");
      expect(sessions).to.have.lengthOf(2);
      expect(new Set(sessions)).to.have.property("size", 1);
    });

    it("is not used for the same URL with other headers [P5.7]", async () => {
      const entry = (tenant: string) => ({ headers: { "x-tenant": tenant } });
      const host = await openWith((world) => ({ pub_server: remote(pubUrl(world), entry("one")) }));
      expect(await outcomeOf(host.call())).to.equal("ran");
      host.root.writeMcpServers({ mcpServers: { pub_server: remote(pubUrl(host.addresses), entry("two")) } });
      expect(await outcomeOf(host.call())).to.equal("ran");
      expect(headerOfCalls(host.server(), "x-tenant")).to.deep.equal(["one", "two"]);
      expect(new Set(headerOfCalls(host.server(), "mcp-session-id"))).to.have.property("size", 2);
    });

    it("is not used once another URL is approved and configured, and it closes [P5.7]", async () => {
      const host = await open({ servers: TWO_SERVERS });
      expect(await outcomeOf(host.call())).to.equal("ran");
      const url = host.addresses.urls["other"];
      host.root.writeConfig({ ...protecting(host.addresses, []), protected_servers: { pub_server: url } });
      host.root.writeMcpServers({ mcpServers: { pub_server: remote(url) } });
      expect(await outcomeOf(host.call())).to.equal("ran");
      expect(host.guild.requests.map((request) => request.url)).to.deep.equal([host.server().url, url]);
      expect(host.server().toolCalls).to.have.lengthOf(1);
      expect(host.server("other").toolCalls).to.have.lengthOf(1);
      await host.server().waitForSocketClose();
    });

    it("does not stand in for a server whose URL changed without approval [P5.7]", async () => {
      const host = await open({ servers: TWO_SERVERS });
      expect(await outcomeOf(host.call())).to.equal("ran");
      host.root.writeMcpServers({ mcpServers: { pub_server: remote(host.addresses.urls["other"]) } });
      expect(await outcomeOf(host.call())).to.equal("url_mismatch");
      expect(host.server().toolCalls).to.have.lengthOf(1);
      expect(host.server("other").toolCalls).to.be.empty;
    });
  });
});
