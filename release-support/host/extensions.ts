import type { Agent } from "./agent.ts";
import { ExtensionCatalog } from "./extension_catalog.ts";
import type { ExtensionSet } from "./extension_catalog.ts";
import { filePurpose } from "./relevant_paths.ts";
import { RootSnapshot } from "./root_snapshot.ts";

/** The extensions of one host: what is in force, how it runs, how it is replaced (SPEC H3, H4). */
export class Extensions {
  readonly #root: string;
  #catalog: ExtensionCatalog;
  #reloading: Promise<void> = Promise.resolve();
  readonly #restartNeeded = new Set<string>();

  private constructor(root: string, catalog: ExtensionCatalog) {
    this.#root = root;
    this.#catalog = catalog;
  }

  /** Loads the extensions of a root. */
  static async load(root: string): Promise<Extensions> {
    return new Extensions(root, await ExtensionCatalog.load(root, new RootSnapshot(root), null));
  }

  /** The complete set in force at this moment. */
  get catalog(): ExtensionCatalog {
    return this.#catalog;
  }

  /** Changed modules behind extensions, relative to the root: they count only after a restart. */
  get restartNeeded(): readonly string[] {
    return [...this.#restartNeeded].toSorted();
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
    for (const { create: ExtensionAtPoint } of this.inForce(point, agent)) {
      await new ExtensionAtPoint(agent).execute(kwargs);
    }
  }

  /** The extensions that are in force at a point for an agent. */
  inForce(point: string, agent: Agent): ExtensionSet {
    return this.#catalog.setFor(point, { project: agent.context.project, profile: agent.config.profile });
  }

  /**
   * Loads what is on disk now and puts it in force as a whole. Until then, and where it fails, what was loaded stays.
   *
   * @param changed - what changed, relative to the root: modules among it are remembered as waiting for a restart
   */
  async reload(changed: ReadonlySet<string> = new Set()): Promise<void> {
    for (const path of changed) {
      if (filePurpose(path) === "module") this.#restartNeeded.add(path);
    }
    // One after the other: an older state of the disk must not replace a newer one.
    this.#reloading = this.#reloading.then(async () => {
      this.#catalog = await ExtensionCatalog.load(this.#root, new RootSnapshot(this.#root), this.#catalog);
    });
    await this.#reloading;
  }
}
