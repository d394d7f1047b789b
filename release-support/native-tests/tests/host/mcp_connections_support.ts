import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { connect, createServer as createTcpServer } from "node:net";
import type { AddressInfo, Server as TcpServer, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";

import { HostRoot } from "../../../fixtures/host_root.ts";
import type { Agent } from "../../../host/agents/agent.ts";
import type { ContextOptions } from "../../../host/agents/agent.ts";
import { dispatch } from "../../../host/agents/dispatch.ts";
import { Host } from "../../../host/host.ts";
import type { ToolArgs } from "../../../host/agents/tool.ts";

/** MCP servers of a host by name, as `mcpServers` holds them. */
export type Entries = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** What a test has to close, last opened first. */
export class Cleanups {
  readonly #closers: (() => unknown)[] = [];

  /** Closes it at the end of the test. */
  add<Closable extends { close(): unknown }>(closable: Closable): Closable {
    this.#closers.push(() => closable.close());
    return closable;
  }

  async run(): Promise<void> {
    for (const close of this.#closers.splice(0).toReversed()) await close();
  }
}

/** How long a test waits for what should be there in moments, in milliseconds. */
const PATIENCE = 15_000;

/** Waits for something that has no event of its own. Gives up in the end, so that a test that fails also ends. */
export async function until(holds: () => boolean): Promise<void> {
  const end = performance.now() + PATIENCE;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`it never came to hold: ${holds.toString()}`);
    await nextTurn();
  }
}

/** A host without the plugin, with an agent that calls tools. */
export class McpHost {
  readonly root: HostRoot;
  readonly host: Host;
  readonly agent: Agent;

  private constructor(root: HostRoot, host: Host, agent: Agent) {
    this.root = root;
    this.host = host;
    this.agent = agent;
  }

  /**
   * @param entries - the global MCP servers
   * @param options - the project that the agent works on, and that project's servers
   */
  static async open(
    entries: Entries,
    options: { readonly project?: string; readonly projectEntries?: Entries } = {},
  ): Promise<McpHost> {
    const root = new HostRoot();
    root.writeMcpServers({ mcpServers: entries });
    const { project, projectEntries } = options;
    if (project !== undefined) root.writeProjectMcpServers(project, { mcpServers: projectEntries ?? {} });
    const host = await Host.open({ root: root.path, watch: false });
    const context: ContextOptions = project === undefined ? {} : { project };
    return new McpHost(root, host, host.createContext(context).agent0);
  }

  /** Calls a tool through the host's dispatch; gives what the model is told. */
  async call(name: string, args: ToolArgs = {}): Promise<string> {
    return (await dispatch(this.agent, { name, args })).message;
  }

  /** The problem that people are told of for a server, or `undefined`. */
  problem(server: string): string | undefined {
    return this.host.mcp.problems(this.agent.context.project).find(({ name }) => name === server)?.problem;
  }

  /** The qualified names of what is listed. */
  get tools(): readonly string[] {
    return this.host.mcp.toolNames(this.agent.context.project);
  }

  /** The warnings in the chat log. */
  get warnings() {
    return this.agent.context.log.items.filter(({ type }) => type === "warning");
  }

  async close(): Promise<void> {
    await this.host.close();
    this.root.remove();
  }
}

/** A door to another port that can be shut and opened again, as a server that dies and comes back. */
export class Door {
  /** How many connections came in so far. */
  connections = 0;
  readonly #target: string;
  readonly #sockets = new Set<Socket>();
  #server: TcpServer | null = null;
  #port = 0;

  private constructor(target: string) {
    this.#target = target;
  }

  /** Opens a door to the server of a URL. */
  static async to(target: string): Promise<Door> {
    const door = new Door(target);
    await door.open();
    return door;
  }

  /** The target's URL, through the door. */
  get url(): string {
    const url = new URL(this.#target);
    url.port = String(this.#port);
    return url.href;
  }

  /** Lets connections in, on the same port as before. */
  async open(): Promise<void> {
    this.#server = createTcpServer((socket) => this.#pass(socket)).listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Cuts every connection; new ones still come in. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Cuts every connection and lets none in. */
  async close(): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    this.cut();
    server.close();
    await once(server, "close");
  }

  #pass(inside: Socket): void {
    this.connections += 1;
    const outside = connect(Number(new URL(this.#target).port), "127.0.0.1");
    for (const [one, other] of [
      [inside, outside],
      [outside, inside],
    ] as const) {
      this.#sockets.add(one);
      one.on("error", () => undefined);
      one.once("close", () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }
}

/** A JSON-RPC request as it arrived. */
export interface RpcRequest {
  readonly id: number;
  readonly method: string;
  readonly params: { readonly name?: string; readonly cursor?: string };
}

/** Answers one request by hand. */
export type Answer = (response: ServerResponse, request: RpcRequest) => void;

/** A streamable HTTP server made by hand, for what servers made with the SDK do not do. Its one tool is `search`. */
export class HandmadeServer {
  /** By method; for the others it does what is right. */
  readonly answers: Record<string, Answer> = {};
  /** The methods of all messages, and `GET`, `DELETE`, in order of arrival. */
  readonly seen: string[] = [];
  tools: readonly string[] = ["search"];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor() {
    this.#server = createServer((request, response) => void this.#onRequest(request, response));
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  static async start(): Promise<HandmadeServer> {
    const made = new HandmadeServer();
    made.#server.listen(0, "127.0.0.1");
    await once(made.#server, "listening");
    return made;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  get openSockets(): number {
    return this.#sockets.size;
  }

  /** How often a method was seen. */
  count(method: string): number {
    return this.seen.filter((one) => one === method).length;
  }

  /** Closes the connections on which nothing is under way, as servers do after a while. */
  closeIdleConnections(): void {
    this.#server.closeIdleConnections();
  }

  async close(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, "close");
  }

  async #onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const message = (body === "" ? {} : JSON.parse(body)) as RpcRequest;
    const method = message.method ?? request.method ?? "";
    this.seen.push(method);
    const answer = this.answers[method] ?? this.#rightAnswer(method);
    answer(response, message);
  }

  #rightAnswer(method: string): Answer {
    switch (method) {
      case "initialize":
        return result({
          protocolVersion: "2025-06-18",
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: "handmade", version: "1.0.0" },
        });
      case "tools/list":
        return result({ tools: this.tools.map((name) => ({ name, inputSchema: { type: "object" } })) });
      case "tools/call":
        return result({ content: [{ type: "text", text: "found" }] });
      case "GET":
        return status(405);
      default:
        return status(202);
    }
  }
}

/** Answers with a result, as plain JSON and in a session. */
export function result(value: unknown): Answer {
  return (response, { id }) => {
    response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "one" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: value }));
  };
}

/** Answers with a status and nothing else. */
export function status(code: number, headers: Readonly<Record<string, string>> = {}): Answer {
  return (response) => {
    response.writeHead(code, headers).end();
  };
}

/** Begins an event stream with some text, then ends it or breaks it off. */
export function stream(written: string, ending: "end" | "break"): Answer {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(written, () => {
      if (ending === "end") response.end();
      else response.destroy();
    });
    response.flushHeaders();
  };
}
