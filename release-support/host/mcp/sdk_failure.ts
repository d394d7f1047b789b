import { SseError } from "@modelcontextprotocol/sdk/client/sse.js";
import { McpError } from "@modelcontextprotocol/sdk/types.js";

import { McpFailure, systemCode } from "./failure.ts";
import { STREAM_ENDED } from "./http_exchanges.ts";

/**
 * Says in controlled words why an exchange over the MCP SDK failed. What the server said is kept apart, and what the
 * SDK says is dropped: it quotes servers, headers and URLs.
 *
 * @param error - what the SDK or the HTTP side below it threw
 * @param whenLost - what to say where the connection has closed, or `null` while it has not
 */
export function failureFrom(error: unknown, whenLost: string | null): McpFailure {
  if (error instanceof McpFailure) return error;
  if (error instanceof SseError) return new McpFailure("broken", streamProblem(error));
  const code = systemCode(error);
  if (code !== null) return new McpFailure("broken", `the server's process cannot be started (${code})`);
  if (error instanceof McpError)
    return whenLost === null ? protocolFailure(error) : new McpFailure("broken", whenLost);
  // A schema of the SDK refused what the server sent; the connection itself is sound.
  if (error instanceof Error && error.name.endsWith("ZodError"))
    return new McpFailure("failed", "the server's answer is not what MCP prescribes");
  return new McpFailure("broken", "the server does not speak MCP as expected");
}

/** An event stream that could not be opened. Its error has lost its class, and kept the words of the HTTP side. */
function streamProblem({ message }: SseError): string {
  const words = message.replace(/^SSE error: /, "");
  return words === "undefined" ? "the server ended the event stream" : words;
}

function protocolFailure({ code, message, data }: McpError): McpFailure {
  if (data === STREAM_ENDED) return new McpFailure("broken", "the server ended the stream without an answer");
  // The SDK puts a prefix of its own before what the server said.
  const remoteText = message.replace(/^MCP error -?\d+: /, "");
  return new McpFailure("failed", `the server answered with the JSON-RPC error ${code}`, remoteText);
}
