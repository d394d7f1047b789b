import type { CallReason, RecordedCall } from "../host/call_recorder.ts";
import { exceptionKind } from "../host/agents/exceptions.ts";
import { monologue } from "../host/agents/monologue.ts";
import type { ModelTurn } from "../host/agents/monologue.ts";
import type { DemoWorld } from "./world.ts";

/** How a scenario ends. */
export interface Ending {
  readonly outcome: "ran" | "denied";
  readonly reason: CallReason;
}

/** One request of the demo, and what must become of it. */
export interface Scenario {
  /** Short and unique. */
  readonly name: string;
  /** What it shows, in a sentence. */
  readonly story: string;
  /** Whether the model asks by a native function call or by JSON text. */
  readonly path: "native" | "text";
  /** The tool that is asked for. */
  readonly request: string;
  readonly expected: Ending;
  /** Whether the Guild of this scenario is a scripted one, or none, instead of the one that probes. */
  readonly synthetic?: boolean;
  /** Prepares the world: configuration, what the Guild will find. */
  readonly prepare?: (world: DemoWorld) => void | Promise<void>;
  /** Goes on at the same time as the request. */
  readonly meanwhile?: (world: DemoWorld) => Promise<void>;
}

/** What became of a scenario; the form of the demo's JSON output. */
export interface ScenarioResult {
  readonly name: string;
  readonly story: string;
  readonly path: "native" | "text";
  readonly request: string;
  /** `failed` when the call was neither run nor denied: no scenario expects that. */
  readonly outcome: "ran" | "denied" | "failed";
  readonly reason: CallReason | null;
  readonly expected: Ending;
  readonly synthetic: boolean;
  /** How many requests reached the Guild, and how many tool calls the MCP servers. */
  readonly guild_requests: number;
  readonly tool_calls: number;
  readonly ms: number;
}

/** A scenario that was played: what became of it, and what an onlooker saw of its call. */
export interface PlayedScenario {
  readonly result: ScenarioResult;
  readonly call: RecordedCall | null;
}

/**
 * Plays one scenario: a model turn, dispatched for real.
 *
 * @param world - the running host, servers and Guild
 * @param scenario - what to play
 */
export async function play(world: DemoWorld, scenario: Scenario): Promise<PlayedScenario> {
  const { name, story, path, request, expected, synthetic = false } = scenario;
  await scenario.prepare?.(world);
  const { agent0: agent } = world.host.createContext();
  const before = world.counts();
  const begin = performance.now();
  await Promise.all([toItsEnd(monologue(agent, [turnOf(path, request)])), scenario.meanwhile?.(world)]);
  const ms = Math.round(performance.now() - begin);
  const after = world.counts();
  const [call = null] = world.recorder.take();
  const result = {
    name,
    story,
    path,
    request,
    ...endingOf(call),
    expected,
    synthetic,
    guild_requests: after.guildRequests - before.guildRequests,
    tool_calls: after.toolCalls - before.toolCalls,
    ms,
  };
  return { result, call };
}

/** What no agent can repair ends a monologue; its call then counts as failed. */
async function toItsEnd(run: Promise<unknown>): Promise<void> {
  try {
    await run;
  } catch (error) {
    if (exceptionKind(error) !== "handled") throw error;
  }
}

/** Whether a scenario ended as it must. */
export function isAsExpected({ outcome, reason, expected }: ScenarioResult): boolean {
  return outcome === expected.outcome && reason === expected.reason;
}

function turnOf(path: "native" | "text", name: string): ModelTurn {
  const args = { text: "what a demo would look for" };
  if (path === "native") return { toolCalls: [{ name, args }] };
  return JSON.stringify({ thoughts: ["A scripted turn."], tool_name: name, tool_args: args });
}

function endingOf(call: RecordedCall | null): Pick<ScenarioResult, "outcome" | "reason"> {
  const ending = call?.ending;
  switch (ending?.kind) {
    case "ran":
    case "denied":
      return { outcome: ending.kind, reason: ending.reason };
    default:
      return { outcome: "failed", reason: null };
  }
}
