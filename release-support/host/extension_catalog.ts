import { basename, dirname, join, relative } from "node:path";

import { enabledPlugins, listPlugins } from "../../helpers/enabled_plugins.ts";
import type { ScopeSelection } from "../../helpers/enabled_plugins.ts";
import { findExtensionFiles, groupByStem, selectWinners } from "./extension_files.ts";
import type { ExtensionWinner } from "./extension_files.ts";
import { brokenMessage, loadExtensionModule } from "./extension_modules.ts";
import type { ExtensionClass, ExtensionModule } from "./extension_modules.ts";
import type { RootSnapshot } from "./root_snapshot.ts";

/** One extension that is in force at a point. */
export interface LoadedExtension extends ExtensionWinner {
  readonly create: ExtensionClass;
  /** How long loading it took, in milliseconds. */
  readonly ms: number;
}

/** The extensions of one point for one project and profile, in execution order. */
export type ExtensionSet = readonly LoadedExtension[];

/** An extension file that is not in force as it stands on disk, and why. */
export interface RefusedFile {
  /** Relative to the host root. */
  readonly path: string;
  readonly why: string;
}

/**
 * An extension file exists and cannot be loaded. Nothing runs at its point then: a gate that is skipped is an open gate
 * (SPEC H3).
 */
export class ExtensionLoadError extends Error {
  override readonly name = "ExtensionLoadError";
}

/**
 * One complete set of loaded extensions: everything that a snapshot of the root holds, loaded. A host has one in force at
 * a time and replaces it as a whole (SPEC H3, H4).
 */
export class ExtensionCatalog {
  readonly #root: string;
  readonly #snapshot: RootSnapshot;
  readonly #modules: ReadonlyMap<string, ExtensionModule>;
  /** What is not in force as it stands on disk. */
  readonly refused: readonly RefusedFile[];
  readonly #sets = new Map<string, ExtensionSet>();

  private constructor(
    root: string,
    snapshot: RootSnapshot,
    modules: ReadonlyMap<string, ExtensionModule>,
    refused: readonly RefusedFile[],
  ) {
    this.#root = root;
    this.#snapshot = snapshot;
    this.#modules = modules;
    this.refused = refused;
  }

  /**
   * Loads what a snapshot holds. A file that yielded an extension and now yields none, or does not load, keeps the old
   * one and is reported: only removing it takes it out.
   *
   * @param root - the host root
   * @param snapshot - what is there
   * @param previous - the catalog in force so far
   */
  static async load(
    root: string,
    snapshot: RootSnapshot,
    previous: ExtensionCatalog | null,
  ): Promise<ExtensionCatalog> {
    const earlier = previous === null ? new Map<string, ExtensionModule>() : previous.#modules;
    const modules = new Map<string, ExtensionModule>();
    const refused: RefusedFile[] = [];
    for (const file of filesToLoad(root, snapshot)) {
      const before = earlier.get(file.path);
      const unchanged = before?.kind !== "broken" && before?.version === file.version;
      const now = unchanged ? before : await loadExtensionModule(file);
      const keepsOld = before?.kind === "extension" && now.kind !== "extension";
      modules.set(file.path, keepsOld ? before : now);
      const why = refusal(now, keepsOld);
      if (why !== null) refused.push({ path: relative(root, file.path), why });
    }
    return new ExtensionCatalog(root, snapshot, modules, refused);
  }

  /**
   * Gives the extensions of a point for a project and profile.
   *
   * @throws ExtensionLoadError when a file in scope cannot be loaded
   * @throws ExtensionFolderError, PluginRootError when a folder in scope cannot be listed
   */
  setFor(point: string, selection: ScopeSelection): ExtensionSet {
    const key = JSON.stringify([point, selection.project, selection.profile]);
    let set = this.#sets.get(key);
    if (set === undefined) {
      set = this.#select(point, selection);
      this.#sets.set(key, set);
    }
    return set;
  }

  /** The extension points for which the root has files. */
  points(): string[] {
    const folders = [...this.#modules.keys()].map((path) =>
      relative(this.#root, dirname(path)).replaceAll("\\", "/"),
    );
    const points = folders.map((folder) => folder.split("extensions/node/").at(-1) ?? "");
    return [...new Set(points)].toSorted();
  }

  #select(point: string, selection: ScopeSelection): ExtensionSet {
    const files = findExtensionFiles(this.#root, point, selection, this.#snapshot);
    const winners = selectWinners(files, (path) => this.#loaded(path).kind === "extension");
    return winners.flatMap((winner) => {
      const module = this.#loaded(winner.path);
      return module.kind === "extension" ? [{ ...winner, create: module.create, ms: module.ms }] : [];
    });
  }

  #loaded(path: string): ExtensionModule {
    const module = this.#modules.get(path);
    if (module !== undefined && module.kind !== "broken") return module;
    throw new ExtensionLoadError(brokenMessage(this.#root, path), { cause: module?.error });
  }
}

function refusal(now: ExtensionModule, keepsOld: boolean): string | null {
  const kept = keepsOld ? "; the extension loaded before stays in force" : "";
  if (now.kind === "broken") return `it cannot be loaded${kept || ": nothing runs at its extension point"}`;
  if (now.kind === "none") return `it holds no extension${kept || ": it overrides nothing"}`;
  return null;
}

/** The files that a loader would load: one a stem and folder, and none of a plugin that no toggle ever switches on. */
function filesToLoad(root: string, snapshot: RootSnapshot) {
  const dormant = dormantPlugins(root, snapshot);
  const byFolder = new Map<string, string[]>();
  for (const { path, purpose } of snapshot.files) {
    if (purpose !== "extension" || dormant.some((folder) => path.startsWith(folder))) continue;
    byFolder.set(dirname(path), [...(byFolder.get(dirname(path)) ?? []), basename(path)]);
  }
  const preferred = new Set<string>();
  for (const [path, names] of byFolder) {
    for (const { candidates } of groupByStem([{ scope: "framework", plugin: null, path, names }])) {
      for (const candidate of candidates) preferred.add(candidate.path);
    }
  }
  return snapshot.files.filter(({ path }) => preferred.has(path));
}

/** Folders of plugins that are off globally and that no narrower scope can switch on: their code is not run. */
function dormantPlugins(root: string, snapshot: RootSnapshot): string[] {
  const enabled = new Set(enabledPlugins(root, {}, "empty", snapshot).map(({ name }) => name));
  const switchable = new Set(
    snapshot.files
      .filter(({ path }) => path.endsWith(".toggle-1"))
      .map(({ path }) => basename(dirname(path))),
  );
  return listPlugins(root, "empty", snapshot)
    .filter(({ name }) => !enabled.has(name) && !switchable.has(name))
    .map(({ path }) => join(path, "/"));
}
