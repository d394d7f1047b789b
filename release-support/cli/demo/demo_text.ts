import { isAsExpected } from "../../demo/scenario.ts";
import type { ScenarioResult } from "../../demo/scenario.ts";
import type { Paint } from "../../terminal/terminal.ts";
import { clipped, padded, shown, wrap } from "../../terminal/text.ts";

const HEADING = "  # ended  reason                guild tools    time path   request";

/** What the demo says before it begins. */
export function demoIntroduction(root: string): string {
  return [
    ...wrap(`An Agent Zero-style host with the plugin installed, its root ${shown(root)}`),
    "",
    ...wrap(
      "The host, the MCP servers, the tool requests and the Guild are real, and all on this machine: the " +
        "Guild's verdicts come from probing the servers. Synthetic are the model's turns, the agent cards, and in " +
        "the rows marked ~ the Guild, which is made to misbehave or is not there.",
    ),
    "",
    "guild: requests that reached a Guild; tools: calls that reached an MCP server.",
    "",
    HEADING,
  ].join("\n");
}

/** One scenario and what became of it, in two lines or more. */
export function demoRow(number: number, result: ScenarioResult, paint: Paint): string {
  const { outcome, reason, guild_requests, tool_calls, ms, path, request, synthetic, story } = result;
  const mark = isAsExpected(result) ? (synthetic ? "~" : " ") : "!";
  const ended = paint(outcome === "ran" ? "good" : "bad", padded(outcome, 6));
  const cells = [
    `${mark}${padded(String(number), 2, "left")}`,
    ended,
    padded(reason ?? "-", 21),
    padded(String(guild_requests), 5, "left"),
    padded(String(tool_calls), 5, "left"),
    padded(`${ms} ms`, 7, "left"),
    padded(path, 6),
    clipped(request, 18),
  ];
  return [cells.join(" "), ...wrap(story, { first: "    " }).map((line) => paint("dim", line))].join("\n");
}

/** What the demo says at its end: how many ended as they must, and which did not. */
export function demoSummary(results: readonly ScenarioResult[]): string {
  const wrong = results.filter((result) => !isAsExpected(result));
  const lines = wrong.flatMap(({ name, outcome, reason, expected }) =>
    wrap(
      `${name}: expected ${expected.outcome} (${expected.reason}), got ${outcome} (${reason ?? "no reason"})`,
      {
        first: "! ",
      },
    ),
  );
  const count = `${results.length} scenarios, ${results.length - wrong.length} ended as expected.`;
  return ["", count, ...lines].join("\n");
}
