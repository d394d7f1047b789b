/**
 * An executor for Anthropic messages. The client is the caller's; this module loads nothing of the package
 * `@anthropic-ai/sdk`.
 */
import type Anthropic from "@anthropic-ai/sdk";
import type {
  ContentBlockParam,
  MessageCreateParamsNonStreaming,
  MessageParam,
  RawMessageStreamEvent,
  Tool,
  ToolResultBlockParam,
} from "@anthropic-ai/sdk/resources/messages";

import { readJson, writeJson } from "../../exact_json.ts";
import type {
  ContentItem,
  JsonValue,
  Message,
  ModelTurn,
  Prompt,
  PromptExecutor,
  ToolCall,
} from "../prompt_executor.ts";
import { BlocksInPieces } from "./anthropic_stream.ts";
import type { Block } from "./anthropic_stream.ts";
import { incomplete, isObject, itemText, resultText, stateOf } from "./texts.ts";
import { ProviderTools, providerName } from "./tool_names.ts";

/** What an {@link AnthropicExecutor} is made from. */
export interface AnthropicExecutorOptions {
  /** The caller's client, with its key, its base URL and its own retries. */
  readonly client: Pick<Anthropic, "messages">;
  readonly model: string;
  /** Whatever else the requests say: `max_tokens`, which they need, `thinking`, `temperature` and so on. */
  readonly parameters: Omit<
    MessageCreateParamsNonStreaming,
    "model" | "messages" | "tools" | "system" | "stream"
  >;
  /** Whether answers are streamed; not, by default. */
  readonly stream?: boolean | undefined;
  /** Gets the text of streamed answers, piece by piece. */
  readonly onText?: ((piece: string) => void) | undefined;
}

type Request = Omit<MessageCreateParamsNonStreaming, "stream">;

/** Marks turns whose state is the content of a message of Anthropic. */
const KIND = "anthropic_messages";

/** The images that can stand in a tool's result. */
const IMAGES = ["image/jpeg", "image/png", "image/gif", "image/webp"] as const;

/** The caller's model behind Anthropic messages (SPEC G14). `close` does nothing: the client is the caller's. */
export class AnthropicExecutor implements PromptExecutor {
  readonly #options: AnthropicExecutorOptions;

  constructor(options: AnthropicExecutorOptions) {
    this.#options = { ...options };
  }

  /**
   * Continues a conversation with one request.
   *
   * @returns the turn; its state is all of the content, thinking with its signatures included
   * @throws whatever the client throws; Error for an answer that broke off or holds no content
   */
  async execute(prompt: Prompt, { signal }: { readonly signal: AbortSignal }): Promise<ModelTurn> {
    const tools = new ProviderTools(prompt.tools);
    const request = this.#request(prompt, tools);
    const blocks =
      this.#options.stream === true
        ? await this.#streamed(request, signal)
        : await this.#whole(request, signal);
    signal.throwIfAborted();
    return turnOf(blocks, tools);
  }

  close(): void {}

  #request({ messages }: Prompt, tools: ProviderTools): Request {
    const { model, parameters } = this.#options;
    const system = messages.flatMap((message) => (message.role === "system" ? [message.text] : []));
    const offered = tools.entries.map(([name, { description, inputSchema }]): Tool => ({
      name,
      description,
      input_schema: { ...inputSchema, type: "object" },
    }));
    return {
      ...parameters,
      model,
      ...(system.length === 0 ? {} : { system: system.join("\n\n") }),
      messages: providerMessages(messages),
      ...(offered.length === 0 ? {} : { tools: offered }),
    };
  }

  async #whole(given: Request, signal: AbortSignal): Promise<readonly Block[]> {
    const { request, exact } = sendable({ ...given, stream: false as const });
    const response = await this.#options.client.messages.create(request, { signal, ...exact }).asResponse();
    // Not as the client reads it: that rounds long integers.
    const message = readJson(await response.text());
    const content = isObject(message) ? message["content"] : undefined;
    if (!Array.isArray(content)) throw new Error("the provider's answer holds no content");
    return content.filter(isObject);
  }

  async #streamed(given: Request, signal: AbortSignal): Promise<readonly Block[]> {
    const { request, exact } = sendable({ ...given, stream: true as const });
    const events: AsyncIterable<RawMessageStreamEvent> = await this.#options.client.messages.create(request, {
      signal,
      ...exact,
    });
    const blocks = new BlocksInPieces();
    let isComplete = false;
    for await (const event of events) {
      const text = blocks.take(event);
      if (text !== "") this.#options.onText?.(text);
      if (event.type === "message_stop") isComplete = true;
    }
    if (!isComplete) throw incomplete();
    return blocks.whole;
  }
}

