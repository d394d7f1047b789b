import { AsyncLocalStorage } from "node:async_hooks";

import { checkSelection } from "../../../helpers/config/enabled_plugins.ts";
import type { GateAgent, GateHost } from "../../../helpers/host.ts";
import { onAbort } from "../../../helpers/on_abort.ts";
import { InterventionException } from "./exceptions.ts";
import { History } from "./history.ts";
import { Interventions } from "./interventions.ts";
import { Log } from "./log.ts";
import type { ModelTurn } from "./model_turns.ts";
import { validateProjectName } from "./projects.ts";
import type { Tool } from "./tool.ts";

/** What agents need of the host that they live in. */
export interface AgentHost extends GateHost {
  /** What an agent's subordinate says, turn by turn, to a message; `null` when the host has no subordinates (SPEC H9). */
  readonly subordinateModel: SubordinateModel | null;
  /** The extensions in force. */
  readonly extensions: {
    /**
     * Runs those of a point for an agent, one after the other.
     *
     * @throws whatever one of them throws, at once
     */
    call(point: string, agent: Agent, kwargs: Readonly<Record<string, unknown>>): Promise<void>;
  };
  /** Finds the tool of a name: an MCP tool, else a local one, else the `unknown` tool (SPEC H6). */
  findTool(agent: Agent, name: string): Promise<Tool>;
  /**
   * Stops a call that the tool policy of the agent's project and profile blocks (SPEC H8).
   *
   * @throws RepairableException when it does
   */
  enforceToolPolicy(agent: Agent, tool: Tool): void;
}

/** A scripted model: what an agent says, turn by turn, when it is given a message. */
export type SubordinateModel = (
  agent: Agent,
  message: string,
) => Iterable<ModelTurn> | AsyncIterable<ModelTurn>;

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
  readonly host: AgentHost;
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

/** What a new context works on. */
export interface ContextOptions {
  /** The project, or none. */
  readonly project?: string;
  /** The profile of agent 0, or none. */
  readonly profile?: string;
}

/** One conversation: its data, its chat log, its agents, and control over what is under way in it. */
export class AgentContext {
  readonly host: AgentHost;
  readonly log = new Log();
  readonly agent0: Agent;
  /** The agent that a worker's context was made for; `null` for a conversation of its own. */
  readonly parent: Agent | null;
  readonly #data = new Map<string, unknown>();
  #task = new AbortController();
  readonly #interventions = new Interventions();

  /** @throws TypeError when a project is named and its name is not one that a folder can have, an empty one included */
  constructor(host: AgentHost, options: ContextOptions = {}, parent: Agent | null = null) {
    this.host = host;
    this.parent = parent;
    if (options.project !== undefined) this.#data.set("project", projectName(options.project));
    this.agent0 = new Agent(this, 0, { profile: options.profile ?? "" });
  }

  /** Reads the context's data; the key `project` holds the project's name. */
  getData(key: string): unknown {
    return this.#data.get(key);
  }

  setData(key: string, value: unknown): void {
    this.#data.set(key, value);
  }

  /**
   * The project that the context works on, or `null`.
   *
   * @throws TypeError when the data key holds anything that cannot be a project's name: no scope may be guessed then
   */
  get project(): string | null {
    return checkSelection({ project: (this.#data.get("project") as string | null | undefined) ?? null })
      .project;
  }

  /** Fires when what is under way in the context is cancelled. */
  get signal(): AbortSignal {
    return this.#task.signal;
  }

  /**
   * Cancels everything under way in this context. Whatever it awaits is left at once; what begins afterwards runs.
   *
   * @param reason - what the cancelled calls reject with
   */
  cancel(reason: Error = new DOMException("The task was cancelled.", "AbortError")): void {
    const task = this.#task;
    this.#task = new AbortController();
    task.abort(reason);
  }

  /** Holds the agents at their next step, those of workers too. */
  pause(): void {
    this.#interventions.pause();
  }

  /** Lets held agents go on. */
  resume(): void {
    this.#interventions.resume();
  }

  /** Steps in with a message: what is left of the agent's turn is dropped at its next step, and it sees the message. */
  intervene(message: string): void {
    this.#interventions.add(message);
  }

  /**
   * The step at which an agent can be held or interrupted: before its model is asked, before what the model said counts,
   * and before a tool runs.
   *
   * @throws InterventionException when somebody stepped in; the reason of `signal` when that fires
   */
  async checkIntervention(agent: Agent, signal: AbortSignal): Promise<void> {
    await this.#hold(signal);
    const message = this.#interventions.take();
    if (message === null) return;
    agent.history.add({ role: "user", content: message });
    throw new InterventionException("somebody stepped in");
  }

  /** Waits while this context is paused, or one that it works for. */
  async #hold(signal: AbortSignal): Promise<void> {
    await this.#interventions.held(signal);
    if (this.parent !== null) await this.parent.context.#hold(signal);
    signal.throwIfAborted();
  }
}

function projectName(candidate: string): string {
  const project = validateProjectName(candidate);
  if (project.kind !== "valid") throw new TypeError("a project's name must be that of a folder");
  return project.name;
}
