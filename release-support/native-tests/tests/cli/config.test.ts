import { existsSync } from "node:fs";
import { join } from "node:path";

import { expect } from "chai";

import { configListDocument, configRemoveDocument, configShowDocument } from "../../../cli/output_schemas.ts";
import { HostRoot } from "../../../fixtures/host_root.ts";
import { cli, documentIn, expectFitForTerminal, expectRefusal } from "./support.ts";

const GLOBAL = "usr/plugins/agent_guild_preflight/config.json";
const PROJECT = "usr/projects/shop/.a0proj/plugins/agent_guild_preflight/config.json";

describe("the command config", () => {
  let root: HostRoot;

  beforeEach(() => {
    root = new HostRoot();
    root.installPlugin();
    root.writeConfig({ protected_servers: { pub: "https://pub.example.com/mcp" } });
    root.writeConfig({ timeout_seconds: 3 }, { project: "shop" });
  });

  afterEach(() => root.remove());

  const config = (part: string, ...more: string[]) => cli(["config", part, "--root", root.path, ...more]);

  it("lists the files of every scope, the narrowest first [C6]", async () => {
    const more = [
      "usr/projects/shop/.a0proj/agents/clerk/plugins/agent_guild_preflight/config.json",
      "usr/agents/clerk/plugins/agent_guild_preflight/config.json",
      "usr/plugins/extra/agents/clerk/plugins/agent_guild_preflight/config.json",
      "agents/clerk/plugins/agent_guild_preflight/config.json",
      "plugins/agent_guild_preflight/config.json",
    ];
    root.write("usr/plugins/extra/plugin.yaml", "name: extra\n");
    for (const path of more) root.write(path, {});
    const result = await config("list", "--json");
    const { files } = documentIn(result, configListDocument);
    expect(result.code).to.equal(0);
    expect(files.map(({ scope, path }) => [scope, path])).to.deep.equal([
      ["project profile", more[0]],
      ["project", PROJECT],
      ["user profile", more[1]],
      ["plugin profile", more[2]],
      ["built-in profile", more[3]],
      ["global", GLOBAL],
      ["built-in", more[4]],
    ]);
    expect([files[0]?.project, files[0]?.profile]).to.deep.equal(["shop", "clerk"]);
  });

  it("ends with exit code 1 when a file is not valid, and says where [C6]", async () => {
    root.writeConfig({ timeout_seconds: 0 }, { project: "shop" });
    const result = await config("list", "--json");
    const { ok, files } = documentIn(result, configListDocument);
    expect([result.code, ok]).to.deep.equal([1, false]);
    expect(files[0]?.errors.map(({ path }) => path)).to.deep.equal(["timeout_seconds"]);
    expectFitForTerminal((await config("list")).stdout);
  });

  it("says that the default decides where there is no file [C6]", async () => {
    root.delete(GLOBAL);
    root.delete(PROJECT);
    const { code, stdout } = await config("list");
    expect(code).to.equal(0);
    expect(stdout).to.include("default_config.yaml decides");
  });

  it("shows the file of exactly the scope that is named [C6]", async () => {
    const [wide, narrow] = [
      await config("show", "--json"),
      await config("show", "--project", "shop", "--json"),
    ];
    expect(documentIn(wide, configShowDocument).value).to.deep.equal({
      protected_servers: { pub: "https://pub.example.com/mcp" },
    });
    expect(documentIn(narrow, configShowDocument).file.path).to.equal(PROJECT);
    expectRefusal(await config("show", "--profile", "clerk"), /no configuration file at this scope/);
  });

  it("shows a file by the path that the list prints, and no other file [C6]", async () => {
    const { code, stdout } = await config("show", PROJECT);
    expect(code).to.equal(0);
    expect(stdout).to.include("timeout_seconds: 3");
    for (const path of ["usr/settings.json", "../x", join(root.path, GLOBAL)]) {
      expectRefusal(await config("show", path), /no such configuration file/);
    }
  });

  it("keeps what a file holds from breaking the terminal [C6]", async () => {
    const deep = JSON.parse(`${'{"a":'.repeat(60)}1${"}".repeat(60)}`) as unknown;
    root.writeConfig({ "\u001b[2J\u202e": { x: "\u009b".repeat(100) }, deep });
    const { code, stdout } = await config("show");
    expect(code).to.equal(1);
    expectFitForTerminal(stdout);
  });

  it("shows what is wrong with a file that is no JSON [C6]", async () => {
    root.writeConfig("{");
    const result = await config("show", "--json");
    const { file, value } = documentIn(result, configShowDocument);
    expect([result.code, file.valid, value]).to.deep.equal([1, false, null]);
    expect(file.errors[0]?.expected).to.include("not valid JSON");
  });

  it("removes one file with --yes, and says what decides in its place [C6]", async () => {
    const result = await config("remove", "--project", "shop", "--yes", "--json");
    expect(result.code).to.equal(0);
    expect(documentIn(result, configRemoveDocument)).to.deep.equal({
      ok: true,
      removed: PROJECT,
      decides_now: GLOBAL,
    });
    expect([existsSync(join(root.path, PROJECT)), existsSync(join(root.path, GLOBAL))]).to.deep.equal([
      false,
      true,
    ]);
  });

  it("removes nothing where nobody can be asked and nobody said --yes [C6]", async () => {
    expectRefusal(await config("remove", "--project", "shop"), /give --yes/);
    expect(existsSync(join(root.path, PROJECT))).to.equal(true);
  });

  it("removes nothing but a configuration file [C6]", async () => {
    expectRefusal(
      await config("remove", "usr/plugins/agent_guild_preflight/default_config.yaml", "--yes"),
      /no such configuration file/,
    );
    expect(existsSync(join(root.path, "usr/plugins/agent_guild_preflight/default_config.yaml"))).to.equal(
      true,
    );
  });

  it("has no editor [C6]", async () => {
    expectRefusal(await cli(["config", "set", "--root", root.path]), /./);
    expectRefusal(await cli(["config", "edit", "--root", root.path]), /./);
  });
});
