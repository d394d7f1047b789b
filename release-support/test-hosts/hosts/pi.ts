import { join } from "node:path";

import type { HostDriver } from "../host_driver.ts";
import { runProgram } from "../installation.ts";
import { chatCompletions } from "../scripted_model.ts";

const PI = "0.73.1";

/** pi with its extension installed in one step, and pi-mcp-adapter as the second door to the same server. */
export const pi: HostDriver = {
  name: "pi",
  packages: {
    "@mariozechner/pi-coding-agent": PI,
    "pi-mcp-adapter": "2.15.0",
    // The adapter is written for a renamed pi; these are the same packages under the names that it asks for.
    "@earendil-works/pi-ai": `npm:@mariozechner/pi-ai@${PI}`,
    "@earendil-works/pi-tui": `npm:@mariozechner/pi-tui@${PI}`,
    "@earendil-works/pi-coding-agent": `npm:@mariozechner/pi-coding-agent@${PI}`,
  },
  model: chatCompletions,
  many: 20,
  call: (secondDoor) =>
    secondDoor
      ? { name: "mcp", args: { tool: "pub_server_search", args: JSON.stringify({ text: "x" }) } }
      : { name: "pub_server_search", args: { text: "x" } },
  async run({ scenario, world, settings, installed, plugin, modelOrigin }) {
    const { folder, url } = world;
    const servers = { mcpServers: { pub_server: { url } } };
    world.write("project/.pi/agent_guild_preflight/config.json", settings);
    if (scenario.secondDoor === true) world.write("project/.mcp.json", servers);
    else world.write("project/.pi/agent_guild_preflight/mcp.json", servers);
    const models = [{ id: "scripted" }];
    const scripted = { baseUrl: `${modelOrigin}/v1`, apiKey: "dummy", api: "openai-completions", models };
    world.write("home/.pi/agent/models.json", { providers: { scripted } });

    const cli = join(installed, "node_modules/@mariozechner/pi-coding-agent/dist/cli.js");
    const program = (...args: string[]) =>
      runProgram(process.execPath, [cli, ...args], {
        cwd: join(folder, "project"),
        env: { PATH: process.env["PATH"], HOME: join(folder, "home"), PI_OFFLINE: "1" },
        ms: 60_000,
      });
    const packages = [
      plugin,
      ...(scenario.secondDoor === true ? [join(installed, "node_modules/pi-mcp-adapter")] : []),
    ];
    for (const path of packages) await program("install", "-l", path);
    return await program(
      "-p",
      "--no-session",
      "--provider",
      "scripted",
      "--model",
      "scripted",
      "Search for x.",
    );
  },
};
