import { symlinkSync } from "node:fs";
import { join } from "node:path";

import { expect } from "chai";

import { DECISIONS_KEY } from "../../../../helpers/decision/evidence.ts";
import type { DecisionRecord } from "../../../../helpers/decision/evidence.ts";
import { protecting } from "../../../fixtures/gated_host.ts";
import type { GatedHost, GatedHostOptions } from "../../../fixtures/gated_host.ts";
import { endpointDown } from "../../../guild/preflight_bodies.ts";
import type { Agent } from "../../../host/agents/agent.ts";
import type { ContextOptions } from "../../../host/agents/agent.ts";
import { dispatch } from "../../../host/agents/dispatch.ts";
import type { Host } from "../../../host/host.ts";
import { monologue } from "../../../host/agents/monologue.ts";
import type { ModelTurn } from "../../../host/agents/monologue.ts";
import type { ToolArgs } from "../../../host/agents/tool.ts";
import { ANSWERED, call, DONE, hostsOfSuite, logged, said } from "./loop_support.ts";

const SEARCH = call("pub_server.search", { text: "x" });
const REFUSED = "There is no such agent profile, so no subordinate was started.";

function delegate(args: ToolArgs = {}): ModelTurn {
  return call("call_subordinate", { message: "search for it", ...args });
}

function decisionsOf(agent: Agent | undefined): string[] {
  const decisions = (agent?.getData(DECISIONS_KEY) ?? []) as readonly DecisionRecord[];
  return decisions.map(({ decision, reason }) => `${decision} ${reason}`);
}

/** A host whose subordinates follow a script, and what became of them. */
interface World {
  readonly gated: GatedHost;
  readonly host: Host;
  readonly subordinates: readonly { readonly agent: Agent; readonly message: string }[];
}

