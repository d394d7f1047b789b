import { readFileSync, renameSync, truncateSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { expect } from "chai";

import { GatedHost } from "../../../fixtures/gated_host.ts";
import { endpointDown } from "../../../guild/preflight_bodies.ts";

const PLUGIN = "usr/plugins/agent_guild_preflight";
const GATE = `${PLUGIN}/extensions/node/tool_execute_before/_45_agent_guild_preflight.js`;
const SECONDS = 2;

/** Saves a file once in some way; the pauses are the rhythm of the attack, nothing is waited for with them. */
type Save = (path: string, text: string) => Promise<void>;

const WAYS: Readonly<Record<string, Save>> = {
  "renames a new file over it": async (path, text) => {
    writeFileSync(`${path}.tmp`, text);
    renameSync(`${path}.tmp`, path);
    await pause(50);
  },
  "unlinks it and writes it again": async (path, text) => {
    unlinkSync(path);
    await pause(80);
    writeFileSync(path, text);
    await pause(50);
  },
  "truncates it and writes it again": async (path, text) => {
    truncateSync(path);
    await pause(80);
    writeFileSync(path, text);
    await pause(50);
  },
};

describe("calls while the gate's extension is being saved", () => {
  let host: GatedHost | null = null;

  afterEach(async () => {
    await host?.close();
    host = null;
  });

  async function openDenying(): Promise<GatedHost> {
    host = await GatedHost.open();
    host.guild.answer("*", { kind: "json", body: endpointDown });
    return host;
  }

  /** Calls the protected tool every 10 ms for two seconds, while something goes on; gives the kinds of the outcomes. */
  async function callMeanwhile(gated: GatedHost, disturb: () => Promise<void>): Promise<Set<string>> {
    const end = performance.now() + SECONDS * 1000;
    const disturbing = (async () => {
      while (performance.now() < end) await disturb();
    })();
    const calls: Promise<{ readonly kind: string }>[] = [];
    while (performance.now() < end) {
      calls.push(gated.call());
      await pause(10);
    }
    await disturbing;
    return new Set((await Promise.all(calls)).map(({ kind }) => kind));
  }

  /** Resolves once a reload has put in force what a predicate looks for; the test's own timeout is the bound. */
  async function inForce(gated: GatedHost, isIt: () => boolean): Promise<void> {
    while (!isIt()) {
      await new Promise<void>((resolve) => {
        const end = gated.host.extensions.onReload(() => {
          end();
          resolve();
        });
      });
    }
  }

  for (const [way, save] of Object.entries(WAYS)) {
    it(`are all denied where an editor ${way}, and the last file is in force afterwards [H4]`, async () => {
      const gated = await openDenying();
      const path = join(gated.root.path, GATE);
      const text = readFileSync(path, "utf8");
      let saves = 0;
      const kinds = await callMeanwhile(gated, async () => {
        saves += 1;
        await save(path, `${text}\n// save ${saves}\n`);
      });
      expect([...kinds]).to.deep.equal(["denied"]);
      expect(gated.server().toolCalls).to.deep.equal([]);

      const { agent } = gated;
      const versionBefore = gated.host.extensions.inForce("tool_execute_before", agent).at(-1)?.create;
      writeFileSync(path, `${text}\n// the last save\n`);
      await inForce(
        gated,
        () => gated.host.extensions.inForce("tool_execute_before", agent).at(-1)?.create !== versionBefore,
      );
      expect((await gated.call()).kind).to.equal("denied");
    });
  }

  it("are all denied where the whole plugin folder is swapped by renaming [H4]", async () => {
    const gated = await openDenying();
    const folder = join(gated.root.path, PLUGIN);
    const kinds = await callMeanwhile(gated, async () => {
      renameSync(folder, `${folder}.bak`);
      await pause(30);
      renameSync(`${folder}.bak`, folder);
      await pause(50);
    });
    expect([...kinds]).to.deep.equal(["denied"]);
    expect(gated.server().toolCalls).to.deep.equal([]);
  });

  it("are all denied while another plugin is switched on and off [H4]", async () => {
    const gated = await openDenying();
    gated.root.write("usr/plugins/other/plugin.yaml", "name: other\n");
    const toggle = join(gated.root.path, "usr/plugins/other/.toggle-0");
    const kinds = await callMeanwhile(gated, async () => {
      writeFileSync(toggle, "");
      await pause(50);
      unlinkSync(toggle);
      await pause(50);
    });
    expect([...kinds]).to.deep.equal(["denied"]);
    expect(gated.server().toolCalls).to.deep.equal([]);
  });
});

describe("changes below a running host's root", () => {
  let host: GatedHost | null = null;

  afterEach(async () => {
    await host?.close();
    host = null;
  });

  /** Does something and resolves at the next reload after which the call ends as expected. */
  async function untilCall(gated: GatedHost, kind: string, change: () => void): Promise<void> {
    let reloaded: () => void = () => undefined;
    let next = new Promise<void>((resolve) => (reloaded = resolve));
    const end = gated.host.extensions.onReload(() => {
      reloaded();
      next = new Promise<void>((resolve) => (reloaded = resolve));
    });
    try {
      change();
      for (let settled = next; ; settled = next) {
        await settled;
        if ((await gated.call()).kind === kind) return;
      }
    } finally {
      end();
    }
  }

  it("take effect without a restart: a toggle, and an extension in a project's dot folder [H4]", async () => {
    const gated = await GatedHost.open({
      context: { project: "alpha" },
      prepare: (root) => root.write("usr/projects/alpha/.a0proj/project.json", {}),
    });
    host = gated;
    gated.guild.answer("*", { kind: "json", body: endpointDown });
    expect((await gated.call()).kind).to.equal("denied");
    await untilCall(gated, "ran", () => gated.root.write(`${PLUGIN}/.toggle-0`, ""));
    await untilCall(gated, "denied", () => gated.root.delete(`${PLUGIN}/.toggle-0`));
    const extension = "export default class { execute() { throw new TypeError('noted'); } }";
    await untilCall(gated, "failed", () =>
      gated.root.write(
        "usr/projects/alpha/.a0proj/extensions/node/tool_execute_before/_05_note.js",
        extension,
      ),
    );
  });

  it("take effect where the first plugin is put into an empty root [H4]", async () => {
    const gated = await GatedHost.open({ plugin: "missing" });
    host = gated;
    gated.guild.answer("*", { kind: "json", body: endpointDown });
    expect((await gated.call()).kind).to.equal("ran");
    await untilCall(gated, "denied", () => gated.root.installPlugin());
    expect((await gated.call()).kind).to.equal("denied");
  });

  it("keep an extension that is empty now in force, and report it [H4]", async () => {
    const gated = await GatedHost.open();
    host = gated;
    gated.guild.answer("*", { kind: "json", body: endpointDown });
    await untilCall(gated, "denied", () => gated.root.write(GATE, ""));
    expect(gated.host.bootReport().refused.map(({ path }) => path)).to.deep.equal([GATE]);
    await untilCall(gated, "ran", () => gated.root.delete(GATE));
  });
});
