/** What kind of tool an id names: `local:<tool>`, `plugin:<plugin>:<tool>` or `mcp:<server>:<tool>`. */
export type ToolId = `local:${string}` | `plugin:${string}:${string}` | `mcp:${string}:${string}`;

/** The arguments of a tool call: whatever the model sent. */
export type ToolArgs = Record<string, unknown>;

/** What a tool call brought. */
export interface ToolResponse {
  /** What the model is told. */
  readonly message: string;
  /** Whether the loop ends with this message. */
  readonly breakLoop: boolean;
}

/** A tool that an agent is about to run: made for one call, as in the framework. */
export interface Tool {
  /** The name it was found under. */
  readonly name: string;
  /** What the tool policy knows it by. */
  readonly id: ToolId;
  /** Comes before the extensions of `tool_execute_before`, hence before anybody could object. */
  beforeExecution?(args: ToolArgs, signal: AbortSignal): void | Promise<void>;
  execute(args: ToolArgs, signal: AbortSignal): Promise<ToolResponse>;
  /** Comes behind the extensions of `tool_execute_after`. */
  afterExecution?(response: ToolResponse, signal: AbortSignal): void | Promise<void>;
}
