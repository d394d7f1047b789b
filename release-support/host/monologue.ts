import type { Agent } from "./agent.ts";
import { dispatch } from "./dispatch.ts";
import type { ToolRequest } from "./dispatch.ts";
import { HandledException, exceptionKind } from "./exceptions.ts";
import { readToolRequest } from "./tool_requests.ts";

/**
 * One turn of the scripted model: a text, which may be a tool request in JSON, or the native function calls of a
 * turn (SPEC H9).
 */
export type ModelTurn = string | { readonly toolCalls: readonly ToolRequest[] };

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
 *   context's signal when the task is cancelled
 */
export async function monologue(
  agent: Agent,
  turns: Iterable<ModelTurn> | AsyncIterable<ModelTurn>,
): Promise<MonologueResult> {
  const { signal } = agent.context;
  let previous: ModelTurn | null = null;
  for await (const turn of turns) {
    try {
      await agent.context.checkIntervention(agent, signal);
      const answer = await takeTurn(agent, turn, previous);
      if (answer !== null) return { kind: "answer", message: answer };
    } catch (error) {
      // A cancellation stays one: it is nobody's error and no denial.
      signal.throwIfAborted();
      handleException(agent, error);
    }
    previous = turn;
  }
  return { kind: "script_over" };
}

async function takeTurn(agent: Agent, turn: ModelTurn, previous: ModelTurn | null): Promise<string | null> {
  if (typeof turn !== "string") {
    agent.history.add({ role: "assistant", content: JSON.stringify(turn) });
    for (const request of turn.toolCalls) {
      const response = await dispatch(agent, request);
      if (response.breakLoop) return response.message;
    }
    return null;
  }
  agent.history.add({ role: "assistant", content: turn });
  if (turn === previous) {
    warn(agent, "You have sent the same message again. Do something else.");
    return null;
  }
  return await takeTextTurn(agent, turn);
}

async function takeTextTurn(agent: Agent, message: string): Promise<string | null> {
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
      // The message alone: a stack trace would show the model paths and remote text (SPEC P10.2).
      warn(agent, error instanceof Error ? error.message : "The tool call was not run.");
      return;
    case "handled":
      throw error;
    default:
      agent.context.log.log({ type: "error", heading: "Error", content: describe(error) });
      throw new HandledException("The agent stopped on an error; the log shows it.", { cause: error });
  }
}

function warn(agent: Agent, message: string): void {
  agent.history.add({ role: "warning", content: message });
  agent.context.log.log({ type: "warning", heading: `Agent ${agent.number}`, content: message });
}

function describe(error: unknown): string {
  return error instanceof Error
    ? `${error.name}: ${error.message}`
    : `Something else than an error was thrown: ${typeof error}`;
}
