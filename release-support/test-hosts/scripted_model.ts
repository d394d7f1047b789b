import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** A call that the model asks for. */
export interface ScriptedCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** What the model says once it has seen what became of its calls: the sign that the host went on. */
export const LAST_WORDS = "The script is over.";

/** A way of speaking to a model. */
export interface ModelProtocol {
  /** The results of tools in a request, in order. */
  toolResults(request: unknown): string[];
  /** Writes a turn of the model. */
  respond(response: ServerResponse, turn: readonly ScriptedCall[] | string): void;
}

/** A model endpoint on loopback: asks for its calls in one turn, and once it sees their results ends with a text. */
export class ScriptedModel {
  readonly origin: string;
  /** What the last request said about the calls' results, in order. */
  toolResults: readonly string[] = [];
  readonly #server: Server;

  private constructor(server: Server, origin: string) {
    this.#server = server;
    this.origin = origin;
  }

  /**
   * @param protocol - how the host speaks to it
   * @param calls - what it asks for
   * @param onFirst - told when the host first asks, so when it has started
   */
  static async open(
    protocol: ModelProtocol,
    calls: readonly ScriptedCall[],
    onFirst: () => void,
  ): Promise<ScriptedModel> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const model = new ScriptedModel(server, `http://127.0.0.1:${port}`);
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      if (request.method !== "POST") return void response.writeHead(404).end();
      const body: unknown = await json(request);
      onFirst();
      const results = protocol.toolResults(body);
      if (results.length > 0) model.toolResults = results;
      // Hosts also ask for titles and the like: those offer no tools, or come with results already.
      const offersTools = typeof body === "object" && body !== null && "tools" in body;
      protocol.respond(response, results.length === 0 && offersTools ? calls : LAST_WORDS);
    };
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      answer(request, response).catch(() => response.destroy());
    });
    return model;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

/** OpenAI's chat completions, as a stream. */
export const chatCompletions: ModelProtocol = {
  toolResults(request) {
    const { messages = [] } = request as { messages?: { role: string; content: unknown }[] };
    return messages.filter(({ role }) => role === "tool").map(({ content }) => textOf(content));
  },
  respond(response, turn) {
    const delta =
      typeof turn === "string"
        ? { content: turn }
        : {
            tool_calls: turn.map(({ name, args }, index) => ({
              index,
              id: `call_${index}`,
              type: "function",
              function: { name, arguments: JSON.stringify(args) },
            })),
          };
    const reason = typeof turn === "string" ? "stop" : "tool_calls";
    const events = [
      { index: 0, delta: { role: "assistant", ...delta }, finish_reason: null },
      { index: 0, delta: {}, finish_reason: reason },
    ].map((choice) => ({
      id: "scripted",
      object: "chat.completion.chunk",
      created: 0,
      model: "scripted",
      choices: [choice],
    }));
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
    response.end("data: [DONE]\n\n");
  },
};

/** The text of a content that may be a text or a list of parts. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return (content as { text?: unknown }[])
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .join("\n");
}
