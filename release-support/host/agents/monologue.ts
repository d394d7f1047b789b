import type { Agent } from "./agent.ts";
import { dispatch } from "./dispatch.ts";
import { HandledException, describeError, exceptionKind, repairableMessage } from "./exceptions.ts";
import { ModelTurns } from "./model_turns.ts";
import type { ModelTurn } from "./model_turns.ts";
import { shownAsText } from "../text/shown_as_text.ts";
import { readToolRequest } from "./tool_requests.ts";

export type { ModelTurn } from "./model_turns.ts";

/** How a monologue ended: with an answer, or because the script was over. */
export type MonologueResult =
  | { readonly kind: "answer"; readonly message: string }
  | { readonly kind: "script_over" };

/**
 * Runs an agent on a script of model turns until one of them answers (SPEC H7, H9).
 *
 * @param agent - the agent
 * @param turns - what its model says, turn by turn; each is asked for when the turn before it is done
 * @returns the answer, or that the script ended without one
 * @throws HandledException after an error that no agent can repair, which the log then shows; the reason of the
 *   agent's cancellation, as soon as that fires
 */
export function monologue(
  agent: Agent,
  turns: Iterable<ModelTurn> | AsyncIterable<ModelTurn>,
): Promise<MonologueResult> {
  return agent.inOwnTask(async () => {
    const model = new ModelTurns(turns);
    try {
      return await takeTurns(agent, model);
    } finally {
      model.leave();
    }
  });
}

async function takeTurns(agent: Agent, model: ModelTurns): Promise<MonologueResult> {
  const { signal } = agent;
  let previous: ModelTurn | null = null;
  for (;;) {
    try {
      await agent.context.checkIntervention(agent, signal);
      const next = await model.next(signal);
      if (next.kind !== "turn") return { kind: "script_over" };
      const { turn } = next;
      const isRepeated = turn === previous;
      previous = turn;
      const answer = await takeTurn(agent, turn, isRepeated);
      if (answer !== null) return { kind: "answer", message: answer };
    } catch (error) {
      // A cancellation stays one: it is nobody's error and no denial.
      signal.throwIfAborted();
      handleException(agent, error);
    }
  }
}

async function takeTurn(agent: Agent, turn: ModelTurn, isRepeated: boolean): Promise<string | null> {
  agent.history.add({ role: "assistant", content: shownAsText(turn) });
  await agent.context.checkIntervention(agent, agent.signal);
  if (typeof turn === "string") return await takeTextTurn(agent, turn, isRepeated);
  for (const request of turn.toolCalls) {
    const response = await dispatch(agent, request);
    if (response.breakLoop) return response.message;
  }
  return null;
}

async function takeTextTurn(agent: Agent, message: string, isRepeated: boolean): Promise<string | null> {
  if (isRepeated) {
    warn(agent, "You have sent the same message again. Do something else.");
    return null;
  }
  const reading = readToolRequest(message);
  switch (reading.kind) {
    case "request": {
      const response = await dispatch(agent, { name: reading.name, args: reading.args });
      return response.breakLoop ? response.message : null;
    }
    case "misformatted":
      warn(agent, "The tool request is not well formed. Send exactly one JSON object and nothing around it.");
      return null;
    case "none":
      return message;
    default:
      throw new TypeError("an unknown kind of tool request");
  }
}

/**
 * Deals with what a turn threw, as the framework does: an intervention is dropped, a repairable exception becomes a
 * warning for the agent, anything else is logged and ends the loop (SPEC H7).
 */
function handleException(agent: Agent, error: unknown): void {
  switch (exceptionKind(error)) {
    case "intervention":
      return;
    case "repairable":
      warn(agent, repairableMessage(error));
      return;
    case "handled":
      throw error;
    case "critical":
    default:
      agent.context.log.log({ type: "error", heading: "Error", content: describeError(error) });
      throw new HandledException("The agent stopped on an error; the log shows it.", { cause: error });
  }
}

function warn(agent: Agent, message: string): void {
  agent.history.add({ role: "warning", content: message });
  agent.context.log.log({ type: "warning", heading: `Agent ${agent.number}`, content: message });
}
