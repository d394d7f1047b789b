import { expect } from "chai";

import { GatedHost } from "../../../fixtures/gated_host.ts";
import { endpointDown } from "../../../guild/preflight_bodies.ts";
import { Cleanups, McpHost, until } from "./mcp_connections_support.ts";
import { SERVER_EVERYTHING, ServerEverything } from "./server_everything_process.ts";

/** What it has for every client. Others depend on what the client can do. */
const TOOLS = [
  "echo",
  "get-annotated-message",
  "get-env",
  "get-resource-links",
  "get-resource-reference",
  "get-structured-content",
  "get-sum",
  "get-tiny-image",
  "gzip-file-as-resource",
  "toggle-simulated-logging",
  "toggle-subscriber-updates",
  "trigger-long-running-operation",
];

type Entry = Readonly<Record<string, unknown>>;

describe("server-everything, a server that nobody here wrote", function () {
  // It is a process of its own, started once for each transport.
  this.timeout(30_000);
  const cleanups = new Cleanups();
  afterEach(() => cleanups.run());

  const remote = (transport: "streamableHttp" | "sse") => async (): Promise<Entry> => {
    const server = cleanups.add(await ServerEverything.start(transport));
    return { url: server.url, type: transport === "sse" ? "sse" : "streamable-http" };
  };
  const transports: Readonly<Record<string, () => Promise<Entry>>> = {
    "streamable HTTP": remote("streamableHttp"),
    SSE: remote("sse"),
    stdio: () => Promise.resolve({ command: `'${process.execPath}'`, args: [SERVER_EVERYTHING, "stdio"] }),
  };

  for (const [name, start] of Object.entries(transports)) {
    describe(`over ${name}`, () => {
      async function open(more: Entry = {}): Promise<McpHost> {
        return cleanups.add(await McpHost.open({ everything: { ...(await start()), ...more } }));
      }

      it("lists all its tools [H5]", async () => {
        const host = await open();
        expect(host.tools).to.include.members(TOOLS.map((tool) => `everything.${tool}`));
        expect(host.problem("everything")).to.equal(undefined);
      });

      it("lists also those that it adds once it knows the client [H5]", async () => {
        const host = await open();
        await until(() => host.tools.includes("everything.simulate-research-query"));
        expect(host.problem("everything")).to.equal(undefined);
      });

      it("answers calls, with text, numbers and other content [H5]", async () => {
        const host = await open();

        expect(await host.call("everything.echo", { message: "grüße" })).to.equal("Echo: grüße");
        expect(await host.call("everything.get-sum", { a: 2, b: 40 })).to.equal("The sum of 2 and 40 is 42.");
        expect(await host.call("everything.get-tiny-image")).to.include("[image]");
        const weather = await host.call("everything.get-structured-content", { location: "Chicago" });
        expect(JSON.parse(weather)).to.have.property("temperature", 36);
      });

      it("answers 200 calls at once, each with its own answer [H5]", async () => {
        const host = await open();
        const numbers = Array.from({ length: 200 }, (_, index) => index);
        const answers = await Promise.all(numbers.map((a) => host.call("everything.get-sum", { a, b: 1 })));
        expect(answers).to.deep.equal(numbers.map((a) => `The sum of ${a} and 1 is ${a + 1}.`));
      });

      it("has its errors told to the model, and goes on [H5]", async () => {
        const host = await open();

        expect(await host.call("everything.get-sum", { a: "no number" })).to.match(/^ERROR: .*a/s);
        expect(await host.call("everything.simulate-research-query", { topic: "x" })).to.match(/^ERROR: /);
        expect(await host.call("everything.echo", { message: "on" })).to.equal("Echo: on");
        expect(host.problem("everything")).to.equal(undefined);
      });

      it("is waited for as long as the tool_timeout says, and no longer [H5]", async () => {
        const host = await open({ tool_timeout: 2 });
        const call = (duration: number) =>
          host.call("everything.trigger-long-running-operation", { duration, steps: 2 });

        const [long, short] = await Promise.all([call(60), call(0.2)]);
        expect(long).to.equal(
          "ERROR: the tool did not answer within 2 s; the tool may have run all the same",
        );
        expect(short).to.equal("Long running operation completed. Duration: 0.2 seconds, Steps: 2.");
        expect(await host.call("everything.echo", { message: "on" })).to.equal("Echo: on");
      });

      it("hides a disabled tool of it [H5]", async () => {
        const host = await open({ disabled_tools: ["get-env"] });
        expect(host.tools).to.not.include("everything.get-env");
        expect(await host.call("everything.get-env")).to.equal("There is no tool of this name.");
      });
    });
  }

  it("gets the environment of its entry over stdio, and not the host's [H5]", async () => {
    process.env["HOST_SECRET"] = "secret";
    try {
      const entry = await transports["stdio"]?.();
      const host = cleanups.add(
        await McpHost.open({ everything: { ...entry, env: { ADDED: "by the entry" } } }),
      );
      const env = JSON.parse(await host.call("everything.get-env")) as Record<string, string>;
      expect(env).to.have.property("ADDED", "by the entry");
      expect(env).to.not.have.property("HOST_SECRET");
      expect(host.host.mcp.logs(null)[0]?.text).to.include("Starting default (STDIO) server...");
    } finally {
      delete process.env["HOST_SECRET"];
    }
  });

  for (const transport of ["streamableHttp", "sse"] as const) {
    it(`is reported when it is killed during a call over ${transport}, at once [H5]`, async () => {
      const server = cleanups.add(await ServerEverything.start(transport));
      const type = transport === "sse" ? "sse" : "http";
      const host = cleanups.add(await McpHost.open({ everything: { url: server.url, type } }));
      const call = host.call("everything.trigger-long-running-operation", { duration: 60, steps: 60 });
      // An answer to a later call: the long one is under way.
      await host.call("everything.echo", { message: "x" });
      await server.close();

      expect(await call).to.match(/^ERROR: the server (?:ended the|cannot be reached)/);
      expect(host.problem("everything")).to.be.a("string");
      expect(await host.call("everything.echo")).to.match(/^ERROR: the server cannot be reached/);
    });
  }

  describe("behind the gate", () => {
    /** A gated host whose only server is this one. */
    async function open(entry: Entry, approved: unknown): Promise<GatedHost> {
      return cleanups.add(
        await GatedHost.open({
          servers: {},
          mcpServers: () => ({ mcpServers: { everything: entry } }),
          config: ({ guildOrigin }) => ({
            protected_servers: { everything: approved },
            allow_private_hosts: true,
            fixture_guild_origin: guildOrigin,
          }),
        }),
      );
    }

    for (const transport of ["streamableHttp", "sse"] as const) {
      it(`runs over ${transport} what is not denied [H5, P8.5]`, async () => {
        const entry = await remote(transport)();
        const host = await open(entry, entry["url"]);

        expect(await host.call("everything.get-sum", { a: 1, b: 2 })).to.deep.equal({
          kind: "ran",
          message: "The sum of 1 and 2 is 3.",
        });
        expect(host.guild.requests.map(({ url }) => url)).to.deep.equal([entry["url"]]);
      });

      it(`runs nothing over ${transport} that the Guild warns of [H5, P8.1]`, async () => {
        const entry = await remote(transport)();
        const host = await open(entry, entry["url"]);
        host.guild.answer("*", { kind: "json", body: endpointDown });

        expect((await host.call("everything.echo", { message: "x" })).kind).to.equal("denied");
        expect(host.agent.getData("agent_guild_preflight.last_observation")).to.have.property(
          "reason",
          "do_not_delegate",
        );
      });
    }

    it("runs nothing over stdio under a protected name, and asks nobody [H5, P5.2]", async () => {
      const entry = (await transports["stdio"]?.()) ?? {};
      const host = await open(entry, "http://127.0.0.1:9/mcp");

      expect((await host.call("everything.echo", { message: "x" })).kind).to.equal("denied");
      expect(host.agent.getData("agent_guild_preflight.last_observation")).to.have.property(
        "reason",
        "local_server",
      );
      expect(host.guild.requests).to.deep.equal([]);
    });
  });
});
