/**
 * An executor for chat completions of OpenAI and of every provider that is compatible with them. The client is the
 * caller's; this module loads nothing of the package `openai`.
 */
import type OpenAI from "openai";
import type {
  ChatCompletionChunk,
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionMessageParam,
  ChatCompletionTool,
} from "openai/resources/chat/completions";

import type { JsonValue, Message, ModelTurn, Prompt, PromptExecutor, ToolCall } from "../prompt_executor.ts";
import { mergeDelta } from "./openai_stream.ts";
import { argumentsText, incomplete, isObject, readArguments, resultText, stateOf } from "./texts.ts";
import { ProviderTools, providerName } from "./tool_names.ts";

/** What an {@link OpenAIChatExecutor} is made from. */
export interface OpenAIChatExecutorOptions {
  /** The caller's client, with its key, its base URL and its own retries. */
  readonly client: Pick<OpenAI, "chat">;
  readonly model: string;
  /** Whatever else the requests say: `temperature`, `reasoning_effort` and so on. */
  readonly parameters?:
    | Partial<Omit<ChatCompletionCreateParamsNonStreaming, "model" | "messages" | "tools" | "stream" | "n">>
    | undefined;
  /** Whether answers are streamed; not, by default. */
  readonly stream?: boolean | undefined;
  /** Gets the text of streamed answers, piece by piece. */
  readonly onText?: ((piece: string) => void) | undefined;
}

/** Marks turns whose state is a message of chat completions. */
const KIND = "openai_chat";

/** The caller's model behind chat completions (SPEC G14). `close` does nothing: the client is the caller's. */
export class OpenAIChatExecutor implements PromptExecutor {
  readonly #options: OpenAIChatExecutorOptions;

  constructor(options: OpenAIChatExecutorOptions) {
    this.#options = { ...options };
  }

  /**
   * Continues a conversation with one request.
   *
   * @returns the turn; its state is the provider's own message, members that this client does not know included
   * @throws whatever the client throws; Error for an answer that broke off or holds no message
   */
  async execute(prompt: Prompt, { signal }: { readonly signal: AbortSignal }): Promise<ModelTurn> {
    const { client, model, parameters, stream = false } = this.#options;
    const tools = new ProviderTools(prompt.tools);
    const offered = tools.entries.map(([name, { description, inputSchema }]): ChatCompletionTool => ({
      type: "function",
      function: { name, description, parameters: inputSchema },
    }));
    const request = {
      ...parameters,
      model,
      messages: prompt.messages.map(providerMessage),
      ...(offered.length === 0 ? {} : { tools: offered }),
    };
    const message = stream
      ? await this.#streamed(await client.chat.completions.create({ ...request, stream: true }, { signal }))
      : (await client.chat.completions.create({ ...request, stream: false }, { signal })).choices[0]?.message;
    signal.throwIfAborted();
    if (!isObject(message)) throw new Error("the provider's answer holds no message");
    return turnOf(message, tools);
  }

  close(): void {}

  async #streamed(chunks: AsyncIterable<ChatCompletionChunk>): Promise<Readonly<Record<string, unknown>>> {
    const message: Record<string, unknown> = {};
    let isComplete = false;
    for await (const { choices } of chunks) {
      const choice = choices?.[0];
      if (choice === undefined) continue;
      const piece: unknown = choice.delta?.content;
      if (typeof piece === "string" && piece !== "") this.#options.onText?.(piece);
      mergeDelta(message, choice.delta);
      if (choice.finish_reason !== null && choice.finish_reason !== undefined) isComplete = true;
    }
    if (!isComplete) throw incomplete();
    // The position belongs to the stream, not to the call.
    const calls = message["tool_calls"];
    if (!Array.isArray(calls)) return message;
    const own = calls
      .filter(isObject)
      .map((call) => Object.entries(call).filter(([name]) => name !== "index"));
    return {
      ...message,
      tool_calls: own.map((members) => ({ type: "function", ...Object.fromEntries(members) })),
    };
  }
}

function turnOf(message: Readonly<Record<string, unknown>>, tools: ProviderTools): ModelTurn {
  const { content, refusal, tool_calls: given } = message;
  const text =
    typeof content === "string" && content !== "" ? content : typeof refusal === "string" ? refusal : "";
  const state = { kind: KIND, turn: { ...message, role: "assistant" } as JsonValue };
  const calls = Array.isArray(given) ? given.filter(isObject).map((call) => callOf(call, tools)) : [];
  return calls.length > 0 ? { kind: "tool_calls", text, calls, state } : { kind: "answer", text, state };
}

function callOf(call: Readonly<Record<string, unknown>>, tools: ProviderTools): ToolCall {
  const { name, arguments: given } = isObject(call["function"]) ? call["function"] : {};
  return {
    id: typeof call["id"] === "string" ? call["id"] : "",
    name: typeof name === "string" ? tools.ownName(name) : "",
    arguments: typeof given === "string" ? readArguments(given) : ((given ?? null) as ToolCall["arguments"]),
  };
}

function providerMessage(message: Message): ChatCompletionMessageParam {
  switch (message.role) {
    case "tool":
      return { role: "tool", tool_call_id: message.callId, content: resultText(message) };
    case "assistant":
      return (stateOf(message, KIND) ?? plainTurn(message)) as ChatCompletionMessageParam;
    default:
      return { role: message.role, content: message.text };
  }
}

/** A turn of another model, in the form of this one. */
function plainTurn({ text, calls }: Extract<Message, { role: "assistant" }>): ChatCompletionMessageParam {
  if (calls.length === 0) return { role: "assistant", content: text };
  return {
    role: "assistant",
    content: text === "" ? null : text,
    tool_calls: calls.map((call) => ({
      id: call.id,
      type: "function",
      function: { name: providerName(call.name), arguments: argumentsText(call) },
    })),
  };
}
