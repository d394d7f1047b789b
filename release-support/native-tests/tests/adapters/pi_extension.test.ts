import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { expect } from "chai";

import { GATE_BROKE } from "../../../adapters/ask_gate.ts";
import agentGuildPreflight from "../../../adapters/pi/extension.ts";
import type { Pi, PiBlock, PiContext, PiTool, PiToolCall } from "../../../adapters/pi/pi.ts";
import { endpointDown } from "../../../guild/preflight_bodies.ts";
import { guardedSuite } from "./guarded_suite.ts";

type Handler = (event: unknown, context: PiContext) => Promise<PiBlock | undefined>;

/** pi as an extension sees it. The real one is tried by `npm run test:hosts`. */
class StandIn {
  readonly folder = mkdtempSync(join(tmpdir(), "agent-guild-pi-"));
  readonly tools = new Map<string, PiTool>();
  readonly entries: unknown[] = [];
  readonly warnings: string[] = [];
  readonly #handlers = new Map<string, Handler>();
  readonly #others: { name: string; sourceInfo: { path: string } }[] = [];

  constructor() {
    const pi: Pi = {
      on: (event: string, handler: unknown) => void this.#handlers.set(event, handler as Handler),
      registerTool: (tool) => void this.tools.set(tool.name, tool),
      getAllTools: () => this.#others,
      appendEntry: (type, data) => void this.entries.push([type, data]),
    };
    agentGuildPreflight(pi);
  }

  /** Writes a file of the project (`.pi/...`) or of the user (`agent/...`). */
  write(path: string, content: unknown): this {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
    return this;
  }

  /** Says that a tool comes from an extension at a path. */
  toolFrom(name: string, path: string): this {
    this.#others.push({ name, sourceInfo: { path } });
    return this;
  }

  async start(): Promise<this> {
    await this.#emit("session_start", {});
    return this;
  }

  async block(
    toolName: string,
    input: PiToolCall["input"],
    signal?: AbortSignal,
  ): Promise<string | undefined> {
    return (await this.#emit("tool_call", { toolName, input }, signal))?.reason;
  }

  async close(): Promise<void> {
    await this.#emit("session_shutdown", {});
    rmSync(this.folder, { recursive: true });
  }

  async #emit(name: string, event: unknown, signal?: AbortSignal): Promise<PiBlock | undefined> {
    const ui = { notify: (message: string) => void this.warnings.push(message) };
    return await this.#handlers.get(name)?.(event, { cwd: this.folder, hasUI: true, ui, signal });
  }
}

