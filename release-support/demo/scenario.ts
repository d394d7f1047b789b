import type { Reason } from "../../helpers/decision.ts";
import { LAST_OBSERVATION_KEY } from "../../helpers/evidence.ts";
import type { DecisionRecord } from "../../helpers/evidence.ts";
import type { Agent } from "../host/agent.ts";
import { monologue } from "../host/monologue.ts";
import type { ModelTurn } from "../host/monologue.ts";
import type { DemoWorld } from "./world.ts";

/** Every way in which a scenario can end: the gate's reasons, and the two that only an onlooker can tell. */
export type DemoReason = Reason | "not_protected" | "tool_policy";

/** How a scenario ends. */
export interface Ending {
  readonly outcome: "ran" | "denied";
  readonly reason: DemoReason;
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
  /** Prepares the world: configuration, what the Guild answers. */
  readonly prepare?: (world: DemoWorld) => void | Promise<void>;
  /** Goes on at the same time as the request. */
  readonly meanwhile?: (world: DemoWorld) => Promise<void>;
}

/** What became of a scenario; the form of the demo's JSON output. */
export interface ScenarioResult extends Ending {
  readonly name: string;
  readonly story: string;
  readonly path: "native" | "text";
  readonly request: string;
  readonly expected: Ending;
  /** How many requests reached the Guild, and how many tool calls the MCP servers. */
  readonly guild_requests: number;
  readonly tool_calls: number;
  readonly ms: number;
}

/**
 * Plays one scenario: a model turn, dispatched for real.
 *
 * @param world - the running host, servers and Guild
 * @param scenario - what to play
 */
export async function play(world: DemoWorld, scenario: Scenario): Promise<ScenarioResult> {
  const { name, story, path, request, expected } = scenario;
  await scenario.prepare?.(world);
  const { agent0: agent } = world.host.createContext();
  const before = world.counts();
  const begin = performance.now();
  await Promise.all([monologue(agent, [turnOf(path, request)]), scenario.meanwhile?.(world)]);
  const ms = Math.round(performance.now() - begin);
  const after = world.counts();
  return {
    name,
    story,
    path,
    request,
    ...endingOf(agent),
    expected,
    guild_requests: after.guildRequests - before.guildRequests,
    tool_calls: after.toolCalls - before.toolCalls,
    ms,
  };
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

/** Reads from the agent's history and its decision record what became of its one call. */
function endingOf(agent: Agent): Ending {
  const last = agent.history.messages.at(-1);
  const record = agent.getData(LAST_OBSERVATION_KEY) as DecisionRecord | undefined;
  const outcome = last?.role === "tool_result" ? "ran" : "denied";
  if (record !== undefined) return { outcome, reason: record.reason };
  if (outcome === "ran") return { outcome, reason: "not_protected" };
  // Neither the tool policy nor an unusable configuration makes a record: their messages tell them apart.
  const isConfiguration = last?.content.includes("(configuration_invalid)") ?? false;
  return { outcome, reason: isConfiguration ? "configuration_invalid" : "tool_policy" };
}
