// What the adapter uses of pi's extension interface, as types only, after `@mariozechner/pi-coding-agent` 0.73.1: pi is no
// dependency of this package.

/** The object that pi hands to an extension. */
export interface Pi {
  on(
    event: "session_start" | "session_shutdown",
    handler: (event: unknown, context: PiContext) => Promise<void>,
  ): void;
  on(
    event: "tool_call",
    handler: (event: PiToolCall, context: PiContext) => Promise<PiBlock | undefined>,
  ): void;
  registerTool(tool: PiTool): void;
  getAllTools(): readonly { readonly name: string; readonly sourceInfo: { readonly path: string } }[];
  appendEntry(customType: string, data: unknown): void;
}

/** Where an event happens. */
export interface PiContext {
  /** The working folder of the session. */
  readonly cwd: string;
  readonly hasUI: boolean;
  readonly ui: { notify(message: string, type: "warning"): void };
  /** Fires when the agent's turn is aborted. */
  readonly signal: AbortSignal | undefined;
}

/** A call that the model asked for, before it runs. */
export interface PiToolCall {
  readonly toolName: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** Stops a call; the model sees the reason. */
export interface PiBlock {
  readonly block: true;
  readonly reason: string;
}

/** A tool of an extension. An error that `execute` throws is shown to the model as a failed result. */
export interface PiTool {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  /** A JSON schema. */
  readonly parameters: object;
  execute(id: string, input: Record<string, unknown>, signal: AbortSignal | undefined): Promise<PiToolResult>;
}

/** What a tool answers. */
export interface PiToolResult {
  readonly content: readonly PiContent[];
  readonly details: unknown;
}

/** What a model can be shown. */
export type PiContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string };
