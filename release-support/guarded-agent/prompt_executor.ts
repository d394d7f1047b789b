/** JSON data. Integers that a double cannot hold exactly are bigints (SPEC H11). */
export type JsonValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/** A JSON object that nobody may change. */
export type JsonObject = Readonly<Record<string, JsonValue>>;

/** What a tool offers, as its server describes it: remote text, which a model needs to use the tool. */
export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly inputSchema: JsonObject;
}

/** An item of a tool's result in the form of MCP: `{ type: "text", text }`, `{ type: "image", data, mimeType }` and so on. */
export type ContentItem = JsonObject & { readonly type: string };

/** A tool that the model wants called. */
export interface ToolCall {
  /** The model's own name for this call; the result carries it. */
  readonly id: string;
  readonly name: string;
  /** `null` where the model wrote something that is no JSON object: the call is then answered, not made. */
  readonly arguments: JsonObject | null;
}

/**
 * How a tool call ended: with the tool's result (`result`, or `tool_error` where the tool says that it failed), or with
 * a fixed text of the agent: `denied` by the guard, `failed` on the way, `cancelled` with its run, or never sent
 * because of an `unknown_tool`, `invalid_arguments`, or a limit (`not_run`).
 */
export type ToolCallEnd =
  | "result"
  | "tool_error"
  | "denied"
  | "failed"
  | "cancelled"
  | "unknown_tool"
  | "invalid_arguments"
  | "not_run";

/** One message of the conversation that the model continues. */
export type Message =
  | { readonly role: "system" | "user"; readonly text: string }
  | {
      readonly role: "assistant";
      readonly text: string;
      /** None in an answer. */
      readonly calls: readonly ToolCall[];
      /** What the executor gave with this turn, unchanged. */
      readonly state: JsonValue;
    }
  | {
      readonly role: "tool";
      readonly callId: string;
      readonly tool: string;
      readonly end: ToolCallEnd;
      readonly content: readonly ContentItem[];
      readonly structuredContent: JsonObject | null;
    };

/** What the model gets: the conversation so far and the tools it may call. Frozen. */
export interface Prompt {
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDescription[];
}

/**
 * What the model says: the answer that ends the run, or tools to call. `state` is JSON data of the executor's own, such
 * as a provider's form of the turn with its signatures: it comes back unchanged with the turn's message (SPEC G14).
 */
export type ModelTurn =
  | { readonly kind: "answer"; readonly text: string; readonly state?: JsonValue | undefined }
  | {
      readonly kind: "tool_calls";
      readonly text?: string | undefined;
      readonly calls: readonly ToolCall[];
      readonly state?: JsonValue | undefined;
    };

/**
 * The caller's model. It belongs to one agent alone, which closes it (SPEC G3, G11). Requests that it makes by itself
 * are not guarded.
 */
export interface PromptExecutor {
  /**
   * Continues a conversation.
   *
   * @param options - `signal` fires when the run is cancelled; what comes after that is ignored
   */
  execute(prompt: Prompt, options: { readonly signal: AbortSignal }): Promise<ModelTurn> | ModelTurn;
  /** Called once, when the agent is closed. */
  close(): Promise<void> | void;
}

/** A turn of a script: as it is, or made from the prompt. */
export type ScriptedTurn = ModelTurn | ((prompt: Prompt) => ModelTurn | Promise<ModelTurn>);

/** A model that follows a script, for tests and examples (SPEC G3). */
export class ScriptedPromptExecutor implements PromptExecutor {
  /** Every prompt so far. */
  readonly prompts: Prompt[] = [];
  /** How often it was closed. */
  closed = 0;
  readonly #turns: readonly ScriptedTurn[];

  /** @param turns - the turns in order; one more than there are is an Error */
  constructor(turns: readonly ScriptedTurn[]) {
    this.#turns = [...turns];
  }

  async execute(prompt: Prompt): Promise<ModelTurn> {
    const turn = this.#turns[this.prompts.length];
    this.prompts.push(prompt);
    if (turn === undefined) throw new Error("the script has no further turn");
    return typeof turn === "function" ? await turn(prompt) : turn;
  }

  close(): void {
    this.closed += 1;
  }
}
