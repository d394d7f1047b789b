import { isAsExpected, play } from "../demo/scenario.ts";
import type { ScenarioResult } from "../demo/scenario.ts";
import { SCENARIOS } from "../demo/scenarios.ts";
import { DemoWorld } from "../demo/world.ts";

const HEADING = "   #  outcome  reason                 guild  tools  time     path    request";

/**
 * Plays the demo: a host with the plugin installed, real MCP servers, real tool requests (SPEC C1).
 *
 * @param json - one JSON document instead of a table
 * @returns the exit code: 0 when every scenario ended as it must, else 1
 */
export async function demo(json: boolean): Promise<number> {
  const world = await DemoWorld.open();
  const results: ScenarioResult[] = [];
  try {
    if (!json) printIntroduction(world.root.path);
    for (const [index, scenario] of SCENARIOS.entries()) {
      const result = await play(world, scenario);
      results.push(result);
      if (!json) printRow(index + 1, result);
    }
  } finally {
    await world.close();
  }
  const ok = results.every(isAsExpected);
  if (json) console.log(JSON.stringify({ ok, scenarios: results }));
  else printSummary(results);
  return ok ? 0 : 1;
}

function printIntroduction(root: string): void {
  console.log(`An Agent Zero-style host at ${root}, with the plugin installed.
The host, the MCP servers and the tool requests are real, on loopback. Synthetic
are the model's turns and the Guild: it is scripted, and nothing is probed.

guild: requests that reached the Guild; tools: calls that reached an MCP server.

${HEADING}`);
}

function printRow(number: number, result: ScenarioResult): void {
  const { outcome, reason, guild_requests, tool_calls, ms, path, request } = result;
  const mark = isAsExpected(result) ? " " : "!";
  const columns = [
    `${mark}${String(number).padStart(3)}  ${outcome.padEnd(7)}  ${reason.padEnd(21)}`,
    `${String(guild_requests).padStart(5)}  ${String(tool_calls).padStart(5)}`,
    `${`${ms} ms`.padStart(7)}  ${path.padEnd(6)}  ${request}`,
  ];
  console.log(columns.join("  "));
  console.log(`      ${result.story}`);
}

function printSummary(results: readonly ScenarioResult[]): void {
  const wrong = results.filter((result) => !isAsExpected(result));
  console.log(`\n${results.length} scenarios, ${results.length - wrong.length} ended as expected.`);
  for (const { name, outcome, reason, expected } of wrong) {
    console.log(`! ${name}: expected ${expected.outcome} (${expected.reason}), got ${outcome} (${reason})`);
  }
}
