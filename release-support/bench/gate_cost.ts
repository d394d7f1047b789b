import { Bench } from "tinybench";

import { readPreflightAnswer } from "../../helpers/preflight/preflight_contract.ts";
import { screenEndpoint } from "../../helpers/binding/endpoint_screen.ts";
import { GatedHost, protecting } from "../fixtures/gated_host.ts";
import { preflightBody } from "../guild/preflight_bodies.ts";

/**
 * What the gate costs a call, as ratios against the same host without the plugin in the same run. Prints a table; nothing
 * is asserted.
 */
export async function benchGateCost(): Promise<void> {
  const tools = { note: () => "noted" };
  const servers = {
    pub_server: { transport: "streamable_http" },
    open_server: { transport: "streamable_http" },
  } as const;
  const without = await GatedHost.open({ servers, tools, plugin: "missing", config: () => null });
  const unconfigured = await GatedHost.open({ servers, tools, config: () => null });
  const guarded = await GatedHost.open({
    servers,
    tools,
    config: (world) => protecting(world, "pub_server", { cache_ttl_seconds: 86_400 }),
  });
  const fresh = await GatedHost.open({
    servers,
    config: (world) => protecting(world, "pub_server", { cache_ttl_seconds: 0 }),
  });
  const hosts = [without, unconfigured, guarded, fresh];
  try {
    await report("local tool", [
      ["no plugin", () => without.call("note")],
      ["plugin, unconfigured", () => unconfigured.call("note")],
      ["plugin, configured", () => guarded.call("note")],
    ]);
    await report("MCP tool", [
      ["no plugin", () => without.call("open_server.echo")],
      ["plugin, unconfigured", () => unconfigured.call("open_server.echo")],
      ["unprotected server", () => guarded.call("open_server.echo")],
      ["protected, cached observation", () => guarded.call("pub_server.echo")],
      ["protected, fresh preflight", () => fresh.call("pub_server.echo")],
    ]);
    const url = "https://pub.example.com/mcp";
    const body = Buffer.from(JSON.stringify(preflightBody(url)));
    await report("pure steps", [
      ["JSON.parse of an answer", () => JSON.parse(body.toString()) as unknown],
      ["contract reading of the same answer", () => readPreflightAnswer(body, url)],
      ["endpoint screen", () => screenEndpoint(url)],
    ]);
  } finally {
    await Promise.all(hosts.map((host) => host.close()));
  }
}

type Case = readonly [name: string, run: () => unknown];

async function measured(cases: readonly Case[], ms: number): Promise<Bench> {
  const bench = new Bench({ time: ms, warmupTime: 100 });
  for (const [name, run] of cases) bench.add(name, run);
  await bench.run();
  return bench;
}

async function report(title: string, cases: readonly Case[]): Promise<void> {
  // Whoever comes first would else pay for compiling what all of them run.
  await measured(cases, 300);
  const bench = await measured(cases, 500);
  const medians = bench.tasks.map(({ name, result }) => ({
    name,
    ms: "latency" in result ? result.latency.p50 : Number.NaN,
  }));
  const baseline = medians[0]?.ms ?? Number.NaN;
  console.log(`\n${title}`);
  for (const { name, ms } of medians) {
    console.log(
      `  ${name.padEnd(38)} ${(ms * 1000).toFixed(1).padStart(9)} us  x ${(ms / baseline).toFixed(2)}`,
    );
  }
}
