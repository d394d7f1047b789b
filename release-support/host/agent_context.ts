import { Agent } from "./agent.ts";
import type { Host } from "./host.ts";
import { Log } from "./log.ts";
import { validateProjectName } from "./projects.ts";

/** What a new context works on. */
export interface ContextOptions {
  /** The project, or none. */
  readonly project?: string;
  /** The profile of agent 0, or none. */
  readonly profile?: string;
}

/** One conversation: its data, its chat log, its agents, and the cancellation of what is under way in it. */
export class AgentContext {
  readonly host: Host;
  readonly log = new Log();
  readonly agent0: Agent;
  readonly #data = new Map<string, unknown>();
  #task = new AbortController();

  /** @throws TypeError when the project's name is not one that a folder can have */
  constructor(host: Host, options: ContextOptions = {}) {
    this.host = host;
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

  /** The project that the context works on, or `null`. */
  get project(): string | null {
    const project = this.#data.get("project");
    return typeof project === "string" && project !== "" ? project : null;
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
}

function projectName(candidate: string): string {
  const project = validateProjectName(candidate);
  if (project.kind !== "valid") throw new TypeError("a project's name must be that of a folder");
  return project.name;
}
