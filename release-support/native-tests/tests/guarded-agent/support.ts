import { once } from "node:events";
import { createServer as createHttpsServer } from "node:https";
import { createServer } from "node:net";
import { json } from "node:stream/consumers";

import { expect } from "chai";

import { createTestAuthority } from "../../../fixtures/test_certificates.ts";
import type { CertificateOptions, TestAuthority } from "../../../fixtures/test_certificates.ts";
import { startMcpServer } from "../../../fixtures/mcp_server.ts";
import type { McpServerFixture, McpServerOptions } from "../../../fixtures/mcp_server.ts";
import { LoopbackListener, startScriptedGuild } from "../../../guild/scripted_guild.ts";
import type { ScriptedGuild, ScriptedGuildOptions } from "../../../guild/scripted_guild.ts";
import { PreflightPolicy, PublicMcpEndpoint, ScriptedPromptExecutor } from "../../../guarded-agent/index.ts";
import type {
  GuardedMcpAgent,
  GuardedMcpAgentOptions,
  Message,
  ModelTurn,
  ToolCall,
} from "../../../guarded-agent/index.ts";
import { createOnLoopback } from "../../../guarded-agent/loopback.ts";
import type { LoopbackNetwork } from "../../../guarded-agent/loopback.ts";

/** The name that every test server has. */
export const HOST = "mcp.example.com";

/** A policy that a healthy MCP server without an agent card passes. */
export const HEALTHY_PASSES = PreflightPolicy.of({
  requiredProven: ["endpoint_reachable", "protocol_handshake"],
  allowedUnknowns: [
    "agent_card_resolves",
    "agent_card_signed",
    "payment_claim_holds",
    "independent_evidence",
  ],
});

/** Certificates are slow to make and the same for all: made once, at first use. */
let madeAuthority: TestAuthority | undefined;

export function authority(): TestAuthority {
  madeAuthority ??= createTestAuthority();
  return madeAuthority;
}

/** One test's servers and agents; `close` ends them all, the agents first. */
export class Bench {
  readonly #closings: (() => Promise<unknown>)[] = [];

  /** Registers something to close. Ends run in reverse order. */
  onClose(close: () => Promise<unknown>): void {
    this.#closings.unshift(close);
  }

  /** A real MCP server behind TLS, with a certificate for {@link HOST} unless it says otherwise. */
  async server(
    options: Partial<McpServerOptions> = {},
    certificate: CertificateOptions = { names: [HOST] },
  ): Promise<McpServerFixture> {
    const tls = authority().issue(certificate);
    const server = await startMcpServer({ transport: "streamable_http", tls, ...options });
    this.onClose(() => server.close());
    return server;
  }

  async guild(options: ScriptedGuildOptions = {}): Promise<ScriptedGuild> {
    const guild = await startScriptedGuild(options);
    this.onClose(() => guild.close());
    return guild;
  }

  /** An agent through the test-only door; closed with the bench. */
  async agent(
    guild: Pick<ScriptedGuild, "origin">,
    options: Partial<GuardedMcpAgentOptions> & Pick<GuardedMcpAgentOptions, "endpoints">,
    network: Partial<LoopbackNetwork> = {},
  ): Promise<GuardedMcpAgent> {
    const agent = await createOnLoopback(loopback(guild, network), {
      promptExecutor: new ScriptedPromptExecutor([]),
      config: { maxIterations: 5 },
      policy: HEALTHY_PASSES,
      ...options,
    });
    // What a first `close` throws is for the test to look at.
    this.onClose(() => agent.close().catch(() => undefined));
    return agent;
  }

  async close(): Promise<void> {
    for (const close of this.#closings.splice(0)) await close();
  }
}

/** The network on which every name is 127.0.0.1. */
export function loopback(
  guild: Pick<ScriptedGuild, "origin">,
  network: Partial<LoopbackNetwork> = {},
): LoopbackNetwork {
  return {
    guildOrigin: guild.origin,
    resolve: () => ["127.0.0.1"],
    treatAsPublic: ["127.0.0.1"],
    ca: authority().ca,
    ...network,
  };
}

/** The URL of a server under a name. */
export function urlOf(server: { readonly url: string }, host = HOST): string {
  return `https://${host}:${new URL(server.url).port}/mcp`;
}

/** The endpoint of a server under a name. */
export function endpointOf(server: { readonly url: string }, host = HOST): PublicMcpEndpoint {
  return PublicMcpEndpoint.of(urlOf(server, host), { discloseEndpointToAgentGuild: true });
}

/** A model turn that calls tools, each with `text` as its argument; the id is the position. */
export function calling(...tools: readonly (readonly [name: string, text: string])[]): ModelTurn {
  const calls = tools.map(([name, text], index): ToolCall => ({
    id: String(index),
    name,
    arguments: { text },
  }));
  return { kind: "tool_calls", calls };
}

/** A model turn that ends the run. */
export function answering(text = "done"): ModelTurn {
  return { kind: "answer", text };
}

/** The tool results that the model saw last, each as its end and its first text. */
export function resultsSeen(executor: ScriptedPromptExecutor): [end: string, text: unknown][] {
  const messages = executor.prompts.at(-1)?.messages ?? [];
  return messages.flatMap((message) => (message.role === "tool" ? [[message.end, firstText(message)]] : []));
}

export function firstText(message: Extract<Message, { role: "tool" }>): unknown {
  return message.content[0]?.["text"];
}

/** Which error a promise rejects with; fails if it does not. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return expect.fail("it did not reject");
}

/** The code of the error that a promise rejects with. */
export async function rejectionCode(promise: Promise<unknown>): Promise<unknown> {
  return ((await rejection(promise)) as { code?: unknown }).code;
}

/** Counts the TCP connections to one address and port. */
export interface Counter {
  readonly connections: number;
  readonly port: number;
}

/** A listener that accepts and counts, and does nothing else. */
export async function countingListener(bench: Bench, host: string, port = 0): Promise<Counter> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  server.listen(port, host);
  await once(server, "listening");
  bench.onClose(() => new Promise((resolve) => server.close(resolve)));
  const bound = server.address() as { readonly port: number };
  return {
    get connections() {
      return connections;
    },
    port: bound.port,
  };
}

/** A server with a session but without tools that never answers the session's end. */
export async function deafServer(bench: Bench): Promise<{ url: string; listener: LoopbackListener }> {
  const server = createHttpsServer(authority().issue({ names: [HOST] }), (request, response) => {
    if (request.method !== "POST") return;
    void json(request).then((message) => {
      const { id } = message as { readonly id?: number };
      if (id === undefined) return response.writeHead(202).end();
      const serverInfo = { name: "deaf", version: "1" };
      const result = { protocolVersion: "2025-03-26", capabilities: {}, serverInfo };
      response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "1" });
      return response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
  });
  const listener = new LoopbackListener(server);
  const address = await listener.listen();
  bench.onClose(() => listener.close());
  return { url: `https://${address}`, listener };
}

/** A server that accepts TCP and reads, but never shakes hands. */
export async function stallingServer(
  bench: Bench,
): Promise<{ origin: string; url: string; connected: Promise<unknown>; listener: LoopbackListener }> {
  const server = createServer((socket) => socket.resume());
  const connected = once(server, "connection");
  const listener = new LoopbackListener(server);
  const origin = `https://${await listener.listen()}`;
  bench.onClose(() => listener.close());
  return { origin, url: `${origin}/mcp`, connected, listener };
}
