import type { Command } from "commander";

import { GUILD_ORIGIN } from "../../helpers/preflight/guild_preflight.ts";
import { askGuild, decisionOn } from "./ask.ts";
import { addCommand, jsonFlag } from "./command.ts";
import type { CommonFlags } from "./command.ts";
import type { AskableServer, AskLive, LiveAnswer } from "./doctor/examine.ts";
import { evidenceOf } from "./evidence_view.ts";
import { rootScope, withRootFlags } from "./root_flags.ts";
import type { RootFlags } from "./root_flags.ts";
import { announced, processTerminal } from "../terminal/terminal.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { wrap } from "../terminal/text.ts";

interface DoctorFlags extends RootFlags, CommonFlags {
  readonly live?: boolean;
  readonly verbose?: boolean;
  readonly json?: boolean;
}

/** Adds the command `doctor` (SPEC C4). */
export function addDoctor(program: Command): void {
  const command = addCommand(program, {
    name: "doctor",
    summary: "say which configuration is in force in a host root, and what is wrong with it",
    examples: [
      "doctor --root ~/host",
      "doctor --root ~/host --project shop --profile clerk",
      "doctor --root ~/host --live",
      "doctor --root ~/host --json",
    ],
  });
  withRootFlags(command)
    .option("--live", "also ask the Guild about each protected server, and the server for its tools")
    .option("--verbose", "also list every place that the configuration may have, and why it lost")
    .addOption(jsonFlag())
    .addHelpText(
      "after",
      `
Without --live it makes no connection and starts no server. It loads the root's
extensions, as a host does, and runs the gate once on a made-up call. Exit code
1 when there is a problem; warnings alone leave it at 0.`,
    )
    .action(async (flags: DoctorFlags) => {
      process.exitCode = await doctor(flags);
    });
}

/** Examines a root (SPEC C4). */
async function doctor({
  live = false,
  verbose = false,
  json = false,
  color,
  ...flags
}: DoctorFlags): Promise<0 | 1> {
  const terminal = processTerminal({ color });
  const scope = rootScope(flags, "go on");
  const [{ examine }, { doctorText }] = await Promise.all([
    import("./doctor/examine.ts"),
    import("./doctor/doctor_text.ts"),
  ]);
  const tell = json ? terminal.notice : terminal.result;
  const examining = examine(scope, live ? askThrough(terminal, tell) : null);
  const document = await announced(terminal, "Examining the root", examining);
  terminal.result(json ? JSON.stringify(document) : doctorText(document, terminal.paint, verbose));
  return document.ok ? 0 : 1;
}

/** Asks about each URL once, one after the other, having said what is disclosed to whom; then the servers at once. */
function askThrough(terminal: Terminal, tell: (text: string) => void): AskLive {
  return async (servers, { policy, timeoutSeconds, fixtureGuildOrigin }) => {
    const origin = fixtureGuildOrigin ?? GUILD_ORIGIN;
    const urls = [...new Set(servers.map(({ url }) => url))];
    tell(`${liveDisclosure(urls, origin)}\n`);
    const answers = new Map<string, LiveAnswer>();
    const tools = await announced(terminal, "Asking the servers for their tools", toolsOf(servers));
    for (const url of urls) {
      const outcome = await announced(terminal, "Asking the Guild", askGuild(origin, url, timeoutSeconds));
      const answer = { ...decisionOn(policy, outcome), evidence: evidenceOf(outcome) };
      for (const { name } of servers.filter((server) => server.url === url)) {
        answers.set(name, { ...answer, tools: tools.get(name) ?? { count: 0, problem: "it was not asked" } });
      }
    }
    return answers;
  };
}

/** Connects to each server as a host does, and closes again. */
async function toolsOf(servers: readonly AskableServer[]): Promise<Map<string, LiveAnswer["tools"]>> {
  const { ServerConnections } = await import("../host/mcp/server_connections.ts");
  const connections = new ServerConnections();
  try {
    await Promise.all(servers.map(({ entry }) => connections.open(entry)));
    return new Map(
      servers.map(({ name, entry }) => {
        const offered = connections.tools(entry).filter((tool) => !entry.disabledTools.includes(tool.name));
        return [name, { count: offered.length, problem: connections.problem(entry) }];
      }),
    );
  } finally {
    await connections.close();
  }
}

function liveDisclosure(urls: readonly string[], origin: string): string {
  if (urls.length === 0) return "Nothing is disclosed: of no protected server the binding holds.";
  return [
    "This is disclosed, and nothing else:",
    ...urls.flatMap((url) => wrap(url, { first: "  " })),
    ...wrap(`to ${origin}, which records the requests and probes the endpoints, by requests of its own.`),
    ...wrap("The servers themselves are asked for their tools, as the host asks them when it starts."),
  ].join("\n");
}
