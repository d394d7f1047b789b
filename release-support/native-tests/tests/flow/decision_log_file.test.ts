import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { expect } from "chai";

import { DecisionLog, LOG_LIMITS } from "../../../../helpers/decision/decision_log.ts";
import type { LogLimits } from "../../../../helpers/decision/decision_log.ts";
import { logFiles } from "../../../../helpers/decision/log_file.ts";
import { HostRoot } from "../../../fixtures/host_root.ts";
import type { LoggingTask } from "../../children/logging_child.ts";

const FILE = "logs/decisions.jsonl";
const CHILD = fileURLToPath(new URL("../../children/logging_child.js", import.meta.url));
const run = promisify(execFile);

/** The limits with some of them changed. */
function limits(change: Partial<LogLimits>): LogLimits {
  return { ...LOG_LIMITS, ...change };
}

describe("the file of a decision log", () => {
  let root: HostRoot;
  let problems: string[];

  beforeEach(() => {
    root = new HostRoot();
    problems = [];
  });

  afterEach(() => root.remove());

  const place = (file = FILE) => ({ root: root.path, file });
  const path = (file = FILE) => join(root.path, file);
  const report = (problem: string) => void problems.push(problem);
  const line = (id: unknown, filling = "x".repeat(200)) => JSON.stringify({ v: 1, id, filling });

  /** The lines of all files of the log that are whole, parsed. */
  function linesIn(file = FILE): { readonly id?: string | number; readonly lost?: number }[] {
    return logFiles(place(file)).flatMap((one) =>
      readFileSync(one, "utf8")
        .split("\n")
        .filter((text) => text.endsWith("}"))
        .map((text) => JSON.parse(text) as { id: string }),
    );
  }

  /** Writes lines before it returns. */
  function write(log: DecisionLog, ...ids: unknown[]): void {
    for (const id of ids) log.append(line(id), report);
    log.finish();
  }

  async function child(task: Partial<LoggingTask>, shell?: string): Promise<string> {
    const whole: LoggingTask = { ...place(), name: "a", lines: 10, atOnce: 10, ending: "end", ...task };
    const args = [CHILD, JSON.stringify(whole)];
    const ended =
      shell === undefined
        ? run(process.execPath, args)
        : run("/bin/sh", ["-c", `${shell}; exec "$@"`, "sh", process.execPath, ...args]);
    return (await ended.catch((error: unknown) => error as { stdout: string })).stdout;
  }

  it("is made with its folders, and is its owner's alone [P9.5]", () => {
    write(new DecisionLog(place()), 1, 2);
    expect(linesIn().map(({ id }) => id)).to.deep.equal([1, 2]);
    expect(statSync(path()).mode & 0o777).to.equal(0o600);
    expect(statSync(join(path(), "..")).mode & 0o777).to.equal(0o700);
    expect(problems).to.deep.equal([]);
  });

  it("is written behind the back of whoever appends [P9.5]", async () => {
    const log = new DecisionLog(place(), limits({ gatherMs: 1 }));
    log.append(line(1), report);
    expect(existsSync(path()), "at once").to.equal(false);
    while (!existsSync(path()) || linesIn().length < 1) await delay(2);
  });

  it("goes on behind what an earlier process left, also behind a line that broke off [P9.5]", () => {
    write(new DecisionLog(place()), 1);
    root.write(FILE, `${readFileSync(path(), "utf8")}{"v":1,"id":"brok`);
    write(new DecisionLog(place()), 2);
    expect(readFileSync(path(), "utf8").split("\n")).to.deep.equal([
      line(1),
      '{"v":1,"id":"brok',
      line(2),
      "",
    ]);
  });

  it("keeps the permissions that the operator gave it [P9.5]", () => {
    root.write(FILE, "");
    const mode = statSync(path()).mode;
    write(new DecisionLog(place()), 1);
    expect(statSync(path()).mode).to.equal(mode);
  });

  describe("that leads out of the root", () => {
    let outside: string;

    beforeEach(() => {
      outside = mkdtempSync(join(tmpdir(), "agent-guild-preflight-outside-"));
    });

    afterEach(() => rmSync(outside, { recursive: true }));

    const WAYS: Readonly<Record<string, () => void>> = {
      "by a link in the place of its folder": () => symlinkSync(outside, path("logs")),
      "by a link further up": () => {
        symlinkSync(outside, path("linked"));
        symlinkSync("linked", path("logs"));
      },
      "by a link in its own place": () => {
        mkdirSync(path("logs"));
        symlinkSync(join(outside, "stolen.jsonl"), path());
      },
      "by a link in its own place to a file that exists": () => {
        mkdirSync(path("logs"));
        root.write("../outside.txt", "");
        symlinkSync(path("../outside.txt"), path());
      },
    };

    for (const [way, prepare] of Object.entries(WAYS)) {
      it(`${way} is not written, nor is anything made there [P9.5]`, () => {
        prepare();
        write(new DecisionLog(place()), 1);
        expect(problems).to.have.lengthOf(1);
        write(new DecisionLog(place("logs/deep/er/x.jsonl")), 1);
        expect(existsSync(join(outside, "stolen.jsonl"))).to.equal(false);
        expect(existsSync(join(outside, "deep"))).to.equal(false);
        const neighbour = path("../outside.txt");
        expect(existsSync(neighbour) ? readFileSync(neighbour, "utf8") : "").to.equal("");
        rmSync(neighbour, { force: true });
      });
    }

    it("is not read either [P9.5]", () => {
      root.write("x", "");
      symlinkSync(outside, path("logs"));
      expect(() => logFiles(place())).to.throw("it leads out of the host root");
    });
  });

  it("may be reached by a link that stays inside [P9.5]", () => {
    mkdirSync(path("real"));
    symlinkSync("real", path("logs"));
    symlinkSync("real.jsonl", path("real/decisions.jsonl"));
    root.write("real/real.jsonl", "");
    write(new DecisionLog(place()), 1);
    expect(linesIn().map(({ id }) => id)).to.deep.equal([1]);
    expect(readFileSync(path("real/real.jsonl"), "utf8")).to.equal(`${line(1)}\n`);
  });

  it("is no other file, which stays as it is [P9.5]", () => {
    for (const content of ['{"protected_servers":{}}', "plain text\n", "{", '{"v']) {
      problems = [];
      root.write("usr/other", content);
      write(new DecisionLog(place("usr/other")), 1);
      const isBroken = '{"v":'.startsWith(content);
      expect(problems).to.deep.equal(isBroken ? [] : ["there is a file that is no decision log"]);
      if (!isBroken) expect(readFileSync(path("usr/other"), "utf8")).to.equal(content);
    }
  });

  it("is neither a folder nor a pipe nor below a file, and nobody waits for one [P9.5]", async () => {
    mkdirSync(path("folder"));
    root.write("file", "");
    await run("mkfifo", [path("pipe")]);
    for (const file of ["folder", "pipe", "file/below"]) write(new DecisionLog(place(file)), 1);
    expect(problems).to.have.members(["EISDIR", "it is not a regular file", "ENOTDIR"]);
  });

  describe("as it grows", () => {
    const bounds = { file: 10_000, total: 40_000 };

    it("stays within its bounds, and loses only the oldest lines [P9.5]", () => {
      const log = new DecisionLog(place(), limits({ bounds }));
      for (let id = 0; id < 600; id += 1) write(log, id);
      const sizes = logFiles(place()).map((file) => statSync(file).size);
      expect(Math.max(...sizes)).to.be.at.most(bounds.file);
      expect(sizes.reduce((sum, size) => sum + size, 0)).to.be.within(bounds.total / 2, bounds.total);
      const ids = linesIn().map(({ id }) => id);
      expect(ids).to.deep.equal(Array.from({ length: ids.length }, (_, index) => 600 - ids.length + index));
      expect(problems).to.deep.equal([]);
    });

    it("sets files aside with the same permissions [P9.5]", () => {
      const log = new DecisionLog(place(), limits({ bounds }));
      for (let id = 0; id < 60; id += 1) write(log, id);
      const files = logFiles(place());
      expect(files.length).to.be.above(1);
      for (const file of files) expect(statSync(file).mode & 0o777).to.equal(0o600);
    });

    it("leaves files alone whose names are only similar [P9.5]", () => {
      const similar = ["logs/decisions.jsonl.1", "logs/decisions.jsonl.bak", "logs/decisions.jsonl2"];
      for (const file of similar) root.write(file, "mine");
      const log = new DecisionLog(place(), limits({ bounds: { file: 1000, total: 1000 } }));
      for (let id = 0; id < 30; id += 1) write(log, id);
      for (const file of similar) expect(readFileSync(path(file), "utf8")).to.equal("mine");
    });

    it("loses no line of several processes that write and set aside at once [P9.5]", async () => {
      const task = {
        lines: 1500,
        atOnce: 7,
        limits: limits({ bounds: { file: 20_000, total: 1e9 }, gatherMs: 1 }),
      };
      const names = ["a", "b", "c"];
      expect(await Promise.all(names.map((name) => child({ ...task, name })))).to.deep.equal(["", "", ""]);
      const ids = linesIn().map(({ id }) => id);
      expect(logFiles(place()).length).to.be.above(10);
      expect(new Set(ids).size).to.equal(4500);
      expect(ids).to.have.lengthOf(4500);
    }).timeout(30_000);
  });

  describe("when the process ends", () => {
    for (const ending of ["exit", "throw", "end"] as const) {
      it(`has every line, the process ending by ${ending} [P9.5]`, async () => {
        await child({ lines: 5, ending });
        expect(linesIn().map(({ id }) => id)).to.deep.equal(["a-0", "a-1", "a-2", "a-3", "a-4"]);
      });
    }

    it("has every line once, though some are just being written [P9.5]", async () => {
      for (let round = 0; round < 5; round += 1) {
        const file = `logs/${round}.jsonl`;
        await child({ file, lines: 400, atOnce: 3, ending: "exit", limits: limits({ gatherMs: 0 }) });
        expect(linesIn(file)).to.have.lengthOf(400);
      }
    }).timeout(20_000);
  });

  it("has every line of a process that gives the event loop no turn [P9.5]", () => {
    const log = new DecisionLog(place(), limits({ waiting: 10_000 }));
    for (let id = 0; id < 2000; id += 1) log.append(line(id), report);
    log.finish();
    expect(linesIn().map(({ id }) => id)).to.deep.equal(Array.from({ length: 2000 }, (_, id) => id));
  });

  describe("that cannot be written", () => {
    it("is reported once, counted where there is no room to wait, and goes on once it can be [P9.5]", () => {
      root.write("logs", "in the way");
      const log = new DecisionLog(place(), limits({ waiting: 2500 }));
      for (let id = 0; id < 30; id += 1) write(log, id);
      expect(problems).to.deep.equal(["ENOTDIR"]);
      root.delete("logs");
      write(log, 30);
      const lines = linesIn();
      const kept = lines.filter(({ id }) => id !== undefined).map(({ id }) => id);
      const lost = lines.map((one) => one.lost ?? 0).reduce((sum, count) => sum + count, 0);
      expect(kept.slice(0, 10)).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      expect(lost).to.be.above(0);
      expect(kept.length + lost).to.equal(31);
      write(log, 31);
      root.delete("logs");
      root.write("logs", "in the way again");
      write(log, 32);
      expect(problems).to.deep.equal(["ENOTDIR"]);
    });

    it("is tried again by itself [P9.5]", async () => {
      root.write("logs", "in the way");
      const log = new DecisionLog(place(), limits({ gatherMs: 1, retryMs: 1 }));
      log.append(line(1), report);
      while (problems.length === 0) await delay(2);
      root.delete("logs");
      while (!existsSync(path()) || linesIn().length < 1) await delay(2);
    });

    it("does not mind a host whose own log fails [P9.5]", () => {
      root.write("logs", "in the way");
      const log = new DecisionLog(place());
      log.append(line(1), () => {
        throw new Error("no chat log");
      });
      expect(() => log.finish()).to.not.throw();
    });

    it("because the disk is full has whole lines as far as they fit, and is reported once [P9.5]", async () => {
      // No more than 8 blocks of 512 bytes to a file: as on a full disk, a write is cut short, and the next one fails.
      const full = "trap '' XFSZ; ulimit -f 8";
      expect(await child({ lines: 40, atOnce: 1, limits: limits({ gatherMs: 0 }) }, full)).to.match(
        /^(?:EFBIG|there is no room for whole lines)\n$/,
      );
      const lines = readFileSync(path(), "utf8").split("\n");
      const whole = lines.filter((text) => text.endsWith("}"));
      expect(statSync(path()).size).to.equal(4096);
      expect(whole.length).to.be.above(10);
      expect(lines.length - whole.length).to.equal(1);

      write(new DecisionLog(place()), "later");
      expect(linesIn().at(-1)?.id).to.equal("later");
    });
  });
});
