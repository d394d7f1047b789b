import { readJson } from "../exact_json.ts";

/** An object as it came, members that nobody asked about included. */
export type RemoteObject = Readonly<Record<string, unknown>>;

/** A request that wants an answer. */
export interface RpcRequest {
  readonly id: number;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** What the other side says. Null counts as absent, and what is not used is not looked at (SPEC H11). */
export type Incoming =
  /** The answer to a request; of an error that the server could not ascribe to any the id is `null`. */
  | { readonly kind: "result"; readonly id: unknown; readonly result: RemoteObject }
  | { readonly kind: "error"; readonly id: unknown; readonly code: number; readonly message: string }
  | { readonly kind: "request"; readonly id: unknown; readonly method: string }
  | { readonly kind: "notification"; readonly method: string };

/** The answer to a request. */
export type Answer = Extract<Incoming, { kind: "result" | "error" }>;

/** The code that stands for an error without one (JSON-RPC: internal error). */
const INTERNAL_ERROR = -32603;

/**
 * Reads what was sent at once: one message, or a list of messages.
 *
 * @returns the messages among it; what is none is left out. `null` when the text is no JSON.
 */
export function readMessages(text: string): readonly Incoming[] | null {
  let value: unknown;
  try {
    value = readJson(text);
  } catch {
    return null;
  }
  return (Array.isArray(value) ? value : [value]).flatMap((message) => readMessage(message) ?? []);
}

function readMessage(value: unknown): Incoming | null {
  if (!isObject(value)) return null;
  const { id = null, method, error } = value;
  if (typeof method === "string") {
    return id === null ? { kind: "notification", method } : { kind: "request", id, method };
  }
  if (isObject(error)) {
    const { code, message } = error;
    return {
      kind: "error",
      id,
      code: Number.isInteger(code) ? Number(code) : INTERNAL_ERROR,
      message: typeof message === "string" ? message : "",
    };
  }
  return isObject(value["result"]) ? { kind: "result", id, result: value["result"] } : null;
}

/** Whether a message answers a request. */
export function isAnswer(message: Incoming): message is Answer {
  return message.kind === "result" || message.kind === "error";
}

/** Whether a value is an object that is no list. */
export function isObject(value: unknown): value is RemoteObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
