/**
 * The gate in pi: `pi install npm:agent-guild-preflight` loads this file. It owns guarded connections to the MCP servers of
 * its own `mcp.json` and registers their tools, and it gates the calls of pi-mcp-adapter (SPEC A2).
 *
 * @packageDocumentation
 */
import { join } from "node:path";

import type { McpConfigurationView } from "../../../helpers/host.ts";
import { configurationIn, PLUGIN_NAME } from "../../../helpers/settings/current_settings.ts";
import { askGate, askGateForAny, GATE_BROKE } from "../ask_gate.ts";
import type { AdaptedHost, GateAnswer } from "../ask_gate.ts";
import { GuardedServer } from "./guarded_server.ts";
import type { Pi, PiContext, PiToolCall } from "./pi.ts";
import { adapterServers, piFolders, readMcpEntries, serverView } from "./places.ts";
import type { McpEntry } from "./places.ts";

/** @param pi - what pi gives to an extension */
export default function agentGuildPreflight(pi: Pi): void {
  let servers: GuardedServer[] = [];

  pi.on("session_start", async (_event, context) => {
    const entries = ownEntries(context);
    const host = hostOf(pi, context.cwd, () => viewOf(entries, servers));
    servers = await connect(entries, host, context);
    const names = new Set<string>();
    for (const tool of servers.flatMap((server) => server.piTools())) {
      if (names.has(tool.name)) warn(context, "of two MCP tools with one name only the first is there");
      else pi.registerTool(tool);
      names.add(tool.name);
    }
  });

  pi.on("session_shutdown", async () => {
    await Promise.allSettled(servers.splice(0).map((server) => server.close()));
  });

  pi.on("tool_call", async (event, context) => {
    if (!isCallOfAdapter(pi, event)) return undefined;
    const answer = await answerFor(pi, event, context);
    return answer.kind === "not_denied" ? undefined : { block: true, reason: answer.text };
  });
}

/** pi blocks a call whose handler throws, and shows the model what was thrown: nothing but fixed words may be. */
async function answerFor(pi: Pi, event: PiToolCall, { cwd, signal }: PiContext): Promise<GateAnswer> {
  try {
    const host = hostOf(pi, cwd, () => adapterServers(cwd));
    const { tool = event.toolName, server } = event.input;
    const call = { tool: String(tool), signal: signal ?? new AbortController().signal };
    return typeof server === "string" && event.toolName === ADAPTER_TOOL
      ? await askGate(host, { ...call, server })
      : await askGateForAny(host, call);
  } catch (error) {
    return { kind: "denied", text: GATE_BROKE, fault: error instanceof Error ? error : null };
  }
}

/** The tool through which pi-mcp-adapter calls all others. */
const ADAPTER_TOOL = "mcp";

/** Whether a call runs a tool of pi-mcp-adapter's servers. Its `mcp` also searches and describes: that is no call. */
function isCallOfAdapter(pi: Pi, { toolName, input }: PiToolCall): boolean {
  if (toolName === ADAPTER_TOOL) return Object.hasOwn(input, "tool");
  const path = pi.getAllTools().find(({ name }) => name === toolName)?.sourceInfo.path ?? "";
  return /pi-mcp-adapter/.test(path);
}

function hostOf(pi: Pi, cwd: string, mcpConfiguration: () => McpConfigurationView): AdaptedHost {
  const { project, global } = piFolders(cwd);
  const file = join(PLUGIN_NAME, "config.json");
  return {
    root: cwd,
    whereToLook: `the session's entries named ${PLUGIN_NAME}, and the config.json of ${PLUGIN_NAME}`,
    configuration: () =>
      configurationIn([
        { scopeName: "project", path: join(project, file) },
        { scopeName: "global", path: join(global, file) },
      ]),
    mcpConfiguration,
    onDecision: (record) => pi.appendEntry(PLUGIN_NAME, record),
  };
}

/** The servers to connect to: of the project's file, or else of the user's. */
function ownEntries(context: PiContext): readonly McpEntry[] {
  const { project, global } = piFolders(context.cwd);
  try {
    const [first, second] = [project, global].map((folder) => join(folder, PLUGIN_NAME, "mcp.json"));
    return readMcpEntries(first ?? "") ?? readMcpEntries(second ?? "") ?? [];
  } catch (error) {
    warn(context, error instanceof Error ? error.message : "");
    return [];
  }
}

async function connect(
  entries: readonly McpEntry[],
  host: AdaptedHost,
  context: PiContext,
): Promise<GuardedServer[]> {
  const opened = await Promise.allSettled(entries.map((entry) => GuardedServer.open(entry, host)));
  return opened.flatMap((server, index) => {
    if (server.status === "fulfilled") return [server.value];
    warn(
      context,
      `the MCP server ${JSON.stringify(entries[index]?.name)} cannot be connected to: its tools are not there`,
    );
    return [];
  });
}

/** The entries as they were when the connections were opened: each keeps the one that it was opened for. */
function viewOf(entries: readonly McpEntry[], servers: readonly GuardedServer[]): McpConfigurationView {
  const exposed = (entry: McpEntry, tool: string) =>
    servers.some((server) => server.entry === entry && server.exposes(tool));
  return {
    servers: entries.map((entry) => serverView(entry, (tool) => exposed(entry, tool))),
    collidingNames: new Set(),
  };
}

function warn({ hasUI, ui }: PiContext, message: string): void {
  if (hasUI) ui.notify(`${PLUGIN_NAME}: ${message}`, "warning");
  else process.stderr.write(`${PLUGIN_NAME}: ${message}\n`);
}
