import type { Command } from "commander";

import { isAsExpected, play } from "../demo/scenario.ts";
import type { PlayedScenario } from "../demo/scenario.ts";
import { addCommand, jsonFlag } from "./command.ts";
import type { CommonFlags } from "./command.ts";
import { demoIntroduction, demoRow, demoSummary } from "./demo/demo_text.ts";
import type { DemoDocument } from "./output_schemas.ts";
import { reportFile } from "./report/report_file.ts";
import { announced, processTerminal } from "../terminal/terminal.ts";

interface DemoFlags extends CommonFlags {
  readonly json?: boolean;
  readonly report?: string;
}

/** Adds the command `demo` (SPEC C1). */
export function addDemo(program: Command): void {
  addCommand(program, {
    name: "demo",
    summary: "play tool requests through a host with the gate installed, all on this machine",
    examples: ["demo", "demo --report demo.html", "demo --json"],
  })
    .addOption(jsonFlag())
    .option("--report <file>", "also write a picture of the run: one self-contained page")
    .action(async (flags: DemoFlags) => {
      process.exitCode = await demo(flags);
    });
}

/** Plays the demo: a host with the plugin installed, real MCP servers, real requests, a Guild that probes (SPEC C1). */
async function demo({ json = false, report, color }: DemoFlags): Promise<0 | 1> {
  const terminal = processTerminal({ color });
  const page = report === undefined ? null : reportFile(report);
  const [{ DemoWorld }, { SCENARIOS }] = await Promise.all([
    import("../demo/world.ts"),
    import("../demo/scenarios.ts"),
  ]);
  const world = await announced(terminal, "Starting a host, MCP servers and a Guild", DemoWorld.open());
  const played: PlayedScenario[] = [];
  const tellProgress = json ? terminal.notice : () => undefined;
  try {
    if (!json) terminal.result(demoIntroduction(world.root.path));
    tellProgress("Playing the scenarios ...");
    for (const [index, scenario] of SCENARIOS.entries()) {
      const one = await play(world, scenario);
      played.push(one);
      if (!json) terminal.result(demoRow(index + 1, one.result, terminal.paint));
    }
  } finally {
    await world.close();
  }
  const results = played.map(({ result }) => result);
  const document: DemoDocument = { ok: results.every(isAsExpected), scenarios: results };
  terminal.result(json ? JSON.stringify(document) : demoSummary(results));
  if (page !== null) {
    const { pictureOfDemo } = await import("./report/picture.ts");
    await page.write(pictureOfDemo(played));
    if (!json) terminal.result(`A picture of the run is in ${page.shownPath}`);
  }
  return document.ok ? 0 : 1;
}
