import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { expect } from "chai";

import { installDocument, uninstallDocument } from "../../../cli/install/install_documents.ts";
import { HostRoot } from "../../../fixtures/host_root.ts";
import { packageRoot } from "../../../packaging/package_root.ts";
import { swapFolders } from "../../../packaging/plugin_installer.ts";
import { compareWithRelease } from "../../../packaging/release_manifest.ts";
import { cli, documentIn, expectFitForTerminal, expectRefusal } from "./support.ts";

const PUB = "https://pub.example.com/mcp";
const PLUGIN = "usr/plugins/agent_guild_preflight";
const GATE = `${PLUGIN}/extensions/node/tool_execute_before/_45_agent_guild_preflight.js`;

describe("the command install", () => {
  let root: HostRoot;

  beforeEach(() => {
    root = new HostRoot();
    root.writeMcpServers({ mcpServers: { pub: { url: PUB, type: "streamable-http" } } });
  });

  afterEach(() => root.remove());

  const install = async (...more: string[]) => {
    const run = await cli(["install", "--root", root.path, "--json", ...more]);
    return { ...run, document: documentIn(run, installDocument) };
  };
  const state = () => compareWithRelease(join(root.path, PLUGIN));
  /** What an interrupted installation leaves shows here. */
  const pluginFolders = () => readdirSync(join(root.path, "usr/plugins")).toSorted();

  it("puts the whole plugin into the root, and says that nothing is protected yet [C7]", async () => {
    const { code, document } = await install();
    expect(code).to.equal(0);
    expect(state().kind).to.equal("as_released");
    expect(existsSync(join(root.path, PLUGIN, "node_modules/zod/package.json"))).to.equal(true);
    expect([document.replaced, document.enabled]).to.deep.equal([null, true]);
    expect(document.protected.map(({ servers }) => servers)).to.deep.equal([[]]);
    expect(pluginFolders()).to.deep.equal(["agent_guild_preflight"]);
  });

  it("replaces another version as a whole: configuration and toggles stay, all else goes [C7]", async () => {
    root.installPlugin();
    root.writeConfig({ protected_servers: { pub: PUB } });
    root.write(`${PLUGIN}/agents/clerk/plugins/agent_guild_preflight/config.json`, {});
    root.write(`${PLUGIN}/.toggle-1`, "");
    root.write(`${PLUGIN}/extensions/node/tool_execute_before/_44_old.js`, "export default class {}\n");
    root.write(GATE, "// damaged\n");
    const { code, document } = await install();
    expect(code).to.equal(0);
    expect(state().kind).to.equal("as_released");
    expect(document.replaced?.kept).to.deep.equal([
      ".toggle-1",
      "agents/clerk/plugins/agent_guild_preflight/config.json",
      "config.json",
    ]);
    expect(document.replaced?.dropped).to.deep.equal([
      "extensions/node/tool_execute_before/_44_old.js",
      "extensions/node/tool_execute_before/_45_agent_guild_preflight.js",
    ]);
    expect(document.protected[0]?.servers).to.deep.equal([{ name: "pub", endpoint: PUB }]);
    expect(readdirSync(join(root.path, PLUGIN, "extensions/node/tool_execute_before"))).to.have.length(1);
  });

  it("says for people what is protected and what is left to do, without an undisclosable URL [C7]", async () => {
    root.writeConfig({ protected_servers: { pub: PUB, keyed: `${PUB}?key=secret` } });
    root.writeConfig({ protected_servers: {} }, { project: "shop" });
    const { code, stdout } = await cli(["install", "--root", root.path]);
    expect(code).to.equal(0);
    expect(stdout)
      .to.include(`pub: ${PUB}`)
      .and.to.match(/project shop: nothing/)
      .and.to.include("Restart the host");
    expect(stdout).to.not.include("secret");
    expectFitForTerminal(stdout);
  });

  it("ends with exit code 1 where a configuration cannot be used, or a toggle is off [C7]", async () => {
    root.writeConfig({ protectd_servers: {} });
    expect((await install()).code).to.equal(1);
    root.writeConfig({ protected_servers: { pub: PUB } });
    root.write(`${PLUGIN}/.toggle-0`, "");
    const { code, document } = await install();
    expect([code, document.enabled]).to.deep.equal([1, false]);
  });

  it("takes up again what a killed installation left half done [C7]", async () => {
    root.installPlugin();
    root.writeConfig({ protected_servers: { pub: PUB } });
    const left = join(root.path, "usr/plugins/.agent_guild_preflight.old-1");
    renameSync(join(root.path, PLUGIN), left);
    const { document } = await install();
    expect(document.replaced?.kept).to.deep.equal(["config.json"]);
    expect(document.protected[0]?.servers).to.have.length(1);
    expect(pluginFolders()).to.deep.equal(["agent_guild_preflight"]);
  });

  it("puts the old version back when the new one cannot take its place [C7]", () => {
    root.installPlugin();
    const target = join(root.path, PLUGIN);
    const fresh = join(root.path, "usr/plugins/.agent_guild_preflight.new-1");
    mkdirSync(fresh);
    writeFileSync(join(fresh, "plugin.yaml"), "");
    const fail = () => {
      throw new Error("the configuration cannot be copied");
    };
    expect(() => swapFolders(target, fresh, fail)).to.throw("cannot be copied");
    expect(state().kind).to.equal("as_released");
    // As when somebody else puts a folder there in between.
    const interfere = () => root.write(`${PLUGIN}/else.txt`, "");
    expect(() => swapFolders(target, fresh, interfere)).to.throw();
  });

  it("leaves the old version alone when the new one cannot be made [C7]", async () => {
    root.installPlugin();
    root.writeConfig({ protected_servers: { pub: PUB } });
    const broken = join(root.path, "package");
    // A package without its dependencies, as after an interrupted npm install.
    for (const path of ["dist", "package.json", "plugin.yaml", "default_config.yaml", "LICENSE", "NOTICE"])
      cpSync(join(packageRoot, path), join(broken, path), { recursive: true });
    mkdirSync(join(broken, "node_modules"));
    for (const name of ["commander", "yaml", "zod"])
      symlinkSync(join(packageRoot, "node_modules", name), join(broken, "node_modules", name));
    const main = join(broken, "dist/release-support/cli/main.js");
    const run = await cliAt(main, ["install", "--root", root.path]);
    expectRefusal(run, /what was there is there still/);
    expect(state().kind).to.equal("as_released");
    expect(pluginFolders()).to.deep.equal(["agent_guild_preflight"]);
  });

  it("refuses a clone, and a root one level off [C7]", async () => {
    root.installPlugin();
    root.write(`${PLUGIN}/.git/HEAD`, "");
    expectRefusal(
      await cli(["install", "--root", root.path]),
      /is a clone: update it with git pull and npm ci/,
    );
    const usr = join(root.path, "usr");
    expectRefusal(await cli(["install", "--root", usr]), /looks like the folder usr\/ of a host root/);
    expect(existsSync(join(usr, "usr"))).to.equal(false);
  });

  describe("from the npm package", function () {
    this.timeout(60_000);
    let folder: string;

    before(async () => {
      folder = mkdtempSync(join(tmpdir(), "npm-package-"));
      await promisify(execFile)("npm", ["pack", "--ignore-scripts", "--pack-destination", folder], {
        cwd: packageRoot,
      });
      const archive = readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "";
      mkdirSync(join(folder, "node_modules"));
      await promisify(execFile)("tar", ["-xzf", archive], { cwd: folder });
      renameSync(join(folder, "package"), join(folder, "node_modules/agent-guild-preflight"));
      const manifest = readFileSync(join(packageRoot, "package.json"), "utf8");
      const { dependencies } = JSON.parse(manifest) as { dependencies: Record<string, string> };
      for (const name of Object.keys(dependencies)) {
        mkdirSync(join(folder, "node_modules", name, ".."), { recursive: true });
        symlinkSync(join(packageRoot, "node_modules", name), join(folder, "node_modules", name));
      }
    });

    after(() => rmSync(folder, { recursive: true, force: true }));

    it("installs the same plugin [C7, D2]", async () => {
      const main = join(folder, "node_modules/agent-guild-preflight/dist/release-support/cli/main.js");
      const run = await cliAt(main, ["install", "--root", root.path, "--json"]);
      expect(documentIn(run, installDocument).ok).to.equal(true);
      const packed = readFileSync(join(root.path, PLUGIN, "release_manifest.json"), "utf8");
      await install();
      expect(readFileSync(join(root.path, PLUGIN, "release_manifest.json"), "utf8")).to.equal(packed);
    });
  });
});

