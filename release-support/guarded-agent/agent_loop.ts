import { abortable } from "./cancellation.ts";
import type { Conversation } from "./conversation.ts";
import { GuardedAgentError } from "./errors.ts";
import type { Guard } from "./guard.ts";
import { readModelTurn } from "./model_turn.ts";
import type { AssistantMessage } from "./model_turn.ts";
import type { AgentSettings } from "./options.ts";
import { inParallel } from "./parallel.ts";
import type { Message, ToolCall } from "./prompt_executor.ts";
import { denialMessage, fixedMessage, notSentMessage, outcomeMessage } from "./tool_messages.ts";
import type { ToolMessage } from "./tool_messages.ts";
import type { ToolRegistry } from "./tool_registry.ts";

/** More calls than these in one turn are not made: a model must not open connections without end. */
const MAX_CALLS_PER_TURN = 64;

/** What the loop works with; fixed when the agent is created. */
export interface LoopParts {
  readonly settings: AgentSettings;
  readonly registry: ToolRegistry;
  readonly guard: Guard;
}

/**
 * Continues a conversation until the model answers: a model turn, the tool calls of that turn in parallel, their results
 * in order, and again (SPEC G3, G7).
 *
 * @param conversation - it begins with the task, and records what happens, however the loop ends
 * @returns the model's answer
 * @throws GuardedAgentError `iteration_limit`; the reason of `signal`, once everything that it cut off has ended;
 * TypeError for a turn that is none; whatever the executor throws
 */
export async function runLoop(
  parts: LoopParts,
  conversation: Conversation,
  signal: AbortSignal,
): Promise<string> {
  for (let turns = 1; ; turns += 1) {
    const turn = await modelTurn(parts, conversation.messages, signal);
    // Nobody would read the results of the last turn's calls.
    const isLast = turns === parts.settings.maxIterations;
    const put = conversation.add(turn, isLast ? "last_turn" : "cancelled");
    if (turn.calls.length === 0) return turn.text;
    if (isLast) throw new GuardedAgentError("iteration_limit");
    await inParallel(turn.calls, async (call, index) => {
      put(index, await toolCall(parts, conversation, call, index, signal));
    });
  }
}

async function modelTurn(
  { settings, registry }: LoopParts,
  messages: readonly Message[],
  signal: AbortSignal,
): Promise<AssistantMessage> {
  const { systemPrompt } = settings;
  const system: Message[] =
    systemPrompt === null ? [] : [Object.freeze({ role: "system", text: systemPrompt })];
  const prompt = Object.freeze({
    messages: Object.freeze([...system, ...messages]),
    tools: registry.descriptions,
  });
  const said = async () => await settings.execute(prompt, { signal });
  return readModelTurn(await abortable(said(), signal));
}

/** One call: the tool that the registry selects, the guard's word about that very tool, and only then the call. */
async function toolCall(
  { settings, registry, guard }: LoopParts,
  conversation: Conversation,
  call: ToolCall,
  index: number,
  signal: AbortSignal,
): Promise<ToolMessage> {
  if (index >= MAX_CALLS_PER_TURN) return fixedMessage(call, "too_many");
  const tool = registry.select(call.name);
  if (tool === undefined) return fixedMessage(call, "unknown_tool");
  if (call.arguments === null) return fixedMessage(call, "invalid_arguments");
  const { endpoint, description } = tool;
  // Nobody is asked about a call that cannot be made: it would disclose the endpoint for nothing (SPEC G12).
  const problem = await tool.connection.revive(signal);
  if (problem !== null) return notSentMessage(call, problem);
  const asked = { runId: conversation.runId, callId: call.id, endpoint, tool: description.name };
  const decision = await guard.check(asked, signal);
  conversation.decided(decision);
  if (decision.decision !== "allow") return denialMessage(call, decision);
  const outcome = await tool.connection.call(description.name, call.arguments, signal);
  return outcomeMessage(call, outcome, settings);
}
