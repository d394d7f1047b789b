import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { expect } from "chai";

import { DECISION_CHANNEL } from "../../../../helpers/decision/decision_channel.ts";
import type { DecisionEvent } from "../../../../helpers/decision/decision_event.ts";
import type { GatedHost } from "../../../fixtures/gated_host.ts";
import { protecting } from "../../../fixtures/gated_host.ts";
import { endpointDown, unsignedCard } from "../../../guild/preflight_bodies.ts";
import { gatedSuite } from "../gated_suite.ts";

const FILE = "usr/logs/decisions.jsonl";

describe("the decision log of a host", () => {
  const { open, openWith, closings } = gatedSuite();

  /** The events in the file, once there are as many. */
  async function logged({ root }: GatedHost, count: number, file = FILE): Promise<DecisionEvent[]> {
    const path = join(root.path, file);
    for (;;) {
      const text = existsSync(path) ? readFileSync(path, "utf8") : "";
      const lines = text.split("\n").slice(0, -1);
      if (lines.length >= count) return lines.map((line) => JSON.parse(line) as DecisionEvent);
      await delay(5);
    }
  }

  /** What the agent's chat log says of the decision log, once it says so. */
  async function problem({ agent }: GatedHost): Promise<string[]> {
    for (;;) {
      const items = agent.context.log.items.filter(({ content }) => content.includes("decision log"));
      if (items.length > 0) return items.map(({ type, content }) => `${type}: ${content}`);
      await delay(5);
    }
  }

  it("has a line for each decision: the very event of the channel [P9.5]", async () => {
    const host = await openWith({ decision_log: FILE, cache_ttl_seconds: 0 });
    const events: unknown[] = [];
    const listener = (event: unknown) => void events.push(event);
    subscribe(DECISION_CHANNEL, listener);
    closings.push(() => void unsubscribe(DECISION_CHANNEL, listener));
    await host.call();
    host.guild.answer("*", { kind: "json", body: endpointDown });
    await host.call();
    host.root.writeMcpServers({ mcpServers: {} });
    await host.call();
    const lines = await logged(host, events.length);
    expect(lines.map(({ reason }) => reason).slice(0, 2)).to.deep.equal(["not_denied", "do_not_delegate"]);
    expect(lines).to.deep.equal(events);
    expect(statSync(join(host.root.path, FILE)).mode & 0o777).to.equal(0o600);
  });

  it("has a denial over a configuration that is wrong elsewhere [P9.5]", async () => {
    const host = await openWith({ decision_log: FILE, timeout_seconds: "5" });
    expect((await host.call()).kind).to.equal("denied");
    const [{ reason, configuration } = expect.fail()] = await logged(host, 1);
    expect(reason).to.equal("configuration_invalid");
    expect(configuration?.errors.map(({ path }) => path)).to.deep.equal(["timeout_seconds"]);
  });

  it("takes the place that the configuration in force names at each call [P9.5]", async () => {
    const host = await openWith({ decision_log: FILE });
    await host.call();
    host.root.writeConfig(protecting(host.addresses, "pub_server", { decision_log: "other.jsonl" }));
    await host.call();
    host.root.writeConfig(protecting(host.addresses, "pub_server"));
    await host.call();
    expect(await logged(host, 1)).to.have.lengthOf(1);
    expect(await logged(host, 1, "other.jsonl")).to.have.lengthOf(1);
  });

  it("does not exist unless it is asked for [P9.5]", async () => {
    const host = await openWith({ decision_log: null });
    await host.call();
    expect(readdirSync(join(host.root.path, "usr"))).to.not.include("logs");
  });

  it("has every decision of many agents at once [P9.5]", async () => {
    const host = await openWith({ decision_log: FILE });
    const agents = Array.from({ length: 50 }, () => host.host.createContext().agent0);
    await Promise.all(agents.map((agent) => host.call(undefined, undefined, agent)));
    const lines = await logged(host, 50);
    expect(new Set(lines.map(({ id }) => id)).size).to.equal(50);
  });

  describe("that cannot be written", () => {
    const WAYS: Readonly<Record<string, (host: GatedHost) => void>> = {
      "since a file is in the way": ({ root }) => root.write("usr/logs", "in the way"),
      "since it is another kind of file": ({ root }) => root.write(FILE, "notes of somebody\n"),
      "since it leads out of the root": ({ root }) => symlinkSync(tmpdir(), join(root.path, "usr/logs")),
      "since it is a folder": ({ root }) => root.write(`${FILE}/x`, ""),
    };

    for (const [why, prevent] of Object.entries(WAYS)) {
      it(`${why} changes no decision and is reported once [P9.5]`, async () => {
        const host = await openWith({
          decision_log: FILE,
          cache_ttl_seconds: 0,
          policy: { on_caution: "deny" },
        });
        prevent(host);
        expect((await host.call()).kind).to.equal("ran");
        const [said, ...more] = await problem(host);
        expect(said).to.match(
          /^warning: The decision log cannot be written: [^/]+\. No decision depends on it\./,
        );
        host.guild.answer("*", { kind: "json", body: unsignedCard });
        const outcome = await host.call();
        expect(outcome.kind).to.equal("denied");
        expect(outcome).to.have.property("message").that.includes("(caution)").and.not.includes("log cannot");
        expect(more).to.deep.equal([]);
        expect(await problem(host)).to.have.lengthOf(1);
        expect(existsSync(join(tmpdir(), "decisions.jsonl"))).to.equal(false);
      });
    }
  });

  it("does not need to be removed with the plugin: its place lies with the operator [P1.6]", async () => {
    const host = await openWith({ decision_log: FILE });
    await host.call();
    await logged(host, 1);
    const plugin = join(host.root.path, "usr/plugins/agent_guild_preflight");
    expect(
      readdirSync(plugin, { recursive: true }).filter((name) => String(name).includes("jsonl")),
    ).to.deep.equal([]);
  });

  it("is refused outside of the root by the settings, before anything is written [P3.1]", async () => {
    const host = await open({
      config: (world) => protecting(world, "pub_server", { decision_log: "../x.jsonl" }),
    });
    const outcome = await host.call();
    expect(outcome)
      .to.have.property("message")
      .that.includes("- decision_log: expected the path of a file below");
    expect(existsSync(join(host.root.path, "../x.jsonl"))).to.equal(false);
  });
});
