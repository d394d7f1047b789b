import { mkdtempSync, existsSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { expect } from "chai";

import { HostRoot } from "../../../fixtures/host_root.ts";
import { cli } from "./support.ts";

const TRAP = pathToFileURL(join(import.meta.dirname, "no_network.js")).href;

describe("the command doctor without --live", () => {
  let root: HostRoot;
  let folder: string;
  let log: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "reached-out-"));
    log = join(folder, "log");
    root = new HostRoot();
    root.installPlugin();
    root.writeMcpServers({
      mcpServers: {
        pub: { url: "https://pub.example.com/mcp", type: "streamable-http" },
        files: { command: process.execPath, args: ["-e", "0"] },
      },
    });
    root.writeConfig({ protected_servers: { pub: "https://pub.example.com/mcp" } });
  });

  afterEach(() => {
    root.remove();
    rmSync(folder, { recursive: true });
  });

  const trapped = (args: readonly string[]) =>
    cli(args, { NODE_OPTIONS: `--import=${TRAP}`, REACHED_OUT: log });
  const reachedOut = () => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []);

  it("makes no connection, looks up no name and starts no server [C4]", async () => {
    for (const more of [[], ["--json"]]) {
      const { code, stderr } = await trapped(["doctor", "--root", root.path, ...more]);
      expect([code, reachedOut()]).to.deep.equal([0, []]);
      expect(stderr).to.match(/^(?:Examining the root \.\.\.\n)?$/);
    }
  });

  it("would be caught if it did: --live is [C4]", async () => {
    await trapped(["doctor", "--root", root.path, "--live"]);
    expect(reachedOut()).to.not.deep.equal([]);
  });
});
