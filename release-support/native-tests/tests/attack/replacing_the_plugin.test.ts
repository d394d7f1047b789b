import { existsSync } from "node:fs";
import { join } from "node:path";

import { expect } from "chai";

import type { GatedHost } from "../../../fixtures/gated_host.ts";
import { cli } from "../cli/support.ts";
import { gatedSuite } from "../gated_suite.ts";
import { POINT } from "../host/extension_support.ts";
import { callUntil, ran } from "./calling.ts";

const PLUGIN = "usr/plugins/agent_guild_preflight";

describe("replacing the plugin under a running host", function () {
  this.timeout(30_000);
  const { openDenying: open } = gatedSuite();

  const command = (name: string, { root }: GatedHost) => cli([name, "--root", root.path]);

  it("by install, over and over, lets no call of a protected server through [C7, H4]", async () => {
    const host = await open();
    const working = (async () => {
      for (let round = 0; round < 3; round += 1) {
        const { code, stderr } = await command("install", host);
        expect([code, stderr]).to.deep.equal([0, ""]);
      }
    })();
    const outcomes = await callUntil(host, working);
    await working;
    expect(outcomes.length).to.be.above(50);
    expect(outcomes.filter(({ outcome }) => outcome.kind !== "denied")).to.deep.equal([]);
    expect(host.server().toolCalls).to.deep.equal([]);
    expect(existsSync(join(host.root.path, PLUGIN, "node_modules/zod/package.json"))).to.equal(true);
    expect((await host.call()).kind).to.equal("denied");
  });

  it("by uninstall lets calls through only once it is out, none before [C7]", async () => {
    const host = await open();
    const reloaded = new Promise<void>((resolve) => {
      const end = host.host.extensions.onReload(() => {
        if (host.host.extensions.inForce(POINT, host.agent).some(({ plugin }) => plugin !== "_tool_access"))
          return;
        end();
        resolve();
      });
    });
    const before = await callUntil(host, command("uninstall", host));
    expect(before.length).to.be.above(10);
    expect(ran(before)).to.deep.equal([]);
    await reloaded;
    expect((await host.call()).kind).to.equal("ran");
    // Put back, it denies again.
    await command("install", host);
    const outcomes = await callUntil(host, untilDenied(host));
    const after = outcomes.filter(({ deniedBefore }) => deniedBefore > 0);
    expect(ran(after)).to.deep.equal([]);
  });

  async function untilDenied(host: GatedHost): Promise<void> {
    while ((await host.call()).kind !== "denied") {
      await new Promise<void>((resolve) => {
        const end = host.host.extensions.onReload(() => {
          end();
          resolve();
        });
      });
    }
  }
});
