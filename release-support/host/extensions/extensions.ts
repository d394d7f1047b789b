import { setTimeout as delay } from "node:timers/promises";

import { traceOfAbsence } from "./absence.ts";
import type { Agent } from "../agents/agent.ts";
import { ExtensionCatalog } from "./extension_catalog.ts";
import type { ExtensionSet } from "./extension_catalog.ts";
import { RootSnapshot } from "./root_snapshot.ts";

/** What came of looking at the root again. */
export type Reload =
  /** What is on disk now is in force, but for what the boot report lists as refused. */
  | { readonly kind: "in force" }
  /** What was in force before stays so, as a whole. */
  | { readonly kind: "kept"; readonly problem: string };

/** How long something that was taken away must stay away before that counts, in milliseconds. */
const REMOVAL_MS = 400;
/** How often the root is looked at anew when it changes while it is loaded. */
const MAX_ATTEMPTS = 5;

/** The extensions of one host: what is in force, how it runs, how it is replaced (SPEC H3, H4). */
export class Extensions {
  readonly #root: string;
  #catalog: ExtensionCatalog;
  #running: Promise<Reload> | null = null;
  #next: Promise<Reload> | null = null;
  #problem: string | null = null;
  readonly #listeners = new Set<(reload: Reload) => void>();

  private constructor(root: string, catalog: ExtensionCatalog) {
    this.#root = root;
    this.#catalog = catalog;
  }

  /**
   * Loads the extensions of a root.
   *
   * @param root - the host root: absolute
   * @throws RestlessRootError when the root does not stay the same for as long as that takes
   * @throws PluginRootError when the plugins cannot be listed
   */
  static async load(root: string): Promise<Extensions> {
    return new Extensions(root, await loadUnchanged(root, null));
  }

  /** The complete set in force at this moment. */
  get catalog(): ExtensionCatalog {
    return this.#catalog;
  }

  /** Why what is on disk is not in force, or `null`. */
  get problem(): string | null {
    return this.#problem;
  }

  /**
   * Runs the extensions of a point for an agent, one after the other.
   *
   * @param point - the extension point, such as `tool_execute_before`
   * @param agent - the agent, which each extension is constructed with
   * @param kwargs - what the point hands over
   * @throws whatever an extension throws or rejects with, at once; ExtensionLoadError when one cannot be loaded
   */
  async call(point: string, agent: Agent, kwargs: Readonly<Record<string, unknown>>): Promise<void> {
    const { signal } = agent;
    for (const { create: ExtensionAtPoint } of this.inForce(point, agent)) {
      // Of a cancelled call nobody waits for the extension under way any more, and none begins behind it.
      signal.throwIfAborted();
      // What they share they may change; to put something else in its place counts for nobody.
      await new ExtensionAtPoint(agent).execute({ ...kwargs });
    }
  }

  /** The extensions that are in force at a point for an agent. */
  inForce(point: string, agent: Agent): ExtensionSet {
    return this.#catalog.setFor(point, { project: agent.context.project, profile: agent.config.profile });
  }

  /**
   * Tells whenever the root was looked at again after a change, and what came of it.
   *
   * @param listener - called once the outcome is in force
   * @returns ends it
   */
  onReload(listener: (reload: Reload) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Loads what is on disk now and puts it in force as a whole. Until then, and where it fails, what was loaded stays.
   * One runs at a time: an older state of the disk must not replace a newer one. What is asked for meanwhile is done by
   * one more.
   *
   * @returns what came of it; never rejects
   */
  reload(): Promise<Reload> {
    if (this.#running === null) return this.#begin();
    this.#next ??= this.#running.then(() => {
      this.#next = null;
      return this.#begin();
    });
    return this.#next;
  }

  #begin(): Promise<Reload> {
    this.#running = this.#replace().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #replace(): Promise<Reload> {
    try {
      this.#catalog = await loadUnchanged(this.#root, this.#catalog);
      this.#problem = null;
    } catch (error) {
      this.#problem = error instanceof Error ? error.message : "the extensions could not be loaded";
    }
    const reload: Reload =
      this.#problem === null ? { kind: "in force" } : { kind: "kept", problem: this.#problem };
    for (const listener of this.#listeners) listener(reload);
    return reload;
  }
}

/** The root changed each time it was loaded, so that what was loaded may be a mixture. */
export class RestlessRootError extends Error {
  override readonly name = "RestlessRootError";

  constructor() {
    super("the host root changes all the time, so its extensions cannot be loaded; wait until that ends");
  }
}

/**
 * Loads a root that is the same before and after. Whatever is changed meanwhile could otherwise be loaded in part; and
 * some editors take a file away before they write it anew, so what was taken away must stay away.
 */
async function loadUnchanged(root: string, previous: ExtensionCatalog | null): Promise<ExtensionCatalog> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const snapshot = new RootSnapshot(root);
    if (previous?.isOf(snapshot) === true) return previous;
    const missing = previous === null ? [] : snapshot.missingSince(previous.snapshot);
    const trace = traceOfAbsence(missing);
    const catalog = await ExtensionCatalog.load(root, snapshot, previous);
    if (missing.length > 0) await delay(REMOVAL_MS, undefined, { ref: false });
    if (new RootSnapshot(root).equals(snapshot) && traceOfAbsence(missing) === trace) return catalog;
  }
  throw new RestlessRootError();
}
