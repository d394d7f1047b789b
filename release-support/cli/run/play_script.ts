import { ExtensionLoadError } from "../../host/extensions/extension_catalog.ts";
import { exceptionKind } from "../../host/agents/exceptions.ts";
import type { Host } from "../../host/host.ts";
import { monologue } from "../../host/agents/monologue.ts";
import type { ModelTurn, MonologueResult } from "../../host/agents/monologue.ts";
import { CallRecorder } from "../../host/call_recorder.ts";
import type { RecordedCall } from "../../host/call_recorder.ts";
import type { RootScope } from "../root_flags.ts";

/** What became of one turn of a script. */
export interface PlayedTurn {
  readonly turn: ModelTurn;
  /** `refused` is a text that is no usable request; `not_reached` stands behind what ended the run. */
  readonly kind: "calls" | "answer" | "refused" | "not_reached";
  readonly calls: readonly RecordedCall[];
  /** The calls of the turn that were not dispatched, by name, since one before them ended it. */
  readonly undispatched: readonly string[];
}

/** What became of a script. */
export interface PlayedScript {
  readonly turns: readonly PlayedTurn[];
  /** Why the run ended before its script, in controlled words; `null` when it did not, or an answer ended it. */
  readonly problem: string | null;
}

/**
 * Plays a script in an open host: its turns go through the same steps as a model's (SPEC C2).
 *
 * @param host - the host
 * @param scope - the project and profile of the agent
 * @param script - the turns
 */
export async function playScript(
  host: Host,
  { project, profile }: RootScope,
  script: readonly ModelTurn[],
): Promise<PlayedScript> {
  const recorder = new CallRecorder(host);
  const selection = { ...(project === null ? {} : { project }), ...(profile === null ? {} : { profile }) };
  const { agent0: agent } = host.createContext(selection);
  const callsByTurn: RecordedCall[][] = [];
  function* turns() {
    for (const turn of script) {
      yield turn;
      // The agent asks for the next turn when it is done with this one.
      callsByTurn.push(recorder.take());
    }
  }
  const end = await endOf(() => monologue(agent, turns()));
  if (callsByTurn.length < script.length) callsByTurn.push(recorder.take());
  const played = script.map((turn, index) => {
    const calls = callsByTurn[index];
    if (calls === undefined) {
      return { turn, kind: "not_reached" as const, calls: [], undispatched: namesIn(turn) };
    }
    const isLast = index === callsByTurn.length - 1;
    return { turn, ...outcome(turn, calls, isLast && end.kind === "answer") };
  });
  return { turns: played, problem: end.kind === "problem" ? end.words : null };
}

type End = { readonly kind: "answer" | "script_over" } | { readonly kind: "problem"; readonly words: string };

/** How a run ended: what no agent can repair ends it without an answer. */
async function endOf(run: () => Promise<MonologueResult>): Promise<End> {
  try {
    return { kind: (await run()).kind };
  } catch (error) {
    if (exceptionKind(error) !== "handled") throw error;
    const cause = error instanceof Error ? error.cause : undefined;
    // Of other errors it is not known whose words their messages are.
    const words =
      cause instanceof ExtensionLoadError
        ? cause.message
        : "An extension or the host threw what no agent can repair.";
    return { kind: "problem", words };
  }
}

function outcome(
  turn: ModelTurn,
  calls: readonly RecordedCall[],
  answered: boolean,
): Omit<PlayedTurn, "turn"> {
  if (calls.length === 0) return { kind: answered ? "answer" : "refused", calls, undispatched: [] };
  // Workers' calls are made by a call of the turn, not by the turn.
  const own = calls.filter(({ byWorker }) => !byWorker).length;
  return { kind: "calls", calls, undispatched: namesIn(turn).slice(own) };
}

/** The tools that a native turn asks for. */
function namesIn(turn: ModelTurn): string[] {
  return typeof turn === "string" ? [] : turn.toolCalls.map(({ name }) => name);
}
