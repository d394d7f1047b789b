import { AsyncLocalStorage } from "node:async_hooks";

import type { GateAgent } from "../../helpers/host.ts";
import type { AgentContext } from "./agent_context.ts";
import { History } from "./history.ts";
import type { Host } from "./host.ts";
import type { Tool } from "./tools.ts";

/** The state of a running loop that extensions may look at. */
export interface LoopData {
  /** The tool object that is about to run or running; `null` between calls. */
  currentTool: Tool | null;
}

/** An agent's own configuration. */
export interface AgentConfig {
  /** The agent profile; empty for none. */
  readonly profile: string;
}

/** What belongs to one call of one agent. */
interface Call {
  readonly agent: Agent;
  readonly loopData: LoopData;
  readonly signal: AbortSignal;
}

// Which loop data a piece of code sees follows the call that it runs in. One agent may have several calls under way
// (SPEC P11.2), and each must see its own tool object, as it does where every call has an agent to itself.
const currentCall = new AsyncLocalStorage<Call>();

/** One agent of a context: number 0 is the one that people talk to. */
export class Agent implements GateAgent {
  readonly host: Host;
  readonly context: AgentContext;
  readonly number: number;
  readonly config: AgentConfig;
  /** The agent that this one works for; `null` for agent 0. */
  readonly superior: Agent | null;
  readonly history = new History();
  readonly #data = new Map<string, unknown>();
  readonly #loopData: LoopData = { currentTool: null };

  constructor(context: AgentContext, number: number, config: AgentConfig, superior: Agent | null = null) {
    this.host = context.host;
    this.context = context;
    this.number = number;
    this.config = Object.freeze({ ...config });
    this.superior = superior;
  }

  /** The loop data of the call that this code runs in; between calls the agent's own. */
  get loopData(): LoopData {
    return this.#call?.loopData ?? this.#loopData;
  }

  /** Fires when the call that this code runs in is cancelled; between calls, when the context's next task is. */
  get signal(): AbortSignal {
    return this.#call?.signal ?? this.context.signal;
  }

  get #call(): Call | null {
    const call = currentCall.getStore();
    return call?.agent === this ? call : null;
  }

  /** Runs one call with loop data and a cancellation of its own. */
  inOwnCall<Result>(run: () => Promise<Result>): Promise<Result> {
    const call = { agent: this, loopData: { currentTool: null }, signal: this.signal };
    return currentCall.run(call, run);
  }

  getData(key: string): unknown {
    return this.#data.get(key);
  }

  setData(key: string, value: unknown): void {
    this.#data.set(key, value);
  }
}
