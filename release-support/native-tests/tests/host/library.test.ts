import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { expect } from "chai";

import { GatedHost } from "../../../fixtures/gated_host.ts";
import type { HostRoot } from "../../../fixtures/host_root.ts";
import { packageRoot } from "../../../packaging/package_root.ts";

const EXAMPLE = join(packageRoot, "release-support/examples/plugin-author");
const PLUGIN = join(EXAMPLE, "argument_limit");
const EXTENSION = "extensions/node/tool_execute_before/_40_argument_limit.mjs";

interface Ended {
  readonly code: number;
  readonly output: string;
}

/** Runs the example's test in a process of its own, which must end by itself. */
async function runExample(...args: readonly string[]): Promise<Ended> {
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [join(EXAMPLE, "test.mjs"), ...args]);
    return { code: 0, output: stdout };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, output: `${stdout}${stderr}` };
  }
}

describe("the host as a library", () => {
  const folders: string[] = [];

  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });

  /** A copy of the example's plugin, with another extension. */
  function pluginWith(extension: string): string {
    const folder = mkdtempSync(join(tmpdir(), "agent-guild-preflight-example-"));
    folders.push(folder);
    cpSync(PLUGIN, folder, { recursive: true });
    writeFileSync(join(folder, EXTENSION), extension);
    return folder;
  }

  it("lets a plugin author test a plugin of their own, in a process that ends by itself [H10]", async () => {
    const { code, output } = await runExample();
    expect(output).to.match(/^(?:ok: .+\n){7}$/);
    expect(code).to.equal(0);
  });

  it("fails the author's test when the plugin does nothing [H10]", async () => {
    const { code, output } = await runExample(pluginWith("export default class { execute() {} }"));
    expect(code).to.equal(1);
    expect(output).to.match(/Missing expected rejection/);
  });

  it("fails the author's test when the plugin cannot be loaded [H10, H3]", async () => {
    const { code, output } = await runExample(pluginWith("export default class {"));
    expect(code).to.equal(1);
    expect(output).to.match(/_40_argument_limit\.mjs cannot be loaded/);
  });

  it("asks of an author nothing but the package's public doors [H10]", () => {
    const source = readFileSync(join(EXAMPLE, "test.mjs"), "utf8");
    const imported = [...source.matchAll(/ from "([^"]+)";/g)].map(([, name = ""]) => name);
    expect(imported.filter((name) => !name.startsWith("node:"))).to.deep.equal([
      "agent-guild-preflight/host",
      "agent-guild-preflight/testing",
    ]);
    expect(readFileSync(join(PLUGIN, EXTENSION), "utf8")).to.not.match(/^\s*import\b/m);
  });

  it("has types at each of its doors [H10]", () => {
    const { exports } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as {
      readonly exports: Readonly<
        Record<string, string | { readonly types: string; readonly default: string }>
      >;
    };
    for (const door of ["./host", "./testing"]) {
      const entry = exports[door];
      expect(entry, door).to.be.an("object");
      if (typeof entry !== "object") continue;
      expect(existsSync(join(packageRoot, entry.types)), entry.types).to.equal(true);
      expect(existsSync(join(packageRoot, entry.default)), entry.default).to.equal(true);
    }
  });

  it("offers what the example's README names [H10]", async () => {
    const doors = ["agent-guild-preflight/host", "agent-guild-preflight/testing"];
    const modules = (await Promise.all(doors.map((door) => import(door)))) as Record<string, unknown>[];
    const offered = modules.flatMap((module) => Object.keys(module));
    expect(offered).to.include.members([
      "Agent",
      "AgentContext",
      "Host",
      "HandledException",
      "HostRoot",
      "InterventionException",
      "RepairableException",
      "dispatch",
      "exceptionKind",
      "monologue",
      "preflightBody",
      "startMcpServer",
      "startScriptedGuild",
    ]);
  });

  it("leaves nothing behind when a gated host cannot be opened [H10]", async () => {
    const problem = new Error("the author's mistake");
    const seen: { readonly root: HostRoot; readonly urls: readonly string[] }[] = [];
    const opening = GatedHost.open({
      prepare(root, { guildOrigin, urls }) {
        seen.push({ root, urls: [guildOrigin, ...Object.values(urls)] });
        throw problem;
      },
    });
    expect(await opening.catch((error: unknown) => error)).to.equal(problem);
    const [{ root, urls } = expect.fail("nothing was prepared")] = seen;
    expect(existsSync(root.path)).to.equal(false);
    for (const url of urls) {
      const refused = await fetch(url).catch((error: unknown) => (error as Error).cause);
      expect(refused).to.have.property("code", "ECONNREFUSED");
    }
  });
});