/**
 * A request as the client can send it. The client cannot write a bigint: where the conversation holds one, it gets the
 * request with rounded integers, and the exact body beside it.
 */
function sendable<Params extends Request>(
  request: Params,
): { readonly request: Params; readonly exact: { readonly fetchOptions?: object } } {
  const body = writeJson(request) ?? "";
  const rounded = JSON.parse(body) as Params;
  const isExact = JSON.stringify(rounded) === body;
  return { request: rounded, exact: isExact ? {} : { fetchOptions: { body } } };
}

function turnOf(blocks: readonly Block[], tools: ProviderTools): ModelTurn {
  const text = blocks.map((block) => (block["type"] === "text" ? String(block["text"]) : "")).join("");
  const calls = blocks.filter((block) => block["type"] === "tool_use").map((block) => callOf(block, tools));
  const state = { kind: KIND, turn: blocks.map(sentBack) as JsonValue };
  return calls.length > 0 ? { kind: "tool_calls", text, calls, state } : { kind: "answer", text, state };
}

function callOf({ id, name, input }: Block, tools: ProviderTools): ToolCall {
  return {
    id: String(id),
    name: tools.ownName(String(name)),
    arguments: isObject(input) ? (input as ToolCall["arguments"]) : null,
  };
}

/** A block as the provider takes it back. Input that is no object would be refused, and with it the conversation. */
function sentBack(block: Block): Block {
  if (block["type"] !== "tool_use" || isObject(block["input"])) return block;
  return { ...block, input: { INVALID_JSON: block["input"] } };
}

/** The results of a turn stand together, in one message of the user. */
function providerMessages(messages: readonly Message[]): MessageParam[] {
  const list: MessageParam[] = [];
  let results: ToolResultBlockParam[] | null = null;
  for (const message of messages) {
    if (message.role === "tool") {
      if (results === null) list.push({ role: "user", content: (results = []) });
      results.push(resultBlock(message));
      continue;
    }
    results = null;
    if (message.role === "user") list.push({ role: "user", content: message.text });
    if (message.role === "assistant") {
      const content = (stateOf(message, KIND) ?? plainTurn(message)) as ContentBlockParam[];
      // A turn that said nothing cannot be told.
      if (content.length > 0) list.push({ role: "assistant", content });
    }
  }
  return list;
}

/** A turn of another model, in the form of this one. */
function plainTurn({ text, calls }: Extract<Message, { role: "assistant" }>): ContentBlockParam[] {
  const blocks: ContentBlockParam[] = text === "" ? [] : [{ type: "text", text }];
  return [
    ...blocks,
    ...calls.map((call): ContentBlockParam => ({
      type: "tool_use",
      id: call.id,
      name: providerName(call.name),
      input: call.arguments ?? {},
    })),
  ];
}

function resultBlock(message: Extract<Message, { role: "tool" }>): ToolResultBlockParam {
  const images = message.content.filter(isImage);
  return {
    type: "tool_result",
    tool_use_id: message.callId,
    is_error: message.end !== "result",
    content:
      images.length === 0
        ? resultText(message)
        : message.content.map((item) =>
            isImage(item)
              ? { type: "image", source: { type: "base64", media_type: item.mimeType, data: item.data } }
              : { type: "text", text: itemText(item) ?? `[${item.type}: not shown to this model]` },
          ),
  };
}

function isImage(
  item: ContentItem,
): item is ContentItem & { data: string; mimeType: (typeof IMAGES)[number] } {
  const { type, data, mimeType } = item as Readonly<Record<string, unknown>>;
  return type === "image" && typeof data === "string" && IMAGES.some((known) => known === mimeType);
}
