import { McpFailure } from "./failure.ts";
import { letGo } from "./http_carrier.ts";
import { tooLarge } from "./channel.ts";
import { isAnswer, readMessages } from "./json_rpc.ts";
import type { Answer } from "./json_rpc.ts";

/** The type of a response's body, without parameters, in small letters; empty for none. */
export function mediaType({ headers }: Response): string {
  return headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
}

/**
 * Reads a body as text, as far as it is allowed to go: what comes behind that is not kept, and the socket is taken back.
 *
 * @param maxBytes - counted behind a decompression
 * @throws McpFailure when the body is larger, or breaks off
 */
export async function readText(response: Response, maxBytes: number): Promise<string> {
  if (response.body === null) return "";
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      size += next.value.byteLength;
      if (size > maxBytes) throw tooLarge(maxBytes, false);
      chunks.push(next.value);
    }
  } catch (error) {
    if (error instanceof McpFailure) throw error;
    throw McpFailure.unknownEnd("the server broke its answer off", { breaks: true });
  } finally {
    reader.releaseLock();
    await letGo(response);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

/** What a response with an error status is to the request that it answers. */
export type Refusal =
  | { readonly kind: "answer"; readonly answer: Answer; readonly isForgotten: boolean }
  | { readonly kind: "failure"; readonly failure: McpFailure; readonly isForgotten: boolean };

/** An error status comes with few words; no more of them are read. */
const MAX_ERROR_BYTES = 65_536;

/** The codes of a request that the server understood to be wrong: its session is sound, whatever the HTTP status. */
const REQUEST_ERRORS: ReadonlySet<number> = new Set([-32601, -32602]);

/**
 * Reads a response with an error status. An answer counts whatever the status that it comes with; without one the status
 * is all there is.
 *
 * @param id - of the request, or `null` for a message that wants no answer
 * @param isInSession - whether the request named a session
 */
export async function readRefusal(
  response: Response,
  id: number | null,
  isInSession: boolean,
): Promise<Refusal> {
  const { status } = response;
  const messages = readMessages(await readText(response, MAX_ERROR_BYTES).catch(() => "")) ?? [];
  const answer = messages.filter(isAnswer).find((one) => id !== null && one.id === id);
  const isRequestError = answer?.kind === "error" && REQUEST_ERRORS.has(answer.code);
  const isForgotten = isInSession && status === 404 && !isRequestError;
  return answer === undefined
    ? { kind: "failure", failure: statusFailure(status, isInSession), isForgotten }
    : { kind: "answer", answer, isForgotten };
}

/** The failure of a request whose response has an error status and does not answer it. */
export function statusFailure(status: number, isInSession: boolean): McpFailure {
  if (isInSession && status === 404) {
    return McpFailure.notSent("the server has forgotten the session", { breaks: true });
  }
  const message = `the server answered with the HTTP status ${status}`;
  if (status >= 500) return McpFailure.unknownEnd(message);
  // Some servers have 400 for a session that they do not know, where the protocol has 404.
  const breaks = isInSession && status === 400;
  return new McpFailure({ kind: "refused", by: "http", code: status }, message, { breaks });
}
