import { abortable } from "./cancellation.ts";
import { GuardedAgentError } from "./errors.ts";
import type { Guard } from "./guard.ts";
import { readModelTurn } from "./model_turn.ts";
import type { AgentSettings } from "./options.ts";
import { inParallel } from "./parallel.ts";
import type { Message, ModelTurn, ToolCall } from "./prompt_executor.ts";
import { denialMessage, fixedMessage, outcomeMessage } from "./tool_messages.ts";
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
 * Works on one task: a model turn, the tool calls of that turn in parallel, their results in order, and again, until
 * the model answers (SPEC G3, G7).
 *
 * @returns the model's answer
 * @throws GuardedAgentError `iteration_limit`; the reason of `signal`, once everything that it cut off has ended;
 * TypeError for a turn that is none; whatever the executor throws
 */
export async function runLoop(parts: LoopParts, task: string, signal: AbortSignal): Promise<string> {
  const { maxIterations, systemPrompt } = parts.settings;
  const messages: Message[] = systemPrompt === null ? [] : [textMessage("system", systemPrompt)];
  messages.push(textMessage("user", task));
  for (let turns = 1; ; turns += 1) {
    const turn = await modelTurn(parts, messages, signal);
    if (turn.kind === "answer") return turn.text;
    // Nobody would read the results of these calls.
    if (turns === maxIterations) throw new GuardedAgentError("iteration_limit");
    const { text = "", calls } = turn;
    messages.push(Object.freeze({ role: "assistant", text, calls }));
    messages.push(...(await inParallel(calls, (call, index) => toolCall(parts, call, index, signal))));
  }
}

async function modelTurn(
  { settings, registry }: LoopParts,
  messages: readonly Message[],
  signal: AbortSignal,
): Promise<ModelTurn> {
  const prompt = Object.freeze({ messages: Object.freeze([...messages]), tools: registry.descriptions });
  const said = async () => await settings.execute(prompt, { signal });
  return readModelTurn(await abortable(said(), signal));
}

/** One call: the tool that the registry selects, the guard's word about that very tool, and only then the call. */
async function toolCall(
  { settings, registry, guard }: LoopParts,
  call: ToolCall,
  index: number,
  signal: AbortSignal,
): Promise<Message> {
  if (index >= MAX_CALLS_PER_TURN) return fixedMessage(call, "not_run");
  const tool = registry.select(call.name);
  if (tool === undefined) return fixedMessage(call, "unknown_tool");
  const decision = await guard.check(tool.endpoint, signal);
  if (decision.kind !== "allowed") return denialMessage(call, decision);
  const { toolTimeoutSeconds } = settings;
  const outcome = await tool.connection.call(
    tool.description.name,
    call.arguments,
    signal,
    toolTimeoutSeconds,
  );
  return outcomeMessage(call, outcome);
}

function textMessage(role: "system" | "user", text: string): Message {
  return Object.freeze({ role, text });
}
