import { Option } from "commander";
import type { Command } from "commander";

import { CHECKS } from "../../helpers/preflight/preflight_contract.ts";
import type { CheckName, CheckStatus } from "../../helpers/preflight/preflight_contract.ts";
import type { LivePreflight } from "../guild/live_guild.ts";
import { CannotRun } from "./cannot_run.ts";
import { addCommand } from "./command.ts";
import type { CommonFlags } from "./command.ts";
import type { GuildLine } from "./output_schemas.ts";
import { processTerminal } from "../terminal/terminal.ts";
import { clipped, COLUMNS, wrap } from "../terminal/text.ts";

interface GuildFlags extends CommonFlags {
  readonly port: string;
  readonly allowLoopback?: boolean;
  readonly registry?: string;
  readonly json?: boolean;
}

/** Adds the command `guild` (SPEC C5). */
export function addGuild(program: Command): void {
  addCommand(program, {
    name: "guild",
    summary: "run a local Guild that really probes, until Ctrl-C",
    examples: [
      "guild --port 8700",
      "guild --port 8700 --allow-loopback",
      "guild --port 0 --allow-loopback --registry agents.json --json",
    ],
  })
    .requiredOption("--port <number>", "the port on 127.0.0.1; 0 takes a free one")
    .option("--allow-loopback", "also probe this machine, and any port: for tests")
    .option("--registry <file>", "a JSON file of known agents by DID, for independent evidence")
    .addOption(new Option("--json", "one JSON document a line"))
    .addHelpText(
      "after",
      `
It listens on this machine alone. Set fixture_guild_origin to the origin that it
prints, and the gate asks it in place of the Agent Guild.`,
    )
    .action(async (flags: GuildFlags) => {
      await guild(flags);
    });
}

/** Runs the live local Guild until the process is told to stop (SPEC C5). */
async function guild({ port, allowLoopback = false, registry, json = false, color }: GuildFlags) {
  const terminal = processTerminal({ color });
  const tell = (line: GuildLine) => terminal.result(json ? JSON.stringify(line) : guildText(line));
  const stopped = untilStopped();
  const { startLiveGuild } = await import("../guild/live_guild.ts");
  const starting = startLiveGuild({
    port: portIn(port),
    allowLoopback,
    ...(registry === undefined ? {} : { registry }),
    onPreflight: (preflight) => tell(preflightLine(preflight)),
  });
  const service = await starting.catch((error: unknown) => {
    throw new CannotRun(whyNot(error));
  });
  tell({ event: "listening", origin: service.origin, allows_loopback: allowLoopback });
  await stopped;
  await service.close();
}

function portIn(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new CannotRun("--port: expected a whole number from 0 to 65535");
}

function whyNot(error: unknown): string {
  if (error instanceof TypeError) return `--${error.message}`;
  const code = (error as { code?: unknown } | null)?.code;
  return code === "EADDRINUSE"
    ? "--port: another program listens there; take another one, or 0 for a free one"
    : `--port: the system does not give it${typeof code === "string" ? ` (${code})` : ""}`;
}

/** Resolves at the first Ctrl-C or request to end. */
function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
}

function preflightLine({ body, ms }: LivePreflight): GuildLine {
  const statuses = Object.fromEntries(
    CHECKS.map((name) => [name, body.checks.find(({ check }) => check === name)?.status ?? "unknown"]),
  ) as Record<CheckName, CheckStatus>;
  const { target, verdict } = body;
  return { event: "preflight", target, verdict, statuses, ms: Math.round(ms) };
}

/** A line of the service, for people. The target is what somebody asked about: it is clipped and made fit to be shown. */
function guildText(line: GuildLine): string {
  if (line.event === "listening") {
    const loopback = line.allows_loopback ? " It also probes this machine." : "";
    return [
      `A local Guild listens at ${line.origin}`,
      ...wrap(`It really probes what it is asked about.${loopback} Ctrl-C ends it.`),
    ].join("\n");
  }
  const head = `${line.verdict.padEnd(22)}${`${line.ms} ms`.padStart(8)}  `;
  return `${head}${clipped(line.target, COLUMNS - head.length)}`;
}
