import { expect } from "chai";

import type { GatedHost } from "../../../fixtures/gated_host.ts";
import { gatedSuite } from "../gated_suite.ts";

const PLUGIN = "usr/plugins/agent_guild_preflight";
const GATE = `${PLUGIN}/extensions/node/tool_execute_before/_45_agent_guild_preflight.js`;
const NOTE = "usr/projects/alpha/.a0proj/extensions/node/tool_execute_before/_05_note.js";
const NOTING = "export default class { execute() { throw new TypeError('noted'); } }";

describe("changes below a running host's root", () => {
  const { openDenying: open } = gatedSuite();

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

  for (const rootFolder of [".", ".agents/host"]) {
    it(`take effect without a restart where the root is ${rootFolder}: a toggle, a file in a dot folder [H4]`, async () => {
      const gated = await open({
        rootFolder,
        context: { project: "alpha" },
        prepare: (root) => root.write("usr/projects/alpha/.a0proj/project.json", {}),
      });
      expect((await gated.call()).kind).to.equal("denied");
      await untilCall(gated, "ran", () => gated.root.write(`${PLUGIN}/.toggle-0`, ""));
      await untilCall(gated, "denied", () => gated.root.delete(`${PLUGIN}/.toggle-0`));
      await untilCall(gated, "failed", () => gated.root.write(NOTE, NOTING));
      await untilCall(gated, "denied", () => gated.root.delete(NOTE));
    });
  }

  it("take effect where the first plugin is put into an empty root [H4]", async () => {
    const gated = await open({ plugin: "missing" });
    expect((await gated.call()).kind).to.equal("ran");
    await untilCall(gated, "denied", () => gated.root.installPlugin());
    expect((await gated.call()).kind).to.equal("denied");
  });

  it("keep an extension that is empty now in force, and report it [H4]", async () => {
    const gated = await open();
    await untilCall(gated, "denied", () => gated.root.write(GATE, ""));
    expect(gated.host.bootReport().refused.map(({ path }) => path)).to.deep.equal([GATE]);
    await untilCall(gated, "ran", () => gated.root.delete(GATE));
  });
});
