import { relative, sep } from "node:path";

import { watch } from "chokidar";
import type { FSWatcher } from "chokidar";

import { filePurpose, isRelevantFolder } from "./relevant_paths.ts";

/** How long nothing may happen before a change counts as complete, in milliseconds. */
const SETTLE_MS = 200;

/** What a watcher tells its host. */
export interface RootWatcherEvents {
  /** Files changed and nothing more has happened for a moment; paths are relative to the root. */
  readonly settled: (changed: ReadonlySet<string>) => void;
  /** Watching does not work as it should. */
  readonly failed: (error: unknown) => void;
}

/**
 * Watches what the host looks at below its root, folders that do not exist yet and dot folders included, and tells once
 * things have settled (SPEC H4).
 */
export class RootWatcher {
  readonly #watcher: FSWatcher;
  readonly #events: RootWatcherEvents;
  #changed = new Set<string>();
  #timer: NodeJS.Timeout | null = null;

  private constructor(root: string, events: RootWatcherEvents) {
    this.#events = events;
    const placeOf = (path: string) => relative(root, path).split(sep).join("/");
    this.#watcher = watch(root, {
      ignoreInitial: true,
      ignored: (path, stats) => {
        const place = placeOf(path);
        if (stats === undefined) return !isRelevantFolder(place) && filePurpose(place) === null;
        return stats.isDirectory() ? !isRelevantFolder(place) : filePurpose(place) === null;
      },
    });
    this.#watcher.on("all", (_event, path) => this.#note(placeOf(path)));
    this.#watcher.on("error", (error) => events.failed(error));
  }

  /** Begins to watch; resolves when every change from then on will be seen. */
  static async start(root: string, events: RootWatcherEvents): Promise<RootWatcher> {
    const watcher = new RootWatcher(root, events);
    await new Promise<void>((resolve) => {
      watcher.#watcher.once("ready", resolve);
    });
    return watcher;
  }

  /** Stops watching; nothing is told any more. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#watcher.close();
  }

  #note(place: string): void {
    this.#changed.add(place);
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const changed = this.#changed;
      this.#changed = new Set();
      this.#timer = null;
      this.#events.settled(changed);
    }, SETTLE_MS);
  }
}
