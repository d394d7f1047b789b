import { LAST_OBSERVATION_KEY } from "../../helpers/decision/evidence.ts";
import type { DecisionRecord } from "../../helpers/decision/evidence.ts";
import type { Reason } from "../../helpers/decision/decision.ts";
import type { Agent, LoopData } from "./agents/agent.ts";
import { exceptionKind } from "./agents/exceptions.ts";
import type { Host } from "./host.ts";
import type { ToolResponse } from "./agents/tool.ts";

/** Every reason that a call's ending can have: the gate's, and the two that only an onlooker can tell (SPEC P8). */
export type CallReason = Reason | "not_protected" | "tool_policy";

/** How one call ended. */
export type CallEnding =
  /** The tool ran; `toolError` is what MCP calls an error result. */
  | { readonly kind: "ran"; readonly reason: CallReason; readonly toolError: boolean }
  /** It was stopped before it ran. The reason is `null` when another extension than the gate did it. */
  | { readonly kind: "denied"; readonly reason: CallReason | null }
  /** No server and no local tool has the name. */
  | { readonly kind: "no_such_tool" }
  /** Something went wrong that is no denial; it did not end with a result. */
  | { readonly kind: "failed" };

/** When something happened in a call, in milliseconds since the recorder began. */
export interface CallTimes {
  readonly asked: number;
  /** The tool was looked up. */
  readonly found?: number;
  /** The host's own tool policy was asked. */
  readonly policy?: number;
  /** The gate read the settings, and looks at the binding. */
  readonly bound?: number;
  /** The gate waited for the Guild, and looks at the binding again. */
  readonly confirmed?: number;
  /** Nothing objects any more, or something did. */
  readonly decided?: number;
  /** The tool has answered. */
  readonly answered?: number;
}

/** One call as an onlooker saw it. */
export interface RecordedCall {
  /** The tool's name as it was asked for: the model's words. */
  readonly tool: string;
  /** Whether a worker of a parallel call made it. */
  readonly byWorker: boolean;
  readonly times: CallTimes;
  readonly ending: CallEnding;
  /** The gate's own record; `null` when it made none. */
  readonly record: DecisionRecord | null;
}

/** A call while it is under way. */
interface OpenCall {
  readonly agent: Agent;
  readonly tool: string;
  readonly times: { -readonly [Moment in keyof CallTimes]: CallTimes[Moment] };
  readonly recordBefore: unknown;
  isKnown: boolean;
  policyDenied: boolean;
  ending: CallEnding | null;
  record: DecisionRecord | null;
}

/**
 * Watches the calls of one host, from its public methods alone: each is passed on as it is, and what it is given and
 * gives is noted. Nothing that the host or the gate decides depends on it.
 */
export class CallRecorder {
  readonly #begin = performance.now();
  readonly #open = new Map<LoopData, OpenCall>();
  #calls: OpenCall[] = [];

  /** @param host - whose calls to watch from now on, for good */
  constructor(host: Host) {
    this.#watchLookup(host);
    this.#watchGate(host);
    this.#watchExtensions(host);
  }

  /** How long the recorder has been watching, in milliseconds. */
  now(): number {
    return performance.now() - this.#begin;
  }

  /** The calls since the last time, in the order in which they began. Those that have not ended count as failed. */
  take(): RecordedCall[] {
    const calls = this.#calls;
    this.#calls = [];
    this.#open.clear();
    return calls.map(({ agent, tool, times, ending, record }) => ({
      tool,
      byWorker: agent.context.parent !== null,
      times,
      ending: ending ?? { kind: "failed" },
      record,
    }));
  }

  /** A call begins with the lookup of its tool, in loop data of its own. */
  #watchLookup(host: Host): void {
    const findTool = host.mcp.findTool.bind(host.mcp);
    host.mcp.findTool = async (agent, name) => {
      const call: OpenCall = {
        agent,
        tool: name,
        times: { asked: this.now() },
        recordBefore: agent.getData(LAST_OBSERVATION_KEY),
        isKnown: Object.hasOwn(host.localTools, name),
        policyDenied: false,
        ending: null,
        record: null,
      };
      this.#open.set(agent.loopData, call);
      this.#calls.push(call);
      const tool = await findTool(agent, name);
      call.isKnown ||= tool !== null;
      call.times.found = this.now();
      return tool;
    };
  }

  #watchGate(host: Host): void {
    const enforceToolPolicy = host.enforceToolPolicy.bind(host);
    host.enforceToolPolicy = (agent, tool) => {
      const call = this.#open.get(agent.loopData);
      if (call !== undefined) call.times.policy ??= this.now();
      try {
        enforceToolPolicy(agent, tool);
      } catch (error) {
        if (call !== undefined) call.policyDenied = true;
        throw error;
      }
    };
    const mcpConfiguration = host.mcpConfiguration.bind(host);
    host.mcpConfiguration = (agent) => {
      const times = this.#open.get(agent.loopData)?.times;
      if (times?.bound !== undefined) times.confirmed ??= this.now();
      else if (times !== undefined) times.bound = this.now();
      return mcpConfiguration(agent);
    };
  }

  #watchExtensions(host: Host): void {
    const callPoint = host.extensions.call.bind(host.extensions);
    host.extensions.call = async (point, agent, kwargs) => {
      const call = this.#open.get(agent.loopData);
      if (call !== undefined && point === "tool_execute_after") {
        call.times.answered = this.now();
        call.ending = ranEnding(call, kwargs["response"] as ToolResponse);
      }
      try {
        await callPoint(point, agent, kwargs);
      } catch (error) {
        if (call !== undefined) call.ending ??= stoppedEnding(call, error);
        throw error;
      } finally {
        if (call !== undefined && point === "tool_execute_before") this.#noteDecision(call);
      }
    };
  }

  #noteDecision(call: OpenCall): void {
    call.times.decided = this.now();
    call.record = newRecord(call);
  }
}

/** The gate makes one record a call, and an agent's calls follow one another: a record that was not there is its. */
function newRecord({ agent, recordBefore }: OpenCall): DecisionRecord | null {
  const record = agent.getData(LAST_OBSERVATION_KEY);
  return record === recordBefore ? null : ((record ?? null) as DecisionRecord | null);
}

function ranEnding(call: OpenCall, response: ToolResponse): CallEnding {
  if (!call.isKnown) return { kind: "no_such_tool" };
  return {
    kind: "ran",
    reason: call.record?.reason ?? "not_protected",
    toolError: response.message.startsWith("ERROR:"),
  };
}

function stoppedEnding(call: OpenCall, error: unknown): CallEnding {
  if (exceptionKind(error) !== "repairable") return { kind: "failed" };
  if (call.policyDenied) return { kind: "denied", reason: "tool_policy" };
  return { kind: "denied", reason: newRecord(call)?.reason ?? configurationReason(error) };
}

/** An unusable configuration makes no record: its message, which is the gate's own, tells. */
function configurationReason(error: unknown): CallReason | null {
  const code = "(configuration_invalid)";
  return error instanceof Error && error.message.includes(code) ? "configuration_invalid" : null;
}
