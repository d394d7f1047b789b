import { checkSelection } from "../../../helpers/config/enabled_plugins.ts";
import { Agent } from "./agent.ts";
import { InterventionException } from "./exceptions.ts";
import type { Host } from "../host.ts";
import { Log } from "./log.ts";
import { unlessAborted } from "../../within.ts";
import { validateProjectName } from "./projects.ts";

/** What a new context works on. */
export interface ContextOptions {
  /** The project, or none. */
  readonly project?: string;
  /** The profile of agent 0, or none. */
  readonly profile?: string;
}

/** One conversation: its data, its chat log, its agents, and control over what is under way in it. */
export class AgentContext {
  readonly host: Host;
  readonly log = new Log();
  readonly agent0: Agent;
  /** The agent that a worker's context was made for; `null` for a conversation of its own. */
  readonly parent: Agent | null;
  readonly #data = new Map<string, unknown>();
  #task = new AbortController();
  #pause: Pause | null = null;
  #interventions: string[] = [];

  /** @throws TypeError when a project is named and its name is not one that a folder can have, an empty one included */
  constructor(host: Host, options: ContextOptions = {}, parent: Agent | null = null) {
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
    this.#pause ??= new Pause();
  }

  /** Lets held agents go on. */
  resume(): void {
    this.#pause?.end();
    this.#pause = null;
  }

  /** Steps in with a message: what is left of the agent's turn is dropped at its next step, and it sees the message. */
  intervene(message: string): void {
    this.#interventions.push(message);
  }

  /**
   * The step at which an agent can be held or interrupted: before its model is asked, before what the model said counts,
   * and before a tool runs.
   *
   * @throws InterventionException when somebody stepped in; the reason of `signal` when that fires
   */
  async checkIntervention(agent: Agent, signal: AbortSignal): Promise<void> {
    await this.#hold(signal);
    const [message, ...later] = this.#interventions;
    if (message === undefined) return;
    this.#interventions = later;
    agent.history.add({ role: "user", content: message });
    throw new InterventionException("somebody stepped in");
  }

  /** Waits while this context is paused, or one that it works for. */
  async #hold(signal: AbortSignal): Promise<void> {
    while (this.#pause !== null) {
      const { ended } = this.#pause;
      await unlessAborted(signal, () => ended);
    }
    if (this.parent !== null) await this.parent.context.#hold(signal);
    signal.throwIfAborted();
  }
}

class Pause {
  readonly ended: Promise<void>;
  end: () => void = () => undefined;

  constructor() {
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
  }
}

function projectName(candidate: string): string {
  const project = validateProjectName(candidate);
  if (project.kind !== "valid") throw new TypeError("a project's name must be that of a folder");
  return project.name;
}
