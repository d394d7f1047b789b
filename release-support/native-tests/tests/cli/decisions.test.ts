import { appendFileSync, readFileSync, renameSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect } from "chai";

import { REASONS } from "../../../../helpers/decision/decision.ts";
import { decisionLine, decisionsDocument } from "../../../cli/output_schemas.ts";
import type { DecisionLine } from "../../../cli/output_schemas.ts";
import { GatedHost, protecting } from "../../../fixtures/gated_host.ts";
import { HostRoot } from "../../../fixtures/host_root.ts";
import { endpointDown } from "../../../guild/preflight_bodies.ts";
import {
  cli,
  collect,
  documentIn,
  expectFitForTerminal,
  expectRefusal,
  startCli,
  untilWritten,
} from "./support.ts";

const FILE = "usr/decisions.jsonl";
const HOSTILE = "\u001b[2J\u202e<script>";

/** A decision as the gate writes it; the number tells one from another. */
function line(number: number, change: Partial<DecisionLine> = {}): DecisionLine {
  return {
    v: 1,
    id: number.toString(16).padStart(12, "a"),
    decided_at: new Date(Date.UTC(2026, 0, 1) + number * 1000).toISOString(),
    took_ms: 12.5,
    decision: "deny",
    reason: "url_mismatch",
    project: null,
    profile: null,
    server: "pub_server",
    tool: "search",
    endpoint: "https://pub.example.com/...",
    policy: {
      required_proven: ["endpoint_reachable", "protocol_handshake"],
      tolerate_unknown_required: false,
      on_caution: "allow",
      on_unavailable: "deny",
    },
    evidence: null,
    configuration: null,
    ...change,
  };
}

const EVIDENCE: DecisionLine["evidence"] = {
  guild_origin: "http://127.0.0.1:1",
  verdict: "do_not_delegate",
  statuses: {
    endpoint_reachable: "failed",
    protocol_handshake: "unknown",
    agent_card_resolves: "unknown",
    agent_card_signed: "unknown",
    payment_claim_holds: "unknown",
    independent_evidence: "unknown",
  },
  unlisted: 0,
  observed_at: "2026-01-01T00:00:00.000Z",
  cached: false,
  age_seconds: 0,
  error: null,
};

