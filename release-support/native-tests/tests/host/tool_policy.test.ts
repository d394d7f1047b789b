import { execFileSync } from "node:child_process";
import { join } from "node:path";

import { expect } from "chai";

import type { GatedHost } from "../../../fixtures/gated_host.ts";
import type { ConfigPlace, HostRoot } from "../../../fixtures/host_root.ts";
import { exceptionKind } from "../../../host/agents/exceptions.ts";
import { monologue } from "../../../host/agents/monologue.ts";
import { ANSWERED, call, DONE, hostsOfSuite, logged, noteTool, rejection, said } from "./loop_support.ts";
import type { Note } from "./loop_support.ts";

const PLUGIN = "_tool_access";
const EVERYTHING_BLOCKED = { mode: "custom", default: "block", mcp_default: "block" };
const GLOBAL_FILE = `usr/plugins/${PLUGIN}/config.json`;

function blocked(tool: string, profile = ""): string {
  return `Tool "${tool}" is blocked for agent profile "${profile}".`;
}

describe("the tool policy", () => {
  const { openPlain, openBeside } = hostsOfSuite();

  /** A host with the local tools `note`, `other` and `vision_load`, and the MCP tools `search` and `echo`. */
  async function open(prepare: (root: HostRoot) => void = () => undefined, context: ConfigPlace = {}) {
    return await openPlain({
      context,
      tools: { note: () => "ran", other: () => "ran", vision_load: () => "ran" },
      prepare,
    });
  }

  async function openWith(policy: unknown): Promise<GatedHost> {
    return await open((root) => root.writeConfig(policy, {}, PLUGIN));
  }

  /** Which of some tools run. */
  async function running(host: GatedHost, names: readonly string[] = ALL): Promise<string[]> {
    const outcomes = await Promise.all(names.map((name) => host.call(name)));
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.kind === "ran") continue;
      const { profile } = host.agent.config;
      expect(outcome).to.deep.equal({ kind: "denied", message: blocked(names[index] ?? "", profile) });
    }
    return names.filter((_, index) => outcomes[index]?.kind === "ran");
  }

  const ALL = ["note", "other", "pub_server.search", "pub_server.echo"];
  const [LOCAL, MCP] = [ALL.slice(0, 2), ALL.slice(2)];

  describe("without a custom policy", () => {
    const OPEN: Readonly<Record<string, unknown>> = {
      "the mode inherit": { mode: "inherit" },
      "the mode inherit, whatever else it says": {
        ...EVERYTHING_BLOCKED,
        mode: "inherit",
        blocked: ["local:note"],
      },
      "no mode": { default: "block", blocked: ["local:note"] },
      "no key of a policy": { theme: "dark" },
      "no key at all": {},
    };

    it("blocks nothing [H8]", async () => {
      expect(await running(await open())).to.deep.equal(ALL);
    });

    for (const [what, policy] of Object.entries(OPEN)) {
      it(`blocks nothing under a file with ${what} [H8]`, async () => {
        expect(await running(await openWith(policy))).to.deep.equal(ALL);
      });
    }
  });

  describe("of mode custom", () => {
    const CASES: readonly (readonly [what: string, policy: object, running: readonly string[]])[] = [
      ["allows all without defaults", {}, ALL],
      ["blocks local tools by default", { default: "block" }, MCP],
      ["blocks MCP tools by mcp_default", { mcp_default: "block" }, LOCAL],
      [
        "blocks what is in the list, by its id",
        { blocked: ["local:note", "mcp:pub_server:echo"] },
        ["other", "pub_server.search"],
      ],
      [
        "lets what is in the list of allowed tools be the exception",
        { default: "block", mcp_default: "block", allowed: ["local:other", "mcp:pub_server:search"] },
        ["other", "pub_server.search"],
      ],
      [
        "blocks what is in both lists",
        { blocked: ["local:note", "mcp:pub_server:echo"], allowed: ["local:note", "mcp:pub_server:echo"] },
        ["other", "pub_server.search"],
      ],
      [
        "takes null for what is left out",
        { default: null, mcp_default: null, allowed: null, blocked: null },
        ALL,
      ],
      [
        "knows a tool by its whole id only",
        {
          blocked: [
            "note",
            "local:*",
            "mcp:pub_server:*",
            "pub_server.echo",
            "mcp:Pub_Server:echo",
            "local:pub_server.echo",
          ],
        },
        ALL,
      ],
    ];

    for (const [what, policy, expected] of CASES) {
      it(`${what} [H8]`, async () => {
        const host = await openWith({ mode: "custom", ...policy });
        expect(await running(host)).to.deep.equal(expected);
        expect(host.server().toolCalls).to.have.lengthOf(
          expected.filter((name) => MCP.includes(name)).length,
        );
      });
    }

    it("cannot block response and vision_load [H8]", async () => {
      const host = await openWith({
        ...EVERYTHING_BLOCKED,
        blocked: ["local:response", "local:vision_load", "local:note"],
      });
      expect(await running(host, ["vision_load", "note"])).to.deep.equal(["vision_load"]);
      expect(await monologue(host.agent, [call("note"), DONE])).to.deep.equal(ANSWERED);
    });

    it("blocks an unknown tool as the local one that it is taken for [H8]", async () => {
      const host = await openWith({ mode: "custom", default: "block" });
      expect(await host.call("no_such_tool")).to.deep.equal({
        kind: "denied",
        message: blocked("no_such_tool"),
      });
    });

    it("denies by a warning, and the agent goes on [H8, H7]", async () => {
      const host = await openWith({ mode: "custom", blocked: ["local:note"] });
      expect(await monologue(host.agent, [call("note"), call("other"), DONE])).to.deep.equal(ANSWERED);
      expect(said(host.agent, "warning")).to.deep.equal([blocked("note")]);
      expect(logged(host.agent)).to.deep.equal([
        `warning: ${blocked("note")}`,
        "tool: ran",
        "response: done",
      ]);
    });

    it("counts from the next call on when it changes, and no longer when it is gone [H8]", async () => {
      const host = await open();
      expect(await running(host)).to.deep.equal(ALL);
      host.root.writeConfig(EVERYTHING_BLOCKED, {}, PLUGIN);
      expect(await running(host)).to.deep.equal([]);
      host.root.delete(GLOBAL_FILE);
      expect(await running(host)).to.deep.equal(ALL);
    });
  });

  describe("of several scopes", () => {
    const BOTH = { project: "site", profile: "coder" };
    const SCOPES: readonly ConfigPlace[] = [BOTH, { project: "site" }, { profile: "coder" }, {}];
    const only = (name: string) => ({
      mode: "custom",
      default: "block",
      mcp_default: "block",
      allowed: [`local:${name}`],
    });

    it("is the first custom one from the project's profile to the global one [H8]", async () => {
      const host = await open((root) => {
        for (const place of SCOPES) root.writeConfig(only("other"), place, PLUGIN);
      }, BOTH);
      for (const place of SCOPES) {
        host.root.writeConfig(only("note"), place, PLUGIN);
        expect(await running(host), JSON.stringify(place)).to.deep.equal(["note"]);
        host.root.writeConfig({ mode: "inherit" }, place, PLUGIN);
      }
      expect(await running(host)).to.deep.equal(ALL);
    });

    for (const [what, deferring] of Object.entries({
      "the mode inherit": { mode: "inherit", blocked: ["local:note"] },
      "other keys only": { theme: "dark" },
      "no mode": { blocked: ["local:note"] },
    })) {
      it(`is that of the next scope where a file has ${what} [H8]`, async () => {
        const host = await open((root) => {
          for (const place of SCOPES.slice(0, 3)) root.writeConfig(deferring, place, PLUGIN);
          root.writeConfig(only("note"), {}, PLUGIN);
        }, BOTH);
        expect(await running(host)).to.deep.equal(["note"]);
      });
    }

    it("is that of the agent's own project and profile, and no one else's [H8]", async () => {
      const host = await open((root) => {
        root.writeConfig(EVERYTHING_BLOCKED, { project: "other" }, PLUGIN);
        root.writeConfig(EVERYTHING_BLOCKED, { profile: "other" }, PLUGIN);
        root.writeConfig(EVERYTHING_BLOCKED, { project: "site", profile: "other" }, PLUGIN);
      }, BOTH);
      expect(await running(host)).to.deep.equal(ALL);
      const other = host.host.createContext({ profile: "other" }).agent0;
      expect(await host.call("note", {}, other)).to.deep.equal({
        kind: "denied",
        message: blocked("note", "other"),
      });
    });

    it("is not looked for behind one that cannot be read [H8]", async () => {
      const host = await open((root) => {
        root.write(`usr/projects/site/.a0proj/plugins/${PLUGIN}/config.json`, "{");
        root.writeConfig(only("note"), {}, PLUGIN);
      }, BOTH);
      expect(await running(host)).to.deep.equal([]);
    });
  });

  describe("that cannot be understood", () => {
    const UNUSABLE: Readonly<Record<string, unknown>> = {
      "no JSON": "{",
      "no text": new Uint8Array([0xff, 0xfe, 0x00]),
      "nothing in it": "",
      "a list": [],
      "a text": '"custom"',
      null: "null",
      "a member named twice": '{"mode":"inherit","mode":"custom"}',
      "an unknown mode": { mode: "strict" },
      "a mode of another type": { mode: true },
      "an unknown default": { mode: "custom", default: "deny" },
      "an unknown default for MCP tools": { mode: "custom", mcp_default: false },
      "a list that is none": { mode: "custom", blocked: "local:note" },
      "a list of other things than texts": { mode: "custom", allowed: [5] },
    };

    for (const [what, content] of Object.entries(UNUSABLE)) {
      it(`blocks all that can be blocked: ${what} [H8]`, async () => {
        const host = await open((root) => root.write(GLOBAL_FILE, content));
        expect(await running(host, [...ALL, "vision_load"])).to.deep.equal(["vision_load"]);
        expect(await monologue(host.agent, [DONE])).to.deep.equal(ANSWERED);
      });
    }

    it("blocks all that can be blocked: a folder in the file's place [H8]", async () => {
      const host = await open((root) => root.write(`${GLOBAL_FILE}/file`, ""));
      expect(await running(host)).to.deep.equal([]);
    });

    it("blocks all that can be blocked, without waiting: a pipe in a file's place [H8]", async function pipe() {
      if (process.platform === "win32") this.skip();
      const host = await open(
        (root) => {
          root.writeConfig({ mode: "inherit" }, { project: "site" }, PLUGIN);
          root.write(`usr/plugins/${PLUGIN}/README.md`, "");
          execFileSync("mkfifo", [join(root.path, GLOBAL_FILE)]);
        },
        { project: "site" },
      );
      expect(await running(host)).to.deep.equal([]);
    });
  });

  describe("inside an MCP tool", () => {
    async function openBlocked(): Promise<GatedHost> {
      return await openWith({ mode: "custom", blocked: ["mcp:pub_server:search", "local:note"] });
    }

    it("stops a tool object that is run directly [H8]", async () => {
      const { agent, host, ...rest } = await openBlocked();
      const tool = await host.mcp.findTool(agent, "pub_server.search");
      const error = await rejection(tool?.execute({}, agent.signal) ?? Promise.resolve());
      expect(exceptionKind(error)).to.equal("repairable");
      expect(error).to.have.property("message", blocked("pub_server.search"));
      expect(Object.values(rest.servers).flatMap(({ toolCalls }) => toolCalls)).to.deep.equal([]);
    });

    it("stops a call although the extension is gone, which alone stops local tools [H8]", async () => {
      const gated = await openBlocked();
      gated.root.delete(`plugins/${PLUGIN}/extensions`);
      const notes: Note[] = [];
      const host = await openBeside(gated, { watch: false, tools: noteTool(notes) });
      const { agent0 } = host.createContext();
      const turns = [call("note"), call("pub_server.search"), call("pub_server.echo", { text: "x" }), DONE];
      expect(await monologue(agent0, turns)).to.deep.equal(ANSWERED);
      expect(notes).to.have.lengthOf(1);
      expect(said(agent0, "warning")).to.deep.equal([blocked("pub_server.search")]);
      expect(gated.server().toolCalls.map(({ tool }) => tool)).to.deep.equal(["echo"]);
    });

    it("stops a call although another extension has put something else in the extension's place [H8]", async () => {
      const gated = await openBlocked();
      gated.root.write(
        "usr/extensions/node/tool_execute_before/_10_enforce_tool_policy.mjs",
        "export default class { execute() {} }",
      );
      const host = await openBeside(gated, { watch: false });
      const { agent0 } = host.createContext();
      await monologue(agent0, [call("pub_server.search")]);
      expect(said(agent0, "warning")).to.deep.equal([blocked("pub_server.search")]);
      expect(gated.server().toolCalls).to.deep.equal([]);
    });

    it("goes by the canonical id: what stands behind the first full stop is the tool [H8]", async () => {
      const host = await openPlain({
        servers: { pub_server: { transport: "streamable_http", tools: { "a.b": "ran", a: "ran" } } },
        prepare: (root) => root.writeConfig({ mode: "custom", blocked: ["mcp:pub_server:a.b"] }, {}, PLUGIN),
      });
      expect(await running(host, ["pub_server.a", "pub_server.a.b"])).to.deep.equal(["pub_server.a"]);
    });
  });
});
