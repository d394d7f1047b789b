import { once } from "node:events";
import { createServer, request as startRequest } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * What newcomers meet: the server itself; a web page in its place; a demand for authorization; a connection that ends
 * without an answer.
 */
export type Welcome = "server" | "web_page" | "authorization" | "silence";

/**
 * A gateway on loopback in front of an MCP server. Sessions that it knows always get through, as behind a real one, so
 * that the host keeps its connection; what a newcomer meets, the Guild's probe for one, can be changed.
 */
export class FrontDoor {
  /** What newcomers meet from now on. */
  welcome: Welcome = "server";
  /** The endpoint that newcomers dial. */
  readonly url: string;
  readonly #server: Server;

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  /**
   * Opens it on a free port.
   *
   * @param behind - the URL of the server behind it
   */
  static async open(behind: string): Promise<FrontDoor> {
    const target = new URL(behind);
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const door = new FrontDoor(server, `http://127.0.0.1:${port}${target.pathname}`);
    server.on("request", (request: IncomingMessage, response: ServerResponse) =>
      door.#onRequest(target, request, response),
    );
    return door;
  }

  /** Ends every connection and stops listening. */
  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #onRequest(target: URL, request: IncomingMessage, response: ServerResponse): void {
    const isKnown = request.headers["mcp-session-id"] !== undefined;
    switch (isKnown ? "server" : this.welcome) {
      case "web_page":
        response.writeHead(200, { "content-type": "text/html" });
        response.end("<!doctype html><title>Under construction</title>");
        return;
      case "authorization":
        response.writeHead(401, { "www-authenticate": "Bearer" });
        response.end();
        return;
      case "silence":
        response.destroy();
        return;
      default:
        forward(target, request, response);
    }
  }
}

function forward(target: URL, request: IncomingMessage, response: ServerResponse): void {
  // What a client says of its own connection is not passed on; each request has another one.
  const { connection: _, ...headers } = request.headers;
  const onward = startRequest({
    host: target.hostname,
    port: target.port,
    method: request.method,
    path: request.url,
    headers,
    agent: false,
  });
  onward.on("response", (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
    answer.on("error", () => response.destroy());
  });
  onward.on("error", () => response.destroy());
  response.on("close", () => onward.destroy());
  request.pipe(onward);
}
