import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect } from "chai";

import { HostRoot } from "../../../fixtures/host_root.ts";
import { cli, collect, expectFitForTerminal, expectRefusal, startCli } from "./support.ts";

/** Command lines that cannot run, and what the one line about them says. */
const REFUSED: readonly (readonly [name: string, args: readonly string[], words: RegExp, rule: string])[] = [
  ["no command", [], /a command is missing/, "C1"],
  ["an unknown command", ["bogus"], /no such command/, "C1"],
  ["an unknown flag of demo", ["demo", "--jsn"], /unknown option '--jsn' \(Did you mean --json\?\)/, "C1"],
  ["an argument too many", ["demo", "again"], /too many arguments/, "C1"],
  ["a report in a folder that is not there", ["demo", "--report", "no/such/page.html"], /--report/, "C1"],
  ["run without a root", ["run", "--script", "x"], /--root/, "C2"],
  ["run without a script", ["run", "--root", "x"], /--script/, "C2"],
  ["run in a root that is not there", ["run", "--root", "no/such", "--script", "x"], /no such folder/, "C2"],
  ["check without a URL", ["check"], /missing required argument 'url'/, "C3"],
  [
    "check with a policy that is none",
    ["check", "https://a.b/mcp", "--on-caution", "maybe"],
    /allow or deny/,
    "C3",
  ],
  [
    "check with a deadline that is none",
    ["check", "https://a.b/mcp", "--timeout", "soon"],
    /--timeout/,
    "C3",
  ],
  [
    "check with a check that is none",
    ["check", "https://a.b/mcp", "--required-proven", "x"],
    /--required/,
    "C3",
  ],
  ["check with a Guild elsewhere", ["check", "https://a.b/mcp", "--guild", "http://a.b"], /--guild/, "C3"],
  ["check with a project but no root", ["check", "https://a.b/mcp", "--project", "x"], /need --root/, "C3"],
  ["doctor with an unknown flag", ["doctor", "--root", ".", "--fix"], /unknown option '--fix'/, "C4"],
  ["doctor in a root that is not there", ["doctor", "--root", "no/such"], /no such folder/, "C4"],
  ["guild without a port", ["guild"], /--port/, "C5"],
  ["guild with a port that is none", ["guild", "--port", "70000"], /0 to 65535/, "C5"],
  [
    "guild with a registry that is not there",
    ["guild", "--port", "0", "--registry", "no"],
    /--registry/,
    "C5",
  ],
  ["config without a part", ["config"], /list, show or remove/, "C6"],
  [
    "config list in a root that is not there",
    ["config", "list", "--root", "no/such"],
    /no such folder/,
    "C6",
  ],
];

const COMMANDS = [
  ["demo"],
  ["run"],
  ["check"],
  ["doctor"],
  ["guild"],
  ["config"],
  ["config", "list"],
  ["config", "show"],
  ["config", "remove"],
];

describe("the command line", () => {
  for (const [name, args, words, rule] of REFUSED) {
    it(`answers ${name} with exit code 2 and one line [${rule}]`, async () => {
      expectRefusal(await cli(args), words);
    });
  }

  it("refuses a folder that is no host root [C2]", async () => {
    const folder = mkdtempSync(join(tmpdir(), "no-root-"));
    try {
      expectRefusal(await cli(["run", "--root", folder, "--script", "x"]), /neither usr\/ nor plugins\//);
      expectRefusal(await cli(["doctor", "--root", folder]), /neither usr\/ nor plugins\//);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("refuses a project that the root does not have, and names that lead elsewhere [C4]", async () => {
    const root = new HostRoot();
    try {
      root.write("usr/settings.json", {});
      expectRefusal(await cli(["doctor", "--root", root.path, "--project", "none"]), /--project/);
      expectRefusal(await cli(["doctor", "--root", root.path, "--project", "../x"]), /--project/);
      expectRefusal(await cli(["doctor", "--root", root.path, "--profile", "a/b"]), /--profile/);
    } finally {
      root.remove();
    }
  });

  it("repeats neither a value nor a URL that was typed [C3]", async () => {
    const runs = await Promise.all([
      cli(["https://user:secret@mcp.example.com/mcp"]),
      cli(["check", "https://mcp.example.com/mcp", "--tokn=secret"]),
      cli(["check", "https://mcp.example.com/secret", "--timeout", "secret"]),
      cli(["check", "https://mcp.example.com/secret", "https://mcp.example.com/secret"]),
    ]);
    for (const run of runs) {
      expectRefusal(run, /./);
      expect(run.stderr).to.not.include("secret");
    }
  });

  it("keeps control characters of its arguments off the terminal [C2]", async () => {
    const run = await cli(["demo", "--\u001b[2Jx"]);
    expectRefusal(run, /unknown option/);
    expect(run.stderr).to.not.include("\u001b");
  });

  describe("met by a mistake of its own", () => {
    // What reads the version cannot be loaded any more: nothing that a user does comes to this.
    const broken = {
      NODE_OPTIONS: "--import data:text/javascript,JSON.parse=()=>{throw(new(RangeError)('hidden'))}",
    };

    it("says so in one line, with exit code 2 [C2]", async () => {
      const { code, stdout, stderr } = await cli(["--version"], broken);
      expect({ code, stdout }).to.deep.equal({ code: 2, stdout: "" });
      expect(stderr).to.match(/^agent-guild-preflight: .+\(RangeError\); AGENT_GUILD_DEBUG=1 shows where\n$/);
    });

    it("shows the stack where that is asked for, with the same exit code [C2]", async () => {
      const { code, stderr } = await cli(["--version"], { ...broken, AGENT_GUILD_DEBUG: "1" });
      expect(code).to.equal(2);
      expect(stderr).to.contain("RangeError: hidden\n    at ");
    });
  });

  it("prints its version [C1]", async () => {
    const { code, stdout } = await cli(["--version"]);
    expect(code).to.equal(0);
    expect(stdout).to.match(/^\d+\.\d+\.\d+\n$/);
  });

  it("lists its commands with --help, within 80 columns [C1]", async () => {
    const { code, stdout } = await cli(["--help"]);
    expect(code).to.equal(0);
    for (const command of ["demo", "run", "check", "doctor", "guild", "config"]) {
      expect(stdout).to.match(new RegExp(`^  ${command}\\b`, "m"));
    }
    expectFitForTerminal(stdout);
  });

  for (const command of COMMANDS) {
    it(`explains ${command.join(" ")} with examples, within 80 columns [C1]`, async () => {
      const { code, stdout, stderr } = await cli([...command, "--help"]);
      expect(code).to.equal(0);
      expect(stderr).to.equal("");
      expect(stdout).to.include(`Examples:\n  agent-guild-preflight ${command.join(" ")}`);
      expectFitForTerminal(stdout);
    });
  }

  it("goes on quietly to its end when its reader goes away [C1]", async () => {
    const child = startCli(["demo"]);
    const stderr = collect(child.stderr);
    child.stdout.once("data", () => child.stdout.destroy());
    const [code] = (await once(child, "close")) as [number | null];
    expect(code).to.equal(0);
    expect(stderr()).to.match(/^(?:[A-Z][A-Za-z, ]+ \.\.\.\n)*$/);
  });
});
