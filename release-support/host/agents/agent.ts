import { AsyncLocalStorage } from "node:async_hooks";

import type { GateAgent } from "../../../helpers/host.ts";
import { onAbort } from "../../../helpers/on_abort.ts";
import type { AgentContext } from "./agent_context.ts";
import { History } from "./history.ts";
import type { Host } from "../host.ts";
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

/** A piece of an agent's work: a monologue, or one call of a tool. */
interface Task {
  readonly agent: Agent;
  readonly loopData: LoopData;
  readonly signal: AbortSignal;
  /** The task that this one is a part of. */
  readonly outer: Task | undefined;
}

// Which loop data and which cancellation a piece of code sees follows the task that it runs in. One agent may have
// several calls under way (SPEC P11.2), and each must see its own tool object, as it does where every call has an agent
// to itself.
const currentTask = new AsyncLocalStorage<Task>();

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
  readonly #idle: LoopData = { currentTool: null };
  /** The tasks under way, the latest last. */
  readonly #tasks = new Set<Task>();

  constructor(context: AgentContext, number: number, config: AgentConfig, superior: Agent | null = null) {
    this.host = context.host;
    this.context = context;
    this.number = number;
    this.config = Object.freeze({ ...config });
    this.superior = superior;
  }

  /** The loop data of the task that this code runs in; for onlookers that of the agent's latest one. */
  get loopData(): LoopData {
    const task = currentTask.getStore();
    if (task?.agent === this) return task.loopData;
    return [...this.#tasks].at(-1)?.loopData ?? this.#idle;
  }

  /** Fires when the task that this code runs in is cancelled; outside of any, when the context's next task is. */
  get signal(): AbortSignal {
    for (let task = currentTask.getStore(); task?.agent.context === this.context; task = task.outer) {
      // What a task that is over has left behind belongs to the one around it.
      if (task.signal.aborted || task.agent.#tasks.has(task)) return task.signal;
    }
    return this.context.signal;
  }

  /** Runs a monologue or a call of a tool with loop data and a cancellation of its own. */
  async inOwnTask<Result>(run: () => Promise<Result>): Promise<Result> {
    const { signal } = this;
    const own = new AbortController();
    const cancel = () => own.abort(signal.reason);
    if (signal.aborted) cancel();
    const forget = signal.aborted ? null : onAbort(signal, cancel);
    const outer = currentTask.getStore();
    const task = { agent: this, loopData: { currentTool: null }, signal: own.signal, outer };
    this.#tasks.add(task);
    try {
      return await currentTask.run(task, run);
    } finally {
      this.#tasks.delete(task);
      forget?.();
    }
  }

  getData(key: string): unknown {
    return this.#data.get(key);
  }

  setData(key: string, value: unknown): void {
    this.#data.set(key, value);
  }
}
