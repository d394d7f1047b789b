import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { FetchLike, Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { Agent as HttpAgent, fetch as undiciFetch } from "undici";

import type { LocalMcpServer, RemoteMcpServer } from "./configuration.ts";

/** A transport of the MCP SDK together with what it holds open. */
export interface OpenTransport {
  readonly transport: Transport;
  /** Closes every socket at once. */
  destroy(): Promise<void>;
}

/**
 * Makes the transport to a remote server: streamable HTTP or SSE, over connections of its own. It dials the very URL
 * of the entry, follows no redirect and uses no proxy of the process (SPEC H5, P5.7).
 */
export function remoteTransport(server: RemoteMcpServer): OpenTransport {
  const httpAgent = new HttpAgent({ connect: { rejectUnauthorized: server.verify } });
  const options = { fetch: fetchThrough(httpAgent), requestInit: { headers: server.headers } };
  const url = new URL(server.url);
  const transport =
    server.transport === "sse"
      ? new SSEClientTransport(url, options)
      : new StreamableHTTPClientTransport(url, options);
  return { transport: transport as Transport, destroy: () => httpAgent.destroy() };
}

/** Makes the transport to a local server: a process of its own, started without a shell. */
export function localTransport({ command, args, env }: LocalMcpServer): OpenTransport {
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...getDefaultEnvironment(), ...env },
    stderr: "ignore",
  });
  return { transport, destroy: () => transport.close() };
}

function fetchThrough(dispatcher: HttpAgent): FetchLike {
  return async (url, init = {}) => {
    // The SDK hands the signal of the whole connection to every request, which gathers a listener a request. Closing
    // the connection destroys the dispatcher, and with it whatever is under way: no signal is needed.
    const { signal: _, ...rest } = init;
    const request = { ...rest, redirect: "error", dispatcher };
    // The fetch of the undici package and the global one differ in their types alone.
    return (await undiciFetch(url, request as Parameters<typeof undiciFetch>[1])) as unknown as Response;
  };
}