describe("the command decisions", () => {
  let root: HostRoot;

  beforeEach(() => {
    root = new HostRoot();
    root.installPlugin();
    root.writeConfig({ decision_log: FILE });
  });

  afterEach(() => root.remove());

  const decisions = (...more: string[]) => cli(["decisions", "--root", root.path, ...more]);
  const text = (...lines: unknown[]) => lines.map((one) => `${JSON.stringify(one)}\n`).join("");
  const write = (...lines: unknown[]) => root.write(FILE, text(...lines));

  it("shows what a real gate decided, and explains one of it by id or time", async () => {
    const world = await GatedHost.open({
      config: (addresses) =>
        protecting(addresses, "pub_server", { decision_log: FILE, cache_ttl_seconds: 0 }),
    });
    try {
      await world.host.close();
      const script = world.root.write("script.json", [
        { tool_calls: [{ name: "pub_server.search", arguments: { text: "x" } }] },
      ]);
      const run = () => cli(["run", "--root", world.root.path, "--script", script]);
      await run();
      world.guild.answer("*", { kind: "json", body: endpointDown });
      await run();
      const args = ["decisions", "--root", world.root.path];
      const document = documentIn(await cli([...args, "--json"]), decisionsDocument);
      expect(document.decisions.map(({ reason }) => reason)).to.deep.equal(["not_denied", "do_not_delegate"]);
      expect(document).to.include({ ok: true, file: FILE, lost: 0, unreadable: 0 });

      const { id, decided_at: time } = document.decisions[1] ?? expect.fail();
      const byId = await cli([...args, "--why", id.slice(0, 8)]);
      const byTime = await cli([...args, "--why", time]);
      expect(byId.code).to.equal(0);
      expect(byId.stdout).to.equal(byTime.stdout);
      expect(byId.stdout).to.match(/do_not_delegate: the verdict is do_not_delegate/);
      expect(byId.stdout).to.match(/endpoint_reachable +failed +required/);
      expect(byId.stdout).to.match(/endpoint http:\/\/127\.0\.0\.1:\d+\/\.\.\./);
      expect(byId.stdout).to.match(/What to do: /);
      const lines = readFileSync(join(world.root.path, FILE), "utf8").trimEnd().split("\n");
      expect(lines.map((one) => decisionLine.parse(JSON.parse(one)))).to.deep.equal(document.decisions);
      expectFitForTerminal(byId.stdout);
    } finally {
      await world.close();
    }
  });

  it("shows the newest last, whoever wrote first, and files that were set aside too", async () => {
    write(line(5), line(4));
    root.write(`${FILE}.20260101T000000000Z-0a1b2c`, text(line(2), line(3)));
    root.write(`${FILE}.20251231T000000000Z-ffffff`, text(line(1)));
    root.write(`${FILE}.bak`, text(line(9)));
    const { decisions: shown } = documentIn(await decisions("--json"), decisionsDocument);
    expect(shown.map(({ id }) => id)).to.deep.equal([1, 2, 3, 4, 5].map((number) => line(number).id));
    const last = documentIn(await decisions("--json", "--last", "2"), decisionsDocument);
    expect(last.decisions.map(({ id }) => id)).to.deep.equal([line(4).id, line(5).id]);
  });

  it("leaves out a last line that is still being written, and a decision told twice", async () => {
    root.write(FILE, `${text(line(1), line(1), line(2))}${JSON.stringify(line(3)).slice(0, 40)}`);
    const result = await decisions("--json");
    const document = documentIn(result, decisionsDocument);
    expect(document.decisions.map(({ id }) => id)).to.deep.equal([line(1).id, line(2).id]);
    expect([result.code, document.ok, document.unreadable]).to.deep.equal([0, true, 0]);
  });

  it("says how many decisions are missing and how many lines are none, and ends with 1", async () => {
    const lost = { v: 1, lost: 7, from: line(1).decided_at, to: line(2).decided_at };
    write(line(1), lost, { ...line(3), v: 2 }, "text", { ...line(4), more: HOSTILE }, line(5));
    const json = await decisions("--json");
    expect(json.code).to.equal(1);
    expect(documentIn(json, decisionsDocument)).to.include({ ok: false, lost: 7, unreadable: 3 });
    const { stderr, stdout } = await decisions();
    expect(stderr)
      .to.match(/7 decisions could not be written/)
      .and.match(/3 lines could not be read/);
    expect(stdout).to.match(/2 decisions, 2 of them denials/);
  });

  it("is fit for a terminal, whatever the file holds", async () => {
    write(
      line(1, { server: HOSTILE, tool: HOSTILE.repeat(30), project: HOSTILE, profile: HOSTILE }),
      line(2, { endpoint: `https://${HOSTILE}`, evidence: EVIDENCE }),
      line(3, {
        reason: "configuration_invalid",
        policy: null,
        configuration: { where: HOSTILE, errors: [{ path: HOSTILE, expected: HOSTILE }], more: 3 },
      }),
    );
    for (const args of [[], ["--why", "a"]]) {
      const { stdout, stderr } = await decisions(...args);
      expect(stderr).to.equal("");
      expectFitForTerminal(stdout);
    }
  });

  it("has words for every reason and advice for every denial", async () => {
    write(...REASONS.map((reason, number) => line(number, { reason })));
    const { stdout } = await decisions("--why", "a");
    for (const reason of REASONS) expect(stdout).to.match(new RegExp(`  ${reason}: \\w`));
    expect(stdout.match(/What to do: \w/g)).to.have.lengthOf(REASONS.length);
  });

  it("reads the log of the scope that is named, and says where it looked if there is none", async () => {
    root.write("usr/projects/shop/.a0proj/project.json", {});
    root.writeConfig({ decision_log: "usr/shop.jsonl" }, { project: "shop" });
    root.write("usr/shop.jsonl", text(line(1)));
    const shop = documentIn(await decisions("--project", "shop", "--json"), decisionsDocument);
    expect([shop.file, shop.decisions.length]).to.deep.equal(["usr/shop.jsonl", 1]);

    root.writeConfig({});
    expectRefusal(
      await decisions(),
      /usr\/plugins\/agent_guild_preflight\/config\.json counts here and names no/,
    );
  });

  it("finds the log of a configuration that is wrong elsewhere", async () => {
    write(line(1));
    root.writeConfig({ decision_log: FILE, timeout_seconds: "5" });
    expect(documentIn(await decisions("--json"), decisionsDocument).decisions).to.have.lengthOf(1);
  });

  it("shows nothing of a log that does not exist yet, and that is no mistake", async () => {
    const result = await decisions();
    expect(result).to.include({ code: 0, stderr: "" });
    expect(result.stdout).to.match(/^Nothing was decided yet/);
  });

  it("cannot run where the log leads out of the root, no decision is meant, or flags contradict", async () => {
    write(line(1));
    expectRefusal(await decisions("--why", "ffff"), /no decision of this id or time/);
    expectRefusal(await decisions("--why="), /no decision of this id or time/);
    expectRefusal(await decisions("--why", "a", "--follow"), /exclude each other/);
    for (const count of ["0", "1.5"]) expectRefusal(await decisions("--last", count), /--last: a whole/);
    symlinkSync(tmpdir(), join(root.path, "out"));
    root.writeConfig({ decision_log: "out/x.jsonl" });
    expectRefusal(await decisions(), /it leads out of the host root/);
  }).timeout(30_000);

  it("follows what is decided, also when the file is set aside, until it is interrupted", async () => {
    write(line(1), line(2));
    const child = startCli(["decisions", "--root", root.path, "--follow", "--json", "--last", "1"]);
    const stdout = collect(child.stdout);
    const id = (number: number) => `"id":"${line(number).id}"`;
    try {
      await untilWritten(child.stdout, stdout, id(2));
      const file = join(root.path, FILE);
      appendFileSync(file, text(line(3)));
      await untilWritten(child.stdout, stdout, id(3));
      appendFileSync(file, JSON.stringify(line(4)));
      renameSync(file, `${file}.20260101T000000000Z-0a1b2c`);
      root.write(FILE, text(line(5)));
      await untilWritten(child.stdout, stdout, id(5));
      appendFileSync(`${file}.20260101T000000000Z-0a1b2c`, "\n");
      await untilWritten(child.stdout, stdout, id(4));
    } finally {
      child.kill("SIGINT");
    }
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect(code).to.equal(0);
    const lines = stdout()
      .trimEnd()
      .split("\n")
      .map((one) => decisionLine.parse(JSON.parse(one)));
    expect(lines.map((one) => one.id)).to.deep.equal([2, 3, 5, 4].map((number) => line(number).id));
  });
});