describe("the command uninstall", () => {
  let root: HostRoot;

  beforeEach(() => {
    root = new HostRoot();
    root.installPlugin();
    root.writeConfig({ protected_servers: { pub: PUB } });
  });

  afterEach(() => root.remove());

  const uninstall = async (...more: string[]) => {
    const run = await cli(["uninstall", "--root", root.path, "--json", ...more]);
    return documentIn(run, uninstallDocument);
  };

  it("takes the plugin out, says what that unprotects, and keeps the configuration [C7]", async () => {
    const document = await uninstall();
    expect(document.unprotects.map(({ servers }) => servers)).to.deep.equal([
      [{ name: "pub", endpoint: PUB }],
    ]);
    expect(document.removed.kept).to.deep.equal(["config.json"]);
    expect(readdirSync(join(root.path, PLUGIN))).to.deep.equal(["config.json"]);
    expect(readdirSync(join(root.path, "usr/plugins"))).to.deep.equal(["agent_guild_preflight"]);
  });

  it("removes the whole folder with --purge [C7]", async () => {
    expect((await uninstall("--purge")).removed.kept).to.deep.equal([]);
    expect(readdirSync(join(root.path, "usr/plugins"))).to.deep.equal([]);
  });

  it("says so when the plugin is not there [C7]", async () => {
    await uninstall();
    expectRefusal(await cli(["uninstall", "--root", root.path]), /is not installed/);
  });

  it("is fit for a terminal [C7]", async () => {
    const { stdout } = await cli(["uninstall", "--root", root.path]);
    expect(stdout).to.include("Not protected any more").and.to.include(PUB);
    expectFitForTerminal(stdout);
  });
});

/** Runs another copy of the executable. */
async function cliAt(main: string, args: readonly string[]) {
  const run = promisify(execFile)(process.execPath, [main, ...args]);
  return await run.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      stdout,
      stderr,
    }),
  );
}
