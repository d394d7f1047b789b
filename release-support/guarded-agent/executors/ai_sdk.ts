/** An executor for language models of the AI SDK (package `ai`). */
import { generateText, jsonSchema, streamText, tool, wrapLanguageModel } from "ai";
import type { LanguageModelMiddleware, ModelMessage, ToolSet } from "ai";

import type { JsonValue, Message, ModelTurn, Prompt, PromptExecutor, ToolCall } from "../prompt_executor.ts";
import { argumentsText, readArguments, resultText, stateOf } from "./texts.ts";
import { ProviderTools, providerName } from "./tool_names.ts";

/** A model object of a provider of the AI SDK, not the name of one. */
export type AiSdkModel = Parameters<typeof wrapLanguageModel>[0]["model"];

/** What an {@link AiSdkExecutor} is made from. */
export interface AiSdkExecutorOptions {
  /** As `anthropic("...")` or `openai("...")` give it. */
  readonly model: AiSdkModel;
  /** Whatever else each request says: `temperature`, `maxOutputTokens`, `providerOptions`, `maxRetries` and so on. */
  readonly settings?:
    | Pick<
        Parameters<typeof generateText>[0],
        | "maxOutputTokens"
        | "temperature"
        | "topP"
        | "topK"
        | "presencePenalty"
        | "frequencyPenalty"
        | "stopSequences"
        | "seed"
        | "maxRetries"
        | "headers"
        | "providerOptions"
        | "toolChoice"
      >
    | undefined;
  /** Whether answers are streamed; not, by default. */
  readonly stream?: boolean | undefined;
  /** Gets the text of streamed answers, piece by piece. */
  readonly onText?: ((piece: string) => void) | undefined;
}

/** Marks turns whose state is the messages of the AI SDK. */
const KIND = "ai_sdk";

/** What the SDK makes of an answer, whether it was streamed or not. */
interface Answer {
  readonly text: string;
  readonly toolCalls: readonly {
    readonly toolCallId: string;
    readonly toolName: string;
    readonly input: unknown;
    readonly invalid?: boolean | undefined;
  }[];
  readonly response: { readonly messages: readonly ModelMessage[] };
}

/** The caller's model behind the AI SDK (SPEC G14). `close` does nothing: the model is the caller's. */
export class AiSdkExecutor implements PromptExecutor {
  readonly #options: AiSdkExecutorOptions;

  /** @throws TypeError for a model that is no object of a provider */
  constructor(options: AiSdkExecutorOptions) {
    if (typeof options.model !== "object") {
      throw new TypeError("model: expected a model object of a provider of the AI SDK");
    }
    this.#options = { ...options };
  }

  /**
   * Continues a conversation with one step of the SDK.
   *
   * @returns the turn; its state is the SDK's own messages, with the metadata of the provider
   * @throws whatever the SDK throws
   */
  async execute(
    { messages, tools }: Prompt,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<ModelTurn> {
    const { model, settings, stream = false } = this.#options;
    const known = new ProviderTools(tools);
    const inputs = new Map<string, string>();
    const system = messages.flatMap((message) => (message.role === "system" ? [message.text] : []));
    const request = {
      ...settings,
      model: wrapLanguageModel({ model, middleware: rememberInputs(inputs) }),
      ...(system.length === 0 ? {} : { system: system.join("\n\n") }),
      messages: messages.flatMap(providerMessages),
      tools: toolSet(known),
      abortSignal: signal,
    };
    const answer = stream ? await this.#streamed(request) : await generateText(request);
    signal.throwIfAborted();
    return turnOf(answer, known, inputs);
  }

  close(): void {}

  async #streamed(request: Parameters<typeof streamText>[0]): Promise<Answer> {
    // What goes wrong is thrown below; the SDK would print it as well.
    const result = streamText({ ...request, onError: () => undefined });
    for await (const part of result.fullStream) {
      if (part.type === "error") throw part.error;
      if (part.type === "text-delta") this.#options.onText?.(part.text);
    }
    const [text, toolCalls, response] = await Promise.all([result.text, result.toolCalls, result.response]);
    return { text, toolCalls, response };
  }
}

/** The SDK reads what models write as JSON, which rounds long integers: this keeps the texts. */
function rememberInputs(inputs: Map<string, string>): LanguageModelMiddleware {
  const note = (part: { readonly type: string; readonly toolCallId?: string; readonly input?: unknown }) => {
    if (part.type === "tool-call" && typeof part.input === "string")
      inputs.set(part.toolCallId ?? "", part.input);
  };
  return {
    specificationVersion: "v3",
    wrapGenerate: async ({ doGenerate }) => {
      const result = await doGenerate();
      for (const part of result.content) note(part);
      return result;
    },
    wrapStream: async ({ doStream }) => {
      const result = await doStream();
      const noting = new TransformStream<StreamPart, StreamPart>({
        transform: (part, controller) => {
          note(part);
          controller.enqueue(part);
        },
      });
      return { ...result, stream: result.stream.pipeThrough(noting) };
    },
  };
}

type StreamPart =
  Awaited<ReturnType<NonNullable<LanguageModelMiddleware["wrapStream"]>>>["stream"] extends ReadableStream<
    infer Part
  >
    ? Part
    : never;

/** Tools that the SDK itself cannot run: it hands their calls out. */
function toolSet(tools: ProviderTools): ToolSet {
  return Object.fromEntries(
    tools.entries.map(([name, { description, inputSchema }]) => [
      name,
      tool({ description, inputSchema: jsonSchema(inputSchema) }),
    ]),
  );
}

function turnOf(answer: Answer, tools: ProviderTools, inputs: ReadonlyMap<string, string>): ModelTurn {
  const { text, toolCalls, response } = answer;
  // The SDK answers malformed calls itself; here the agent does.
  const turn = response.messages.filter(({ role }) => role === "assistant");
  const state = { kind: KIND, turn: turn as unknown as JsonValue };
  const calls = toolCalls.map(({ toolCallId, toolName, input, invalid }): ToolCall => {
    const written = inputs.get(toolCallId);
    const given = written !== undefined ? readArguments(written) : invalid === true ? null : input;
    return { id: toolCallId, name: tools.ownName(toolName), arguments: given as ToolCall["arguments"] };
  });
  return calls.length > 0 ? { kind: "tool_calls", text, calls, state } : { kind: "answer", text, state };
}

function providerMessages(message: Message): ModelMessage[] {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: message.text }];
    case "assistant": {
      const turn = stateOf(message, KIND);
      return Array.isArray(turn) ? (turn as ModelMessage[]) : plainTurn(message);
    }
    case "tool":
      return [toolMessage(message)];
    default:
      return [];
  }
}

function plainTurn({ text, calls }: Extract<Message, { role: "assistant" }>): ModelMessage[] {
  const texts = text === "" ? [] : [{ type: "text" as const, text }];
  const parts = calls.map((call) => ({
    type: "tool-call" as const,
    toolCallId: call.id,
    toolName: providerName(call.name),
    // The SDK cannot write a bigint.
    input: JSON.parse(argumentsText(call)) as unknown,
  }));
  return texts.length + parts.length === 0 ? [] : [{ role: "assistant", content: [...texts, ...parts] }];
}

function toolMessage(message: Extract<Message, { role: "tool" }>): ModelMessage {
  const value = resultText(message);
  const output = { type: message.end === "result" ? ("text" as const) : ("error-text" as const), value };
  const { callId: toolCallId, tool: name } = message;
  return {
    role: "tool",
    content: [{ type: "tool-result", toolCallId, toolName: providerName(name), output }],
  };
}
