import { basename, join, relative, resolve, sep } from "node:path";

import { watch } from "chokidar";
import type { FSWatcher } from "chokidar";

import { filePurpose, folderPurpose } from "./relevant_paths.ts";
import { sameFolders, walkRoot } from "./root_walk.ts";
import type { RootWalk } from "./root_walk.ts";

/** How long nothing may happen before a change counts as complete, in milliseconds. */
const SETTLE_MS = 200;

/** What a watcher tells its host. */
export interface RootWatcherEvents {
  /** Something changed, and nothing more has happened for a moment. */
  readonly settled: () => void;
  /** Watching does not work as it should. */
  readonly failed: (error: unknown) => void;
}

/**
 * Watches what the host looks at below its root, folders that do not exist yet and dot folders included, and tells once
 * things have settled (SPEC H4). What changed it does not tell: the disk knows better than a series of events.
 */
export class RootWatcher {
  readonly #root: string;
  readonly #events: RootWatcherEvents;
  #watcher: FSWatcher | null = null;
  /** What was there when the watcher that runs was started. */
  #walk: RootWalk;
  #timer: NodeJS.Timeout | null = null;
  #isRestarting = false;
  #isClosed = false;

  private constructor(root: string, events: RootWatcherEvents) {
    this.#root = root;
    this.#events = events;
    this.#walk = walkRoot(root);
  }

  /**
   * Begins to watch.
   *
   * @param root - the host root: absolute
   * @param events - whom to tell
   * @returns once every change from then on will be seen
   */
  static async start(root: string, events: RootWatcherEvents): Promise<RootWatcher> {
    const watcher = new RootWatcher(root, events);
    await watcher.#start();
    return watcher;
  }

  /** How many files and folders are watched. */
  get watchedCount(): number {
    return Object.values(this.#watcher?.getWatched() ?? {}).reduce((sum, names) => sum + names.length, 0);
  }

  /** Stops watching; nothing is told any more. Safe to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#stop();
  }

  async #start(): Promise<void> {
    const watcher = watch(this.#root, {
      ignoreInitial: true,
      // Its rules about editors' temporary files would leave out whole folders; ours are by name.
      atomic: false,
      ignored: (path, stats) => this.#isIgnored(path, stats?.isDirectory(), stats?.isFile()),
    });
    this.#watcher = watcher;
    watcher.on("all", () => this.#note());
    // Of a folder that another one replaced, and of much that happens at once, chokidar only tells the raw event.
    watcher.on("raw", (_event, name, details) => this.#noteRaw(name, details));
    watcher.on("error", (error) => this.#events.failed(error));
    await new Promise<void>((ready) => {
      watcher.once("ready", ready);
    });
  }

  async #stop(): Promise<void> {
    const watcher = this.#watcher;
    if (watcher === null) return;
    // A file that vanishes while it closes would make chokidar 5.0 open itself anew.
    watcher.add = () => watcher;
    await watcher.close();
  }

  #isIgnored(path: string, isFolder: boolean | undefined, isFile: boolean | undefined): boolean {
    if (this.#walk.barren.has(resolve(path))) return true;
    const place = this.#placeOf(path);
    const relevantFolder = folderPurpose(place) !== null;
    const relevantFile = filePurpose(place) !== null;
    if (isFolder === true) return !relevantFolder;
    if (isFile === true) return !relevantFile;
    // Not known yet, or a link to either.
    return !relevantFolder && !relevantFile;
  }

  #noteRaw(name: string, details: unknown): void {
    const { watchedPath } = details as { readonly watchedPath?: string };
    if (watchedPath === undefined || typeof name !== "string" || name === basename(watchedPath)) {
      this.#note();
      return;
    }
    const place = this.#placeOf(join(watchedPath, name));
    const asFolder = folderPurpose(place);
    if (filePurpose(place) !== null || (asFolder !== null && asFolder !== "modules")) this.#note();
  }

  #note(): void {
    if (this.#isClosed) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#settle().catch((error: unknown) => this.#events.failed(error));
    }, SETTLE_MS);
  }

  async #settle(): Promise<void> {
    if (this.#isRestarting) {
      this.#note();
      return;
    }
    const walk = walkRoot(this.#root);
    if (sameFolders(walk, this.#walk)) {
      this.#events.settled();
      return;
    }
    await this.#restart(walk);
    // What happened meanwhile was not seen: settled is what stays so from now on.
    this.#note();
  }

  /** chokidar goes on watching a folder that was moved away, and not the one that took its place. */
  async #restart(walk: RootWalk): Promise<void> {
    this.#isRestarting = true;
    try {
      await this.#stop();
      this.#walk = walk;
      if (!this.#isClosed) await this.#start();
    } finally {
      this.#isRestarting = false;
    }
  }

  #placeOf(path: string): string {
    return relative(this.#root, path).split(sep).join("/");
  }
}
