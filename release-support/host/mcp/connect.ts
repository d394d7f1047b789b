import { Agent as HttpAgent } from "undici";

import type { Channel } from "../../mcp/channel.ts";
import { McpConnection } from "../../mcp/connection.ts";
import { McpFailure } from "../../mcp/failure.ts";
import { fetchOver } from "../../mcp/http_carrier.ts";
import type { Carrier } from "../../mcp/http_carrier.ts";
import { LegacySse } from "../../mcp/legacy_sse.ts";
import { Stdio } from "../../mcp/stdio.ts";
import { StreamableHttp } from "../../mcp/streamable_http.ts";
import type { McpServer, RemoteMcpServer } from "./configuration.ts";
import type { ServerLog } from "./server_log.ts";

/** How many TCP connections one MCP connection may hold; further requests wait for their turn. */
const MAX_SOCKETS = 128;
/** The largest answer that is read, in bytes: more than any model can use, and little enough for any machine. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
const LISTING = { maxPages: 1000, maxTools: 10_000 };

/** Headers that say how a request is framed or where it goes: with other ones it could not be sent, or not to this URL. */
const OWN_HEADERS = [
  "Connection",
  "Content-Length",
  "Expect",
  "Host",
  "HTTP2-Settings",
  "Keep-Alive",
  "Proxy-Connection",
  "TE",
  "Trailer",
  "Transfer-Encoding",
  "Upgrade",
];

/**
 * Makes the connection to a configured server; nothing is opened yet. It serves this exact entry and no other (SPEC P5.7).
 *
 * @param log - gets what a local server writes on its standard error
 * @throws McpFailure when the entry holds something that cannot be dialled or started
 */
export function connectionTo(server: McpServer, log: ServerLog): McpConnection {
  return new McpConnection(channelTo(server, log), {
    clientName: "agent-guild-preflight-host",
    initSeconds: server.initTimeout,
    toolSeconds: server.toolTimeout,
    ...LISTING,
  });
}

function channelTo(server: McpServer, log: ServerLog): Channel {
  if (server.kind === "remote") {
    const { href: url } = urlOf(server);
    const http = {
      url,
      headers: headersOf(server),
      carrier: carrierTo(server),
      maxAnswerBytes: MAX_ANSWER_BYTES,
    };
    return server.transport === "sse" ? new LegacySse(http) : new StreamableHttp(http, { opensStream: true });
  }
  const { command, args, env } = server;
  if (command === "") throw McpFailure.notSent("the entry names neither a url nor a command");
  const onError = (bytes: Buffer) => log.append(bytes);
  return new Stdio({ command, args, env, onError, maxAnswerBytes: MAX_ANSWER_BYTES });
}

function carrierTo({ verify, initTimeout }: RemoteMcpServer): Carrier {
  const agent = new HttpAgent({
    connections: MAX_SOCKETS,
    connect: { rejectUnauthorized: verify, timeout: initTimeout * 1000 },
    // A tool may think for hours and a stream be silent for days: the limits are those of the entry.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    fetch: (url, init, sending) => fetchOver(agent, url, init, sending),
    destroy: () => agent.destroy(),
  };
}

function urlOf({ url }: RemoteMcpServer): URL {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed?.protocol === "http:" || parsed?.protocol === "https:") return parsed;
  throw McpFailure.notSent("the entry's url is no http or https URL");
}

function headersOf(server: RemoteMcpServer): Headers {
  let headers: Headers;
  try {
    headers = new Headers(server.headers);
  } catch {
    // The error repeats the header, which may be a secret.
    throw McpFailure.notSent("the entry's headers cannot be sent in a request");
  }
  const own = OWN_HEADERS.find((name) => headers.has(name));
  if (own === undefined) return headers;
  throw McpFailure.notSent(`the entry's headers name ${own}, which the host sets itself: take it out`);
}
