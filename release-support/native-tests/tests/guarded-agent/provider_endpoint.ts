import { createServer } from "node:http";
import { text } from "node:stream/consumers";

import { LoopbackListener } from "../../../guild/scripted_guild.ts";
import type { Bench } from "./support.ts";

/** One answer of a model provider: a JSON document, or the events of a stream. */
export type ProviderAnswer =
  | { readonly kind: "json"; readonly body: string | object; readonly status?: number }
  | { readonly kind: "events"; readonly lines: readonly string[] };

/** A model provider on loopback that follows a script. */
export interface ProviderEndpoint {
  readonly origin: string;
  /** The body of each request, as sent. */
  readonly bodies: readonly string[];
  /** The path of each request. */
  readonly paths: readonly string[];
  /** Body number `index`, read. */
  request(index: number): Record<string, unknown>;
}

/** Starts one; closed with the bench. */
export async function providerEndpoint(
  bench: Bench,
  answers: readonly ProviderAnswer[],
): Promise<ProviderEndpoint> {
  const bodies: string[] = [];
  const paths: string[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const answer = answers[bodies.length];
      bodies.push(body);
      paths.push(request.url ?? "");
      if (answer === undefined) return response.writeHead(400).end("{}");
      if (answer.kind === "json") {
        response.writeHead(answer.status ?? 200, { "content-type": "application/json" });
        return response.end(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body));
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const line of answer.lines) response.write(`${line}\n\n`);
      return response.end();
    });
  });
  const listener = new LoopbackListener(server);
  const origin = `http://${await listener.listen()}`;
  bench.onClose(() => listener.close());
  return {
    origin,
    bodies,
    paths,
    request: (index) => JSON.parse(bodies[index] ?? "null") as Record<string, unknown>,
  };
}

/** Events as chat completions stream them: each a line of data, then the end. */
export function dataLines(chunks: readonly (string | object)[], isWhole = true): ProviderAnswer {
  const lines = chunks.map((chunk) => `data: ${typeof chunk === "string" ? chunk : JSON.stringify(chunk)}`);
  return { kind: "events", lines: isWhole ? [...lines, "data: [DONE]"] : lines };
}

/** Events as Anthropic streams them: each with its name. */
export function namedEvents(
  events: readonly { readonly type: string; readonly [member: string]: unknown }[],
): ProviderAnswer {
  return {
    kind: "events",
    lines: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}`),
  };
}
