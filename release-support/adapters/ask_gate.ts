import { gate } from "../../helpers/gate.ts";
import type { GateAgent, KeptConfiguration, McpConfigurationView } from "../../helpers/host.ts";
import { normalizeServerName } from "../../helpers/binding/names.ts";
import { LAST_OBSERVATION_KEY } from "../../helpers/decision/evidence.ts";
import type { DecisionRecord } from "../../helpers/decision/evidence.ts";
import { checkConfiguration } from "../../helpers/settings/current_settings.ts";

/** What an adapter knows of its host: the facts that the gate asks for, in the host's own words (SPEC A2). */
export interface AdaptedHost {
  /** The folder that the host works in: absolute. */
  readonly root: string;
  /** Where its operator finds the decisions, see `GateHost`. */
  readonly whereToLook: string;
  /** The plugin's configuration as it is now. */
  configuration(): Promise<KeptConfiguration>;
  /** The MCP servers that a call can reach, as they are now. */
  mcpConfiguration(): McpConfigurationView;
  /** Gets each decision before it counts; what it throws denies the call. */
  onDecision?(record: DecisionRecord): void;
}

/** One call that is about to be made. */
export interface AdaptedCall {
  /** The server's name as the host writes it. */
  readonly server: string;
  readonly tool: string;
  /** Fires when nobody wants the call any more. */
  readonly signal: AbortSignal;
}

/** What the gate says of a call. Not denied is not approved: the host's own permissions come on top (SPEC A3). */
export type GateAnswer =
  | { readonly kind: "not_denied" }
  | {
      readonly kind: "denied";
      /** What the model may see. */
      readonly text: string;
      /** What broke inside the gate, for the operator alone; `null` when nothing did. */
      readonly fault: Error | null;
    };

/**
 * Asks the gate about one call of a host that it was not written for. Whatever breaks on the way is a denial in fixed
 * words: there is no third way out (SPEC A2).
 *
 * @param host - what is known about the host
 * @param call - the call
 * @throws the reason of the call's signal when that fires, whatever the gate found until then (SPEC P11.1)
 */
export async function askGate(host: AdaptedHost, call: AdaptedCall): Promise<GateAnswer> {
  let answer: GateAnswer = { kind: "denied", text: GATE_BROKE, fault: null };
  try {
    await gate(agentOf(host, call));
    answer = { kind: "not_denied" };
  } catch (error) {
    answer =
      error instanceof Denial
        ? { kind: "denied", text: error.message, fault: null }
        : { kind: "denied", text: GATE_BROKE, fault: asError(error) };
  }
  call.signal.throwIfAborted();
  return answer;
}

/**
 * Asks about a call whose host does not tell which server it goes to: once for each protected server, since it may go to
 * any of them. The first denial counts.
 *
 * @param host - what is known about the host
 * @param call - the call
 * @throws as {@link askGate} does
 */
export async function askGateForAny(
  host: AdaptedHost,
  call: Omit<AdaptedCall, "server">,
): Promise<GateAnswer> {
  for (const server of await serversToAskAbout(host)) {
    const answer = await askGate(host, { ...call, server });
    if (answer.kind !== "not_denied") return answer;
  }
  call.signal.throwIfAborted();
  return { kind: "not_denied" };
}

/** The protected servers. With settings that cannot be used, or read, any name is as good: the gate denies them all. */
async function serversToAskAbout(host: AdaptedHost): Promise<Iterable<string>> {
  try {
    const current = await checkConfiguration(await host.configuration());
    if (current.kind === "valid") return current.settings.protectedServers.keys();
  } catch {
    // Whatever broke breaks in the gate too, which knows what to make of it.
  }
  return [NAMELESS];
}

/** What the model sees when the gate cannot do its work. */
export const GATE_BROKE = [
  "agent_guild_preflight blocked this tool call: the gate itself failed, and what it cannot judge does not run.",
  "The tool did not run. Repeating the call changes nothing by itself: choose another tool, or tell the operator.",
].join("\n");

class Denial extends Error {
  override readonly name = "Denial";
}

/** Stands where there is no name: without one, a tool would have no server part either and count as unprotected. */
const NAMELESS = "<nameless>";

/** The agent of this one call. Its tool is the call itself, so no look-alike is vouched for. */
function agentOf(host: AdaptedHost, call: AdaptedCall): GateAgent {
  const name = `${normalizeServerName(call.server)}.${call.tool === "" ? NAMELESS : call.tool}`;
  return {
    host: {
      root: host.root,
      whereToLook: host.whereToLook,
      vouchedMcpToolName: (tool) => (tool === call ? name : null),
      mcpConfiguration: () => host.mcpConfiguration(),
      configuration: () => host.configuration(),
      cancellation: () => call.signal,
      RepairableException: Denial,
    },
    config: { profile: "" },
    context: { getData: () => null, log: { log: () => undefined } },
    loopData: { currentTool: call },
    // The host keeps the records, if anybody does.
    getData: () => undefined,
    setData: (key, value) => {
      if (key === LAST_OBSERVATION_KEY) host.onDecision?.(value as DecisionRecord);
    },
  };
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error("something that is no error was thrown");
}
