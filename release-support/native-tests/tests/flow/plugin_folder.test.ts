import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect } from "chai";

import type { HostRoot } from "../../../fixtures/host_root.ts";
import { packageRoot } from "../../../packaging/package_root.ts";
import { makePluginDirectory } from "../../../packaging/plugin_package.ts";
import { compareWithRelease } from "../../../packaging/release_manifest.ts";
import { gatedSuite } from "../gated_suite.ts";
import { POINT } from "../host/extension_support.ts";

const PLUGIN = "usr/plugins/agent_guild_preflight";
const GATE = `extensions/node/${POINT}/_45_agent_guild_preflight`;
/** Whether the Node that runs the tests loads TypeScript, as 22.18 and newer do. */
const TYPESCRIPT = Boolean((process.features as { readonly typescript?: string | false }).typescript);

/** Puts a clone of this repository in the plugin's place: what git has, and what `npm ci` adds to it. */
function clone(
  { path }: HostRoot,
  { built, packages }: { readonly built: boolean; readonly packages: boolean },
) {
  const folder = join(path, PLUGIN);
  mkdirSync(folder, { recursive: true });
  const parts = ["helpers", `${GATE}.ts`, "plugin.yaml", "default_config.yaml", "package.json"];
  for (const part of parts)
    cpSync(join(packageRoot, part), join(folder, part), { recursive: true, preserveTimestamps: true });
  mkdirSync(join(folder, "release-support"));
  if (packages) symlinkSync(join(packageRoot, "node_modules"), join(folder, "node_modules"));
  if (!built) return;
  for (const part of ["dist/helpers", "dist/extensions", `${GATE}.js`])
    cpSync(join(packageRoot, part), join(folder, part), { recursive: true, preserveTimestamps: true });
}

describe("the plugin's folder", () => {
  const { open } = gatedSuite();

  const cloned = (parts: Parameters<typeof clone>[1]) =>
    open({ plugin: "missing", prepare: (root) => clone(root, parts) });

  it("may be a clone of the repository once npm ci has built it, on every Node [D2]", async () => {
    const host = await cloned({ built: true, packages: true });
    expect(compareWithRelease(join(host.root.path, PLUGIN))).to.deep.equal({ kind: "clone", outdated: [] });
    expect((await host.call()).kind).to.equal("ran");
    expect(host.guild.requests).to.have.length(1);
  });

  if (TYPESCRIPT) {
    it("may be a clone that is not built where Node loads TypeScript [D2]", async () => {
      const host = await cloned({ built: false, packages: true });
      expect((await host.call()).kind).to.equal("ran");
      expect(host.guild.requests).to.have.length(1);
    });
  } else {
    it("lets no call through as a clone that is not built, and names the command [D2, H3]", async () => {
      const host = await cloned({ built: false, packages: true });
      const outcome = await host.call();
      expect(outcome.kind).to.equal("failed");
      expect(String((outcome as { error: unknown }).error)).to.include("run npm ci in its plugin's folder");
      expect(host.server().toolCalls).to.deep.equal([]);
    });
  }

  it("lets no call through without its packages, and names the command [D2]", async () => {
    const host = await cloned({ built: true, packages: false });
    const outcome = await host.call();
    expect(outcome.kind).to.equal("denied");
    expect((outcome as { message: string }).message).to.include("run npm ci in the plugin's own folder");
  });

  it("with an emptied gate lets no call through from the start [H4]", async () => {
    for (const text of ["", "export const gate = null;\n"]) {
      const host = await open({ prepare: (root) => root.write(`${PLUGIN}/${GATE}.js`, text) });
      const outcome = await host.call();
      expect(outcome.kind).to.equal("failed");
      expect(String((outcome as { error: unknown }).error)).to.include("holds no extension");
      expect(host.server().toolCalls).to.deep.equal([]);
      expect(host.host.bootReport().refused[0]?.why).to.include("nothing runs at its extension point");
    }
  });

  describe("as released", () => {
    let folder: string;

    before(() => {
      folder = mkdtempSync(join(tmpdir(), "release-"));
      makePluginDirectory(folder, "copied");
    });

    after(() => rmSync(folder, { recursive: true, force: true }));

    it("has what its README speaks of, and no link that leads nowhere [D2]", () => {
      const text = readFileSync(join(folder, "README.md"), "utf8");
      const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, target = ""]) => target);
      const files = [...text.matchAll(/`([A-Za-z_]+(?:\.(?:yaml|json))?)`/g)]
        .map(([, name = ""]) => name)
        .filter((name) => /^(?:[A-Z]+|.*yaml)$/.test(name) && name !== "YOUR_ROOT");
      expect(files).to.include.members(["LICENSE", "NOTICE", "default_config.yaml"]);
      expect([...links, ...files].filter((name) => !existsSync(join(folder, name)))).to.deep.equal([]);
      expect(text).to.match(/restart the host/i);
      expect(text).to.not.match(/\bcp -r\b/);
    });

    it("knows itself, and every file that is missing, changed or not its own [C10]", () => {
      expect(compareWithRelease(folder).kind).to.equal("as_released");
      writeFileSync(join(folder, "config.json"), "{}");
      writeFileSync(join(folder, ".toggle-0"), "");
      expect(compareWithRelease(folder).kind).to.equal("as_released");
      writeFileSync(join(folder, "helpers/old.js"), "");
      writeFileSync(join(folder, "helpers/gate.js"), "");
      rmSync(join(folder, "NOTICE"));
      expect(compareWithRelease(folder)).to.deep.include({
        missing: ["NOTICE"],
        changed: ["helpers/gate.js"],
        foreign: ["helpers/old.js"],
      });
      rmSync(join(folder, "release_manifest.json"));
      expect(compareWithRelease(folder)).to.deep.equal({ kind: "unmarked" });
    });
  });
});
