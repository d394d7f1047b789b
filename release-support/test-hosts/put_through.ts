import type { HostDriver } from "./host_driver.ts";
import { packageRoot } from "../packaging/package_root.ts";
import { judge } from "./scenario.ts";
import type { Scenario } from "./scenario.ts";
import { LAST_WORDS, ScriptedModel } from "./scripted_model.ts";
import { HostWorld } from "./world.ts";

/** What became of one host in one scenario. */
export interface Cell {
  readonly host: string;
  /** The host's own package and its version. */
  readonly version: string;
  readonly scenario: string;
  readonly outcome: "passed" | "failed" | "not testable";
  /** What is wrong, or why it cannot be tried. */
  readonly problems: readonly string[];
  readonly ms: number;
}

/** Where things are installed. */
export interface Places {
  /** The host's packages. */
  readonly installed: string;
  /** A copy of this package whose gate breaks. */
  readonly broken: string;
}

/** Runs one host through one scenario, in a world of its own. */
export async function putThrough(host: HostDriver, scenario: Scenario, places: Places): Promise<Cell> {
  const cell = { host: host.name, version: versionOf(host), scenario: scenario.name };
  const reason = host.notTestable?.[scenario.name];
  if (reason !== undefined) return { ...cell, outcome: "not testable", problems: [reason], ms: 0 };
  const begin = performance.now();
  const problems = await run(host, scenario, places);
  const outcome = problems.length === 0 ? "passed" : "failed";
  return { ...cell, outcome, problems, ms: Math.round(performance.now() - begin) };
}

async function run(host: HostDriver, scenario: Scenario, { installed, broken }: Places): Promise<string[]> {
  const world = await HostWorld.open();
  const call = host.call(scenario.secondDoor ?? false);
  const calls = Array.from({ length: scenario.many === true ? host.many : 1 }, () => call);
  const shutTheDoor = () => {
    if (scenario.doorShuts === true) world.door.welcome = "silence";
  };
  const model = host.model === null ? null : await ScriptedModel.open(host.model, calls, shutTheDoor);
  try {
    const { exitCode, output, results } = await host.run({
      scenario,
      world,
      settings: world.settings(scenario.settings?.(world)),
      installed,
      plugin: scenario.broken === true ? broken : packageRoot,
      modelOrigin: model?.origin ?? "",
      calls,
    });
    const observed = {
      results: results ?? model?.toolResults ?? [],
      asked: calls.length,
      reached: world.server.toolCalls.length,
      wentOn: exitCode === 0 && output.includes(LAST_WORDS),
    };
    const problems = judge(scenario, observed);
    return problems.length === 0 ? [] : [...problems, `output: ${output.slice(-1000)}`];
  } finally {
    await model?.close();
    await world.close();
  }
}

function versionOf({ packages }: HostDriver): string {
  return Object.entries(packages)[0]?.join(" ") ?? "";
}
