import { cpSync, renameSync } from "node:fs";
import { join } from "node:path";

import { expect } from "chai";

import { PLUGIN_NAME, settingsIn } from "../../../../helpers/settings/current_settings.ts";
import { disk } from "../../../../helpers/config/file_view.ts";
import { HostRoot } from "../../../fixtures/host_root.ts";

describe("a plugin folder that is swapped while its configuration is looked for", () => {
  it("does not pass for one that nobody configured [P2.1]", async () => {
    const root = new HostRoot();
    const look = disk.sight.bind(disk);
    try {
      root.installPlugin();
      root.writeConfig({ protected_servers: { pub_server: "https://pub.example.com/mcp" } });
      const folder = join(root.path, "usr/plugins", PLUGIN_NAME);
      let swaps = 0;
      // The one look at config.json falls between taking the old folder away and putting the new one in its place.
      disk.sight = (path) => {
        if (path !== join(folder, "config.json") || swaps > 0) return look(path);
        swaps += 1;
        renameSync(folder, `${folder}.old`);
        const seen = look(path);
        cpSync(`${folder}.old`, folder, { recursive: true, verbatimSymlinks: true });
        return seen;
      };
      const reading = await settingsIn({ root: root.path, plugin: PLUGIN_NAME });
      expect(swaps).to.equal(1);
      if (reading.kind !== "valid") throw new Error("the configuration is invalid");
      expect([...reading.settings.protectedServers.keys()]).to.deep.equal(["pub_server"]);
    } finally {
      disk.sight = look;
      root.remove();
    }
  });
});
