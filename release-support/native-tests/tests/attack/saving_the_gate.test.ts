import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { expect } from "chai";

import { makePluginDirectory } from "../../../packaging/plugin_package.ts";
import { protecting } from "../../../fixtures/gated_host.ts";
import type { GatedHost } from "../../../fixtures/gated_host.ts";
import type { SavingMode } from "../../children/saving_child.ts";
import { POINT } from "../host/extension_support.ts";
import { gatedSuite } from "../gated_suite.ts";
import { callUntil, ran } from "./calling.ts";

const STEM = "_45_agent_guild_preflight";
const PLUGIN = "usr/plugins/agent_guild_preflight";
const CALL_EVERY_MS = 10;
/** How soon the last save must be in force. */
const IN_FORCE_MS = 2_000;
const OTHER = `export default class { execute() {} }\n`;

/** The save that the gate in force comes from; null for the one that was installed. */
function saveInForce({ host, agent }: GatedHost): number | null {
  const gate = host.extensions.inForce(POINT, agent).find(({ stem }) => stem === STEM);
  if (gate === undefined) expect.fail("no gate is in force");
  return (gate.create as { readonly save?: number }).save ?? null;
}

/** Waits until a save is in force, and gives how long that took. */
async function untilSave(host: GatedHost, save: number): Promise<number> {
  const begin = performance.now();
  while (saveInForce(host) !== save) {
    await new Promise<void>((resolve) => {
      const end = host.host.extensions.onReload(() => {
        end();
        resolve();
      });
    });
  }
  return performance.now() - begin;
}

describe("saving the gate while it is needed", () => {
  const { openDenying: open } = gatedSuite();

  /** Works on the root from another process for two seconds, and gives the number of its last save. */
  async function work(host: GatedHost, mode: SavingMode, everyMs: number): Promise<number> {
    const script = join(import.meta.dirname, "../../children/saving_child.js");
    const gate = join(import.meta.dirname, "../../../../extensions/node", POINT, `${STEM}.js`);
    const plugin = join(host.root.path, PLUGIN);
    const args = [script, mode, plugin, String(everyMs), readFileSync(gate, "utf8")];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    return Number(stdout);
  }

  const MODES: readonly (readonly [how: string, mode: SavingMode, everyMs: number])[] = [
    ["by renaming a new file over it every 50 ms", "rename", 50],
    ["by emptying it for 80 ms, then writing it, every 50 ms", "truncate", 50],
    ["by writing one half of it, 80 ms later the other, every 50 ms", "half", 50],
    ["by removing it for 80 ms, then writing it, every 50 ms", "remove", 50],
    ["by removing it for longer than the host waits, every 50 ms", "remove for longer", 50],
    ["by renaming a new file over it, just as rarely as the host looks", "rename", 230],
    ["by emptying it for longer than the host waits", "truncate", 300],
  ];
  for (const [how, mode, everyMs] of MODES) {
    it(`${how} lets no call through [H4]`, async () => {
      const host = await open();
      const working = work(host, mode, everyMs);
      const outcomes = await callUntil(host, working);
      const save = await working;
      expect(outcomes.length).to.be.above(50);
      expect(outcomes.filter(({ outcome }) => outcome.kind !== "denied")).to.deep.equal([]);
      expect(host.server().toolCalls).to.deep.equal([]);
      expect(host.guild.requests.length).to.be.at.most(1);
      expect(await untilSave(host, save)).to.be.below(IN_FORCE_MS);
      expect((await host.call()).kind).to.equal("denied");
    });
  }

  for (const everyMs of [50, 250]) {
    it(`and switching another plugin off and on every ${everyMs} ms lets no call through [H4]`, async () => {
      const host = await open({
        prepare: (root) => {
          root.write("usr/plugins/other/plugin.yaml", "");
          root.write(`usr/plugins/other/extensions/node/${POINT}/_50_other.js`, OTHER);
        },
      });
      const outcomes = await callUntil(host, work(host, "toggle", everyMs));
      expect(outcomes.length).to.be.above(50);
      expect(outcomes.filter(({ outcome }) => outcome.kind !== "denied")).to.deep.equal([]);
      expect(host.server().toolCalls).to.deep.equal([]);
    });

    it(`and swapping its whole folder for another every ${everyMs} ms lets no call through [H4]`, async () => {
      const host = await open();
      const working = work(host, "swap", everyMs);
      const outcomes = await callUntil(host, working);
      const save = await working;
      expect(outcomes.length).to.be.above(50);
      // In the moment without a folder there is no configuration to read, which denies as well.
      expect(ran(outcomes)).to.deep.equal([]);
      expect(host.server().toolCalls).to.deep.equal([]);
      expect(await untilSave(host, save)).to.be.below(IN_FORCE_MS);
      expect((await host.call()).kind).to.equal("denied");
    });
  }

  it("and moving its whole folder away for a moment lets no call through [H4]", async () => {
    const host = await open();
    const outcomes = await callUntil(host, work(host, "away", 50));
    expect(outcomes.length).to.be.above(50);
    expect(ran(outcomes)).to.deep.equal([]);
    expect(host.server().toolCalls).to.deep.equal([]);
  });

  it("or adding it to an empty root lets no call through once it has denied one [H4]", async () => {
    const host = await open({
      plugin: "missing",
      config: () => null,
      prepare: (root, world) => {
        makePluginDirectory(join(root.path, "source"), "linked");
        root.write("source/config.json", protecting(world, "pub_server"));
      },
    });
    const working = work(host, "add", CALL_EVERY_MS);
    const outcomes = await callUntil(host, working);
    const before = outcomes.filter(({ deniedBefore }) => deniedBefore === 0);
    const after = outcomes.filter(({ deniedBefore }) => deniedBefore > 0);
    expect(ran(before), "calls before there was a gate").to.not.be.empty;
    expect(after.length, "calls after its first denial").to.be.above(20);
    expect(ran(after)).to.deep.equal([]);
    expect(host.server().toolCalls.length).to.equal(ran(before).length);
  });
});
