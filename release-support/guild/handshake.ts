import { messageEvents } from "./event_stream.ts";
import { asObject, parseJson } from "./remote_json.ts";
import type { ProbeAnswer, ProbeHead } from "./probe_request.ts";

/** The id of the one request that a probe sends. */
const REQUEST_ID = 1;

/** The JSON-RPC request that opens an MCP session, as sent. */
export const INITIALIZE_REQUEST = JSON.stringify({
  jsonrpc: "2.0",
  id: REQUEST_ID,
  method: "initialize",
  params: {
    protocolVersion: "2025-03-26",
    capabilities: {},
    clientInfo: { name: "agent-guild-live-local", version: "1.0.0" },
  },
});

/** The header lines that go with {@link INITIALIZE_REQUEST}. */
export const INITIALIZE_HEADERS: Readonly<Record<string, string>> = {
  accept: "application/json, text/event-stream",
  "content-type": "application/json",
};

/**
 * What an endpoint said to `initialize`: it opened a session; it wants authorization; a 2xx answer that was not complete
 * leaves it open; a complete 2xx answer is something else; another status refuses; nothing, or a redirect, says nothing.
 */
export type InitializeReading =
  | "handshake"
  | "authorization_required"
  | "inconclusive"
  | "something_else"
  | "refused"
  | "unanswered";

/**
 * Reads the answer to {@link INITIALIZE_REQUEST} (SPEC S2).
 *
 * @param answer - what came back, in whole or in part
 */
export function readInitializeAnswer(answer: ProbeAnswer): InitializeReading {
  if (answer.kind === "no_answer") return "unanswered";
  const { status, ending } = answer;
  if (status === 401 || status === 402 || status === 403) return "authorization_required";
  if (status >= 300 && status < 400) return "unanswered";
  if (status >= 300) return "refused";
  if (isEventStream(answer) ? streamHolds(answer.body) : ending === "complete" && jsonIs(answer.body)) {
    return "handshake";
  }
  return ending === "complete" ? "something_else" : "inconclusive";
}

/**
 * Tells, while an answer to {@link INITIALIZE_REQUEST} still arrives, whether its rest does not matter: an event stream
 * that holds the result may stay open for as long as it likes.
 */
export function isInitializeAnswered(answer: ProbeHead & { readonly body: Uint8Array }): boolean {
  return isEventStream(answer) && streamHolds(answer.body);
}

function isEventStream({ contentType }: ProbeHead): boolean {
  return /^\s*text\/event-stream\s*(?:;|$)/i.test(contentType);
}

function streamHolds(body: Uint8Array): boolean {
  const text = new TextDecoder().decode(body);
  return messageEvents(text).some((data) => isInitializeResponse(parseJson(data)));
}

function jsonIs(body: Uint8Array): boolean {
  return isInitializeResponse(parseJson(body));
}

/** A JSON-RPC response to our request with an `InitializeResult` of MCP in it. */
function isInitializeResponse(message: unknown): boolean {
  const response = asObject(message);
  const result = asObject(response?.get("result"));
  const server = asObject(result?.get("serverInfo"));
  return (
    response?.get("jsonrpc") === "2.0" &&
    response.get("id") === REQUEST_ID &&
    isCalendarDate(result?.get("protocolVersion")) &&
    asObject(result?.get("capabilities")) !== null &&
    isNonBlank(server?.get("name")) &&
    isNonBlank(server?.get("version"))
  );
}

/** A day of the calendar as `YYYY-MM-DD`; there is no year 0. */
function isCalendarDate(value: unknown): boolean {
  if (typeof value !== "string" || !/^(?!0000)\d{4}-\d\d-\d\d$/.test(value)) return false;
  const date = new Date(`${value}T00:00:00Z`);
  // A day that a month does not have is either no date or the day after.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value);
}

function isNonBlank(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "";
}
