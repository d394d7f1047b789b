import { SSEClientTransport, SseError } from "@modelcontextprotocol/sdk/client/sse.js";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";

import type { LocalMcpServer, McpServer, RemoteMcpServer } from "./configuration.ts";
import { McpFailure } from "./failure.ts";
import { HttpExchanges } from "./http_exchanges.ts";
import type { ServerLog } from "./server_log.ts";

/** A transport of the MCP SDK together with what it holds open. */
export interface OpenTransport {
  readonly transport: Transport;
  /** What it means when the transport closes by itself, in controlled words. */
  readonly whenLost: string;
  /** Tells the server that the session is over, where there is a way to. */
  endSession(): Promise<void>;
  /** Closes everything at once and waits until it is closed. */
  destroy(): Promise<void>;
}

/**
 * Makes the transport to a server; nothing is opened yet.
 *
 * @param server - the entry
 * @param log - gets what a local server writes on its standard error
 * @throws McpFailure when the entry holds something that no transport can use
 */
export function makeTransport(server: McpServer, log: ServerLog): OpenTransport {
  return server.kind === "remote" ? remoteTransport(server) : localTransport(server, log);
}

/**
 * The transport to a remote server: streamable HTTP or SSE, over connections of its own. It dials the very URL of the
 * entry, follows no redirect and uses no proxy of the process (SPEC H5, P5.7).
 */
function remoteTransport(server: RemoteMcpServer): OpenTransport {
  const url = urlOf(server);
  const headers = usableHeaders(server);
  const exchanges = new HttpExchanges(server);
  const options = { fetch: exchanges.fetch, requestInit: { headers } };
  const destroy = () => exchanges.destroy();
  return server.transport === "sse"
    ? sseTransport(new EventStreamTransport(url, options), destroy)
    : streamableTransport(url, options, destroy);
}

function sseTransport(transport: EventStreamTransport, destroy: OpenTransport["destroy"]): OpenTransport {
  return {
    transport,
    whenLost: "the server ended the event stream",
    endSession: () => Promise.resolve(),
    destroy,
  };
}

/** The SDK's transport, which ends with its stream. */
class EventStreamTransport extends SSEClientTransport {
  /**
   * Opens the stream. The SDK would open it anew whenever it ends: that is another session, which nobody initialises,
   * and whatever waits for an answer on this one would wait for ever.
   */
  override async start(): Promise<void> {
    await super.start();
    const tell = this.onerror;
    // The SDK tells of the stream's end in no other way.
    // oxlint-disable-next-line unicorn/prefer-add-event-listener
    this.onerror = (error) => {
      tell?.(error);
      if (error instanceof SseError) void this.close();
    };
  }
}

function streamableTransport(
  url: URL,
  options: ConstructorParameters<typeof StreamableHTTPClientTransport>[1],
  destroy: OpenTransport["destroy"],
): OpenTransport {
  // For the stream of unasked messages alone: a call's own stream is never resumed.
  const reconnectionOptions = {
    initialReconnectionDelay: 1000,
    maxReconnectionDelay: 30_000,
    reconnectionDelayGrowFactor: 1.5,
    maxRetries: 2,
  };
  const transport = new StreamableHTTPClientTransport(url, { ...options, reconnectionOptions });
  return {
    transport,
    whenLost: "the connection was closed",
    endSession: () => transport.terminateSession(),
    destroy: () => {
      // A reconnection that is under way and fails would be tried again although the transport is closed.
      reconnectionOptions.maxRetries = 0;
      return destroy();
    },
  };
}

function urlOf({ url }: RemoteMcpServer): URL {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed?.protocol === "http:" || parsed?.protocol === "https:") return parsed;
  throw new McpFailure("broken", "the entry's url is no http or https URL");
}

function usableHeaders({ headers }: RemoteMcpServer): Headers {
  try {
    return new Headers(headers);
  } catch {
    // The error repeats the header, which may be a secret.
    throw new McpFailure("broken", "the entry's headers cannot be sent in a request");
  }
}

/** The transport to a local server: a process of its own, started without a shell. */
function localTransport({ command, args, env }: LocalMcpServer, log: ServerLog): OpenTransport {
  if (command === "") throw new McpFailure("broken", "the entry names neither a url nor a command");
  const transport = new ProcessTransport({
    command,
    args: [...args],
    env: { ...getDefaultEnvironment(), ...env },
    stderr: "pipe",
  });
  transport.stderr?.on("data", (bytes: Buffer) => log.append(bytes));
  return {
    transport,
    whenLost: "the server's process has ended",
    endSession: () => Promise.resolve(),
    destroy: () => transport.close(),
  };
}

/** How long the end of a process that was killed is waited for, in milliseconds. */
const LAST_WAIT = 1000;

/** The SDK's transport, with three of its habits mended. */
class ProcessTransport extends StdioClientTransport {
  #lastSend: Promise<unknown> = Promise.resolve();
  /** Resolves when the process has ended and its pipes are closed; at once while none has been started. */
  #ended: Promise<void> = Promise.resolve();
  #closing: Promise<void> | null = null;

  override async start(): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      const tell = this.onclose;
      // The SDK tells of the process's end in no other way.
      // oxlint-disable-next-line unicorn/prefer-add-event-listener
      this.onclose = () => {
        tell?.();
        resolve();
      };
    });
    await super.start();
    this.#ended = ended;
  }

  /** One message after the other: with a full pipe, each message would wait for it with a listener of its own. */
  override send(message: JSONRPCMessage): Promise<void> {
    const sent = this.#lastSend.then(() => super.send(message));
    this.#lastSend = sent.catch(() => undefined);
    return sent;
  }

  /** Waits for the end of the process, also when it had to be killed. */
  override close(): Promise<void> {
    this.#closing ??= this.#endProcess();
    return this.#closing;
  }

  async #endProcess(): Promise<void> {
    await super.close();
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, LAST_WAIT);
    });
    await Promise.race([this.#ended, patience]);
    clearTimeout(timer);
  }
}
