import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { PLUGIN_NAME } from "../../../helpers/settings/current_settings.ts";
import { LAST_OBSERVATION_KEY } from "../../../helpers/decision/evidence.ts";
import type { GateAgent } from "../../../helpers/host.ts";
import type { Agent } from "../../host/agents/agent.ts";
import type { ExtensionClass } from "../../host/extensions/extension_modules.ts";

/** How the self-test ended, in words. */
export interface SelfTest {
  readonly passed: boolean;
  readonly words: string;
}

/** A server that nobody configures, and a tool of it. */
const SERVER = "gate_self_test";
const TOOL_NAME = `${SERVER}.probe`;

/**
 * Settings that protect the server. A gate that went on to ask all the same would ask a port of this machine at which
 * nobody listens.
 */
const SETTINGS = {
  protected_servers: { [SERVER]: "https://gate-self-test.example.com/mcp" },
  fixture_guild_origin: "http://127.0.0.1:1",
};

/** How long a gate may take to deny what it knows at once, in milliseconds. */
const PATIENCE_MS = 3000;

/** The stand-in host's repairable exception: only this self-test makes any. */
class Denial extends Error {}

/**
 * Runs what the root loads in the gate's place on a tool of a server that nobody configured, under settings that protect
 * it: it must deny with `server_not_configured`, so that a gate that is not wired shows (SPEC C4). The settings lie in a
 * folder of their own; the root is neither read nor written, and nobody is asked.
 *
 * @param gate - the extension's class as the root loads it; `null` when it loads none
 */
export async function selfTest(gate: ExtensionClass | null): Promise<SelfTest> {
  if (gate === null) return failed("nothing is loaded in the gate's place, so every call passes");
  const root = mkdtempSync(join(tmpdir(), "agent-guild-preflight-self-test-"));
  try {
    const folder = join(root, "usr", "plugins", PLUGIN_NAME);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "config.json"), JSON.stringify(SETTINGS));
    return await judge(gate, root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function judge(Gate: ExtensionClass, root: string): Promise<SelfTest> {
  const data = new Map<string, unknown>();
  const waiting = new AbortController();
  const late = delay(PATIENCE_MS, "late" as const, { signal: waiting.signal });
  late.catch(() => undefined);
  try {
    const agent = standIn(root, data);
    const running = (async () => new Gate(agent).execute({ toolArgs: {}, toolName: TOOL_NAME }))();
    const end = await Promise.race([running, late]);
    if (end === "late") return failed("the gate neither denied nor returned");
    return failed("the gate let a call pass that it had to deny");
  } catch (error) {
    if (!(error instanceof Denial)) return failed("the gate threw something else than a denial");
  } finally {
    waiting.abort();
  }
  const record = data.get(LAST_OBSERVATION_KEY) as { reason?: unknown } | undefined;
  if (record?.reason === "server_not_configured") {
    return { passed: true, words: "the loaded gate denied a protected server that nobody configured" };
  }
  return failed("the gate denied for another reason than server_not_configured");
}

/** As much of a host and an agent as the gate needs. */
function standIn(root: string, data: Map<string, unknown>): Agent {
  const tool = Object.freeze({ name: TOOL_NAME });
  const agent: GateAgent = {
    host: {
      root,
      vouchedMcpToolName: (candidate) => (candidate === tool ? TOOL_NAME : null),
      mcpConfiguration: () => ({ servers: [], collidingNames: new Set() }),
      cancellation: () => new AbortController().signal,
      RepairableException: Denial,
    },
    config: { profile: "" },
    context: { getData: () => undefined, log: { log: () => undefined } },
    loopData: { currentTool: tool },
    getData: (key) => data.get(key),
    setData: (key, value) => void data.set(key, value),
  };
  // The gate's contract is GateAgent; an extension of another kind in its place finds less than it expects, and fails.
  return agent as Agent;
}

function failed(words: string): SelfTest {
  return { passed: false, words };
}
