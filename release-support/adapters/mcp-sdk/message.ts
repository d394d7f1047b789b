/** A JSON-RPC message as far as it is read here: its sender may have made it of anything. */
export interface Message {
  readonly method?: unknown;
  readonly id?: string | number;
  readonly params?: { readonly name?: unknown; readonly task?: unknown; readonly requestId?: unknown };
}

/** What the gate and its records call the tool: other methods than a tool's call go by their own names. */
export function toolOf({ method, params }: Message): string {
  if (method !== "tools/call") return String(method);
  return typeof params?.name === "string" ? params.name : "";
}

/** A JSON-RPC code of the range that is left to implementations. */
const DENIED_CODE = -32_077;

/** The answer to a denied call. One that asks for a task expects no tool's result, and would not understand one. */
export function denialOf({ method, id, params }: Message, text: string): object {
  return method === "tools/call" && params?.task === undefined
    ? {
        jsonrpc: "2.0",
        id,
        result: { resultType: "complete", content: [{ type: "text", text }], isError: true },
      }
    : { jsonrpc: "2.0", id, error: { code: DENIED_CODE, message: text } };
}