describe("a subordinate agent", () => {
  const { open, openPlain, openBeside } = hostsOfSuite();

  async function openWorld(
    options: GatedHostOptions = {},
    script: (agent: Agent) => readonly ModelTurn[] = () => [SEARCH, DONE],
  ): Promise<World> {
    const gated = await open(options);
    gated.guild.answer("*", { kind: "json", body: endpointDown });
    const subordinates: World["subordinates"][number][] = [];
    const host = await openBeside(gated, {
      subordinateModel: (agent, message) => {
        subordinates.push({ agent, message });
        return script(agent);
      },
    });
    return { gated, host, subordinates };
  }

  it("has its superior's context, project and profile, and the message that it was given [H9]", async () => {
    const { host, subordinates } = await openWorld();
    const { agent0 } = host.createContext({ project: "site", profile: "coder" });
    expect(await monologue(agent0, [delegate(), DONE])).to.deep.equal(ANSWERED);
    const [{ agent, message } = { agent: agent0, message: "" }] = subordinates;
    expect(subordinates).to.have.lengthOf(1);
    expect(message).to.equal("search for it");
    expect(agent.context).to.equal(agent0.context);
    expect([agent.number, agent.config.profile, agent.context.project]).to.deep.equal([1, "coder", "site"]);
    expect(agent.superior).to.equal(agent0);
    expect(agent.history.messages[0]).to.deep.equal({ role: "user", content: "search for it" });
  });

  it("gives its answer to its superior as the tool's result [H9]", async () => {
    const { host } = await openWorld({}, () => ["It is there."]);
    const { agent0 } = host.createContext();
    await monologue(agent0, [delegate()]);
    expect(said(agent0, "tool_result")).to.deep.equal(["It is there."]);
  });

  it("says so when it ends without an answer [H9]", async () => {
    const { host } = await openWorld({}, () => []);
    const { agent0 } = host.createContext();
    await monologue(agent0, [delegate()]);
    expect(said(agent0, "tool_result")).to.deep.equal(["The subordinate ended without an answer."]);
  });

  it("can delegate in turn, one level further down [H9]", async () => {
    const { host, subordinates } = await openWorld({}, (agent) =>
      agent.number < 3 ? [delegate(), DONE] : ["deep"],
    );
    const { agent0 } = host.createContext();
    expect(await monologue(agent0, [delegate(), DONE])).to.deep.equal(ANSWERED);
    expect(subordinates.map(({ agent }) => [agent.number, agent.superior?.number])).to.deep.equal([
      [1, 0],
      [2, 1],
      [3, 2],
    ]);
  });

  it("is refused by a host that has no model for it, and the agent goes on [H9, H7]", async () => {
    const { agent } = await openPlain();
    expect(await monologue(agent, [delegate(), DONE])).to.deep.equal(ANSWERED);
    expect(said(agent, "warning").join()).to.match(/no model for subordinate agents/);
  });

  describe("of a profile of its own", () => {
    const PROFILES: Readonly<Record<string, string>> = {
      "the user's": "usr/agents/researcher",
      "the framework's": "agents/researcher",
      "a plugin's": "usr/plugins/pack/agents/researcher",
      "the project's": "usr/projects/site/.a0proj/agents/researcher",
    };

    for (const [whose, folder] of Object.entries(PROFILES)) {
      it(`has it when it exists among ${whose} [H9]`, async () => {
        const { host, subordinates } = await openWorld({
          prepare: (root) => {
            root.write("usr/plugins/pack/plugin.yaml", "name: pack\n");
            root.write(`${folder}/agent.yaml`, "title: Researcher\n");
          },
        });
        const { agent0 } = host.createContext({ project: "site", profile: "coder" });
        await monologue(agent0, [delegate({ profile: "researcher" })]);
        expect(subordinates.map(({ agent }) => agent.config.profile)).to.deep.equal(["researcher"]);
      });
    }

    const NO_PROFILES: readonly unknown[] = [
      "nobody",
      "Researcher",
      " researcher",
      "researcher/",
      "researcher/../researcher",
      "a*",
      ".",
      "..",
      "/",
      "\\",
      "\0",
      "researcher\0",
      "file",
      5,
      true,
      ["researcher"],
      { name: "researcher" },
    ];

    for (const profile of NO_PROFILES) {
      it(`is refused for ${JSON.stringify(profile)}, and nothing runs [H9]`, async () => {
        const { host, subordinates } = await openWorld({
          prepare: (root) => {
            root.write("usr/agents/researcher/agent.yaml", "title: Researcher\n");
            root.write("usr/agents/file", "");
          },
        });
        const { agent0 } = host.createContext();
        expect(await monologue(agent0, [delegate({ profile }), DONE])).to.deep.equal(ANSWERED);
        expect(said(agent0, "warning")).to.deep.equal([REFUSED]);
        expect(subordinates).to.deep.equal([]);
      });
    }

    it("is refused where the profile is another project's, or that of a plugin that is off [H9]", async () => {
      const { host, subordinates } = await openWorld({
        prepare: (root) => {
          root.write("usr/projects/other/.a0proj/agents/theirs/agent.yaml", "");
          root.write("usr/plugins/pack/plugin.yaml", "name: pack\n");
          root.write("usr/plugins/pack/.toggle-0", "");
          root.write("usr/plugins/pack/agents/packed/agent.yaml", "");
        },
      });
      const { agent0 } = host.createContext({ project: "site" });
      await monologue(agent0, [delegate({ profile: "theirs" }), delegate({ profile: "packed" })]);
      expect(said(agent0, "warning")).to.deep.equal([REFUSED, REFUSED]);
      expect(subordinates).to.deep.equal([]);
    });

    it("is refused where nobody can tell whether the profile exists [H9]", async () => {
      const { host, subordinates } = await openWorld({
        prepare: (root) => {
          root.write("usr/agents/researcher/agent.yaml", "");
          symlinkSync("circle", join(root.path, "usr/agents/circle"));
        },
      });
      const { agent0 } = host.createContext();
      await monologue(agent0, [delegate({ profile: "circle" })]);
      expect(said(agent0, "warning")).to.deep.equal([REFUSED]);
      expect(subordinates).to.deep.equal([]);
    });

    for (const profile of [undefined, null, ""]) {
      it(`has its superior's for ${JSON.stringify(profile) ?? "undefined"} [H9]`, async () => {
        const { host, subordinates } = await openWorld();
        const { agent0 } = host.createContext({ profile: "coder" });
        await monologue(agent0, [delegate({ profile })]);
        expect(subordinates.map(({ agent }) => agent.config.profile)).to.deep.equal(["coder"]);
      });
    }
  });

  describe("that calls a protected tool", () => {
    const GUARDED: ContextOptions = { profile: "guarded" };

    /** A root where only the profile `guarded` protects the server; `open` is a profile too. */
    async function openScoped(): Promise<World> {
      return await openWorld({
        config: () => null,
        prepare: (root, world) => {
          root.write("usr/agents/guarded/agent.yaml", "title: Guarded\n");
          root.write("usr/agents/open/agent.yaml", "title: Open\n");
          root.writeConfig(protecting(world, "pub_server"), GUARDED);
        },
      });
    }

    it("is denied in its own loop, which goes on, and so does its superior's (case G-19 c) [H9, H7, P11.2]", async () => {
      const { gated, host, subordinates } = await openWorld();
      const { agent0 } = host.createContext();
      expect(await monologue(agent0, [delegate(), DONE])).to.deep.equal(ANSWERED);
      const [subordinate] = subordinates;
      expect(said(subordinate?.agent as Agent, "warning")[0]).to.match(
        /^agent_guild_preflight blocked this tool call/,
      );
      expect(said(subordinate?.agent as Agent, "tool_result")).to.deep.equal(["done"]);
      expect(said(agent0, "warning")).to.deep.equal([]);
      expect(said(agent0, "tool_result")).to.deep.equal(["done", "done"]);
      expect(gated.server().toolCalls).to.deep.equal([]);
    });

    it("has its own record, and its superior has none [H9, P11.2, P9.3]", async () => {
      const { host, subordinates } = await openWorld();
      const { agent0 } = host.createContext();
      await monologue(agent0, [delegate()]);
      expect(decisionsOf(subordinates[0]?.agent)).to.deep.equal(["deny do_not_delegate"]);
      expect(decisionsOf(agent0)).to.deep.equal([]);
    });

    it("is gated by the configuration of its own profile, where its superior's protects nothing [H9, P11.2]", async () => {
      const { gated, host, subordinates } = await openScoped();
      const { agent0 } = host.createContext({ profile: "open" });
      await monologue(agent0, [SEARCH, delegate({ profile: "guarded" }), SEARCH]);
      expect(decisionsOf(subordinates[0]?.agent)).to.deep.equal(["deny do_not_delegate"]);
      expect(decisionsOf(agent0)).to.deep.equal([]);
      expect(gated.server().toolCalls).to.have.lengthOf(2);
    });

    it("is not gated by its superior's profile when it has another one, which its superior chose [H9]", async () => {
      const { gated, host, subordinates } = await openScoped();
      const { agent0 } = host.createContext(GUARDED);
      await monologue(agent0, [SEARCH, delegate({ profile: "open" })]);
      expect(decisionsOf(agent0)).to.deep.equal(["deny do_not_delegate"]);
      expect(decisionsOf(subordinates[0]?.agent)).to.deep.equal([]);
      expect(gated.server().toolCalls).to.have.lengthOf(1);
    });

    it("is gated by the configuration of its superior's project [H9, P11.2]", async () => {
      const { gated, host, subordinates } = await openWorld({
        config: () => null,
        prepare: (root, world) => root.writeConfig(protecting(world, "pub_server"), { project: "site" }),
      });
      await monologue(host.createContext({ project: "site" }).agent0, [delegate()]);
      expect(decisionsOf(subordinates[0]?.agent)).to.deep.equal(["deny do_not_delegate"]);
      expect(gated.server().toolCalls).to.deep.equal([]);
    });

    it("is held to the tool policy of its own profile [H8, H9]", async () => {
      const { gated, host, subordinates } = await openWorld({
        config: () => null,
        prepare: (root) => {
          root.write("usr/agents/guarded/agent.yaml", "title: Guarded\n");
          root.writeConfig({ mode: "custom", mcp_default: "block" }, GUARDED, "_tool_access");
        },
      });
      const { agent0 } = host.createContext();
      await monologue(agent0, [SEARCH, delegate({ profile: "guarded" })]);
      expect(said(subordinates[0]?.agent as Agent, "warning")).to.deep.equal([
        'Tool "pub_server.search" is blocked for agent profile "guarded".',
      ]);
      expect(gated.server().toolCalls).to.have.lengthOf(1);
    });
  });

  it("sees its own current tool while its superior's is call_subordinate [H6, H9]", async () => {
    const gated = await openPlain();
    const seen: (readonly (string | undefined)[])[] = [];
    const host = await openBeside(gated, {
      tools: {
        look: (_, { agent }) => {
          seen.push([agent.loopData.currentTool?.name, agent.superior?.loopData.currentTool?.name]);
          return "";
        },
      },
      subordinateModel: () => [call("look")],
    });
    const { agent0 } = host.createContext();
    await dispatch(agent0, { name: "call_subordinate", args: { message: "look" } });
    expect(seen).to.deep.equal([["look", "call_subordinate"]]);
    expect(agent0.loopData.currentTool).to.equal(null);
    expect(logged(agent0)).to.have.lengthOf(2);
  });
});
