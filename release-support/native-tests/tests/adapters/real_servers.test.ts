import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect } from "chai";

import { fetchWithoutRedirects, guardTransport } from "../../../adapters/mcp-sdk/index.ts";
import { endpointDown } from "../../../guild/preflight_bodies.ts";
import { ServerEverything } from "../host/server_everything_process.ts";
import { guardedSuite, newClient, textOf } from "./guarded_suite.ts";

describe("a guarded transport before server-everything", function () {
  // It is a process of its own.
  this.timeout(30_000);
  const { protecting, guild, closings } = guardedSuite();

  for (const kind of ["streamableHttp", "sse"] as const) {
    it(`lets calls, progress and pages of ${kind} through, and denies when it must [A1]`, async () => {
      const server = await ServerEverything.start(kind);
      closings.push(() => server.close());
      const { url } = server;
      const Transport = kind === "sse" ? SSEClientTransport : StreamableHTTPClientTransport;
      const transport = new Transport(new URL(url), { fetch: fetchWithoutRedirects });
      const client = newClient();
      closings.push(() => client.close());
      const settings = protecting(url, { cache_ttl_seconds: 0 });
      await client.connect(
        guardTransport(transport, { server: "pub_server", url, settings, alsoGate: ["resources/read"] }),
      );

      expect((await client.listTools()).tools.map(({ name }) => name)).to.include("echo");
      const numbers = Array.from({ length: 100 }, (_, index) => index);
      const sums = await Promise.all(
        numbers.map((a) => client.callTool({ name: "get-sum", arguments: { a, b: 1 } })),
      );
      expect(sums.map(textOf)).to.deep.equal(numbers.map((a) => `The sum of ${a} and 1 is ${a + 1}.`));

      const steps: number[] = [];
      const long = { name: "trigger-long-running-operation", arguments: { duration: 0.2, steps: 2 } };
      await client.callTool(long, undefined, { onprogress: ({ progress }) => void steps.push(progress) });
      expect(steps).to.include(1);

      const [resource] = (await client.listResources()).resources;
      guild().answer("*", { kind: "json", body: endpointDown });
      // The client knows what this tool's results look like, and a denial is none of them.
      const denied = await client.callTool({
        name: "get-structured-content",
        arguments: { location: "Chicago" },
      });
      expect(denied.isError).to.equal(true);
      expect(textOf(denied)).to.include("(do_not_delegate)");
      const refused: unknown = await client
        .readResource({ uri: resource?.uri ?? "" })
        .catch((e: unknown) => e);
      expect(String(refused)).to.include("(do_not_delegate)");
    });
  }
});
