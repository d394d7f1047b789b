import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { Agent, fetch as fetchWith } from "undici";
import type { RequestInit as UndiciInit } from "undici";

import type { HostDriver } from "../host_driver.ts";
import type { ScriptedCall } from "../scripted_model.ts";
import { LAST_WORDS, textOf } from "../scripted_model.ts";

type ClientModule = typeof import("@modelcontextprotocol/sdk/client/index.js");
type HttpModule = typeof import("@modelcontextprotocol/sdk/client/streamableHttp.js");
type TypesModule = typeof import("@modelcontextprotocol/sdk/types.js");
type GuardModule = typeof import("../../adapters/mcp-sdk/index.ts");

/** The SDK's client with a guarded transport: what the client gets stands for what a model would read. */
export const mcpSdk: HostDriver = {
  name: "mcp-sdk",
  packages: { "@modelcontextprotocol/sdk": "1.32.2" },
  model: null,
  many: 2000,
  notTestable: { "not protected": "a guard that would guard nothing is refused when it is made" },
  call: () => ({ name: "search", args: { text: "x" } }),
  async run({ scenario, world, settings, installed, plugin, calls }) {
    const load = (folder: string, file: string): Promise<unknown> =>
      import(pathToFileURL(join(folder, file)).href);
    const sdk = join(installed, "node_modules/@modelcontextprotocol/sdk/dist/esm");
    const { Client: SdkClient } = (await load(sdk, "client/index.js")) as ClientModule;
    const { StreamableHTTPClientTransport } = (await load(sdk, "client/streamableHttp.js")) as HttpModule;
    const { CallToolResultSchema } = (await load(sdk, "types.js")) as TypesModule;
    const { guardTransport } = (await load(
      plugin,
      "dist/release-support/adapters/mcp-sdk/index.js",
    )) as GuardModule;

    const dispatcher = new Agent({ connections: 64 });
    const { url } = world;
    const transport = new StreamableHTTPClientTransport(new URL(url), { fetch: boundedFetch(dispatcher) });
    const client = new SdkClient({ name: "test-hosts", version: "1.0.0" });
    try {
      await client.connect(guardTransport(transport, { server: "pub_server", url, settings }));
      if (scenario.doorShuts === true) world.door.welcome = "silence";
      const request = ({ name, args }: ScriptedCall) =>
        client.request({ method: "tools/call", params: { name, arguments: args } }, CallToolResultSchema);
      const callTool = ({ name, args }: ScriptedCall) => client.callTool({ name, arguments: args });
      const results = await Promise.all(calls.map(scenario.secondDoor === true ? request : callTool));
      await client.ping();
      return { exitCode: 0, output: LAST_WORDS, results: results.map(({ content }) => textOf(content)) };
    } finally {
      await client.close();
      await dispatcher.close();
    }
  },
};

/** For thousands of requests at once: few connections, and not a listener for each on the transport's one signal. */
function boundedFetch(dispatcher: Agent): typeof fetch {
  const bounded = (input: string, { signal, ...init }: UndiciInit & RequestInit = {}) =>
    fetchWith(input, {
      ...(init as UndiciInit),
      ...(signal === null || signal === undefined ? {} : { signal: AbortSignal.any([signal]) }),
      dispatcher,
      redirect: "error",
    });
  return bounded as unknown as typeof fetch;
}