describe("the gate in pi", () => {
  const { serve, protecting, guild, closings } = guardedSuite();
  const denying = () => guild().answer("*", { kind: "json", body: endpointDown });

  /** Its own folders, wherever the tests run. */
  function standIn(): StandIn {
    const pi = new StandIn();
    const { HOME, PI_CODING_AGENT_DIR } = process.env;
    Object.assign(process.env, { HOME: pi.folder, PI_CODING_AGENT_DIR: join(pi.folder, "agent") });
    closings.push(() => {
      Object.assign(process.env, { HOME });
      if (PI_CODING_AGENT_DIR === undefined) delete process.env["PI_CODING_AGENT_DIR"];
      else process.env["PI_CODING_AGENT_DIR"] = PI_CODING_AGENT_DIR;
    });
    closings.push(() => pi.close());
    return pi;
  }
  const servers = (url: string, name = "pub_server") => ({ mcpServers: { [name]: { url } } });

  describe("in its own tools", () => {
    it("runs what is not denied, and keeps the decision in the session [A2]", async () => {
      const { url } = await serve();
      const pi = await standIn()
        .write(".pi/agent_guild_preflight/mcp.json", servers(url))
        .write(".pi/agent_guild_preflight/config.json", protecting(url))
        .start();
      expect([...pi.tools.keys()]).to.deep.equal(["pub_server_search", "pub_server_echo"]);
      const result = await pi.tools.get("pub_server_search")?.execute("1", { text: "x" }, undefined);
      expect(result?.content).to.deep.equal([{ type: "text", text: "Synthetic result for: x" }]);
      expect(pi.entries).to.have.nested.property("[0][0]", "agent_guild_preflight");
      expect(pi.entries).to.have.nested.property("[0][1].decision", "allow");
    });

    it("fails what is denied with the denial's own words [A2, P10.1]", async () => {
      denying();
      const { url, toolCalls } = await serve();
      const pi = await standIn()
        .write("agent/agent_guild_preflight/mcp.json", servers(url))
        .write("agent/agent_guild_preflight/config.json", protecting(url))
        .start();
      const failed: unknown = await pi.tools
        .get("pub_server_search")
        ?.execute("1", { text: "x" }, undefined)
        .catch((error: unknown) => error);
      expect(failed)
        .to.have.property("message")
        .that.matches(/^agent_guild_preflight blocked this tool call/);
      expect(failed).to.have.property("message").that.includes("the session's entries named");
      expect(toolCalls).to.deep.equal([]);
    });

    it("takes its settings from the first place that has any, afresh for every call [A2]", async () => {
      denying();
      const { url } = await serve();
      const pi = await standIn()
        .write(".pi/agent_guild_preflight/mcp.json", servers(url))
        .write("agent/agent_guild_preflight/config.json", protecting(url))
        .start();
      const search = () =>
        pi.tools
          .get("pub_server_search")
          ?.execute("1", {}, undefined)
          .then(
            () => "ran",
            () => "failed",
          );
      expect(await search()).to.equal("failed");
      pi.write(".pi/agent_guild_preflight/config.json", {});
      expect(await search()).to.equal("ran");
      pi.write(".pi/agent_guild_preflight/config.json", "{");
      expect(await search()).to.equal("failed");
    });

    it("denies two entries whose names come to the same [A2, P5.1]", async () => {
      const { url, toolCalls } = await serve();
      const pi = await standIn()
        .write(".pi/agent_guild_preflight/mcp.json", {
          mcpServers: { "Pub-Server": { url }, "pub server": { url: "http://127.0.0.1:9/mcp" } },
        })
        .write(".pi/agent_guild_preflight/config.json", protecting(url))
        .start();
      const failed: unknown = await pi.tools
        .get("Pub-Server_search")
        ?.execute("1", {}, undefined)
        .catch((error: unknown) => error);
      expect(failed).to.have.property("message").that.includes("(ambiguous_server)");
      expect(toolCalls).to.deep.equal([]);
      expect(pi.warnings.join()).to.include("cannot be connected to");
    });

    it("says so when its servers cannot be read, and goes on without them [A2]", async () => {
      const pi = await standIn().write(".pi/agent_guild_preflight/mcp.json", "{ a secret").start();
      expect(pi.tools.size).to.equal(0);
      expect(pi.warnings).to.deep.equal(["agent_guild_preflight: a file with MCP servers is not valid JSON"]);
    });
  });

  describe("before calls of pi-mcp-adapter", () => {
    const URL_OF_SERVER = "http://127.0.0.1:9/mcp";

    /** With the server in the adapter's file of the project. */
    function adapted(settings = protecting(URL_OF_SERVER)): StandIn {
      return standIn()
        .write(".mcp.json", servers(URL_OF_SERVER))
        .write(".pi/agent_guild_preflight/config.json", settings)
        .toolFrom("pub_server_search", "/somewhere/node_modules/pi-mcp-adapter/index.ts")
        .toolFrom("mine", "/somewhere/mine.ts");
    }

    it("blocks a denied call by every way in which it can be asked for [A2]", async () => {
      denying();
      const pi = adapted();
      expect(await pi.block("mcp", { tool: "pub_server_search" })).to.include("(do_not_delegate)");
      expect(await pi.block("mcp", { tool: "search", server: "pub_server" })).to.include("(do_not_delegate)");
      expect(await pi.block("mcp", { tool: "anything_at_all" })).to.include("(do_not_delegate)");
      expect(await pi.block("mcp", { tool: 7 })).to.include("(do_not_delegate)");
      expect(await pi.block("pub_server_search", {})).to.include("(do_not_delegate)");
      expect(await pi.block("pub_server_search", { server: "other" })).to.include("(do_not_delegate)");
    });

    it("blocks nothing that is not denied, and never allows on pi's behalf [A2, A3]", async () => {
      const pi = adapted();
      expect(await pi.block("mcp", { tool: "pub_server_search" })).to.equal(undefined);
      expect(await pi.block("pub_server_search", {})).to.equal(undefined);
    });

    it("leaves alone what is no call of an MCP tool, and calls of servers that nobody protects [A2]", async () => {
      denying();
      const pi = adapted();
      expect(await pi.block("mcp", { search: "x" })).to.equal(undefined);
      expect(await pi.block("mcp", { tool: "x", server: "other" })).to.equal(undefined);
      expect(await pi.block("mine", { tool: "x" })).to.equal(undefined);
      expect(await pi.block("bash", { command: "true" })).to.equal(undefined);
      expect(guild().requests).to.deep.equal([]);
    });

    it("denies a protected server that the files give two URLs, or none [A2, P5.1]", async () => {
      const pi = adapted().write(".pi/mcp.json", servers("http://127.0.0.1:10/mcp"));
      expect(await pi.block("mcp", { tool: "x", server: "pub_server" })).to.include("(ambiguous_server)");
      pi.write(".pi/mcp.json", servers(URL_OF_SERVER));
      expect(await pi.block("mcp", { tool: "x", server: "pub_server" })).to.equal(undefined);
      pi.write(".pi/mcp.json", {}).write(".mcp.json", { imports: ["cursor"] });
      expect(await pi.block("mcp", { tool: "x" })).to.include("(server_not_configured)");
      pi.write(".mcp.json", { mcpServers: { pub_server: { command: "true" } } });
      expect(await pi.block("mcp", { tool: "x" })).to.include("(local_server)");
    });

    it("denies all its calls while the settings cannot be used [A2, P3.2]", async () => {
      const pi = adapted({ timeout_seconds: "secret" });
      for (const input of [{ tool: "x" }, { tool: "x", server: "other" }])
        expect(await pi.block("mcp", input))
          .to.include("(configuration_invalid)")
          .and.not.include("secret");
      expect(await pi.block("mine", {})).to.equal(undefined);
    });

    it("blocks with fixed words when anything breaks on the way [A2]", async () => {
      const pi = adapted().write(".mcp.json", "{ a secret");
      expect(await pi.block("mcp", { tool: "x" })).to.equal(GATE_BROKE);
      expect(await adapted().block("mcp", { tool: "x" }, AbortSignal.abort())).to.equal(GATE_BROKE);
    });
  });
});
