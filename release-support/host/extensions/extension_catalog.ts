import { realpathSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";

import { enabledPlugins, listPlugins } from "../../../helpers/config/enabled_plugins.ts";
import type { PluginFolder, ScopeSelection } from "../../../helpers/config/enabled_plugins.ts";
import { findExtensionFiles, groupByStem, selectWinners } from "./extension_files.ts";
import type { ExtensionFiles, ExtensionWinner } from "./extension_files.ts";
import { loadExtensionModule } from "./extension_modules.ts";
import type { ExtensionClass, ExtensionModule } from "./extension_modules.ts";
import { importedModules } from "./imported_modules.ts";
import { changedModules, outdatedModules, rememberModules } from "./loaded_modules.ts";
import { lookAt } from "./root_snapshot.ts";
import type { RootSnapshot, SnapshotFile } from "./root_snapshot.ts";

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

/** What loading an extension file brought, and which module of it counts. */
interface LoadedFile {
  /** The file as it stands on disk. */
  readonly latest: ExtensionModule;
  /** The same, or an extension that was loaded before and that the file no longer yields. */
  readonly inForce: ExtensionModule;
  /** The modules that it reaches by import: absolute paths, links followed. */
  readonly imported: readonly string[];
}

/** What a catalog was made of. */
interface CatalogParts {
  readonly root: string;
  /** The same, links followed. */
  readonly realRoot: string;
  readonly snapshot: RootSnapshot;
  readonly loaded: ReadonlyMap<string, LoadedFile>;
  /** Modules of plugins that are not what the process runs: absolute paths. */
  readonly outdated: readonly string[];
}

/**
 * One complete set of loaded extensions: everything that a snapshot of the root holds, loaded. A host has one in force at
 * a time and replaces it as a whole (SPEC H3, H4).
 */
export class ExtensionCatalog {
  /** What it was made from. */
  readonly snapshot: RootSnapshot;
  readonly #root: string;
  readonly #realRoot: string;
  readonly #outdated: readonly string[];
  readonly #loaded: ReadonlyMap<string, LoadedFile>;
  readonly #sets = new Map<string, ExtensionSet>();

  private constructor({ root, realRoot, snapshot, loaded, outdated }: CatalogParts) {
    this.snapshot = snapshot;
    this.#outdated = outdated;
    this.#root = root;
    this.#realRoot = realRoot;
    this.#loaded = loaded;
  }

  /**
   * Loads what a snapshot holds. A file that yielded an extension and now yields none, or does not load, keeps the old
   * one and is reported: only removing it takes it out.
   *
   * @param root - the host root
   * @param snapshot - what is there
   * @param previous - the catalog in force so far
   * @throws PluginRootError when the plugins cannot be listed
   */
  static async load(
    root: string,
    snapshot: RootSnapshot,
    previous: ExtensionCatalog | null,
  ): Promise<ExtensionCatalog> {
    const plugins = livePlugins(root, snapshot);
    const modules = modulesOf(plugins, snapshot);
    const earlier = previous === null ? new Map<string, LoadedFile>() : previous.#loaded;
    const loaded = new Map<string, LoadedFile>();
    const realRoot = realpathSync(root);
    for (const file of filesToLoad(root, plugins, snapshot)) {
      const before = earlier.get(file.path);
      if (before !== undefined && before.latest.kind !== "broken" && before.latest.version === file.version) {
        loaded.set(file.path, before);
        continue;
      }
      for (const [folder, behind] of modules) if (file.path.startsWith(folder)) rememberModules(behind);
      const imported = importedModules(file.realPath, realRoot);
      // As they are before they are loaded: what changes meanwhile then counts as changed, whichever was loaded.
      rememberModules(imported.map((path) => lookAt({ path, purpose: "module" })));
      const latest = await loadExtensionModule(file);
      const keepsOld = before?.inForce.kind === "extension" && latest.kind !== "extension";
      // The old one goes on reaching what it reached.
      const behind = keepsOld ? [...new Set([...before.imported, ...imported])] : imported;
      loaded.set(file.path, { latest, inForce: keepsOld ? before.inForce : latest, imported: behind });
    }
    const outdated = [...modules].flatMap(([folder, now]) => outdatedModules(folder, now));
    return new ExtensionCatalog({ root, realRoot, snapshot, loaded, outdated });
  }

  /** Whether loading another snapshot would bring nothing else: the root is the same, and nothing is to be tried again. */
  isOf(snapshot: RootSnapshot): boolean {
    return (
      this.snapshot.equals(snapshot) &&
      [...this.#loaded.values()].every(({ latest }) => latest.kind !== "broken")
    );
  }

  /**
   * Changed modules behind extensions, relative to the root: Node keeps a module, so they count only after a restart
   * (SPEC H12). Of those that extensions reach by import, as they are at this moment.
   */
  get restartNeeded(): readonly string[] {
    const imported = new Set([...this.#loaded.values()].flatMap((file) => file.imported));
    const changed = changedModules([...imported]).map((path) => relative(this.#realRoot, path));
    const outdated = this.#outdated.map((path) => relative(this.#root, path));
    return [...new Set([...changed, ...outdated])].toSorted();
  }

  /** What is not in force as it stands on disk. */
  get refused(): readonly RefusedFile[] {
    const files = [...this.#loaded].flatMap(([path, file]) => {
      const why = refusal(file, isOfPlugin(this.#root, path));
      return why === null ? [] : [{ path: relative(this.#root, path), why }];
    });
    const folders = this.snapshot.unlisted.map(({ path, code }) => ({
      path: relative(this.#root, path),
      why: `it cannot be listed (${code})`,
    }));
    return [...files, ...folders];
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
    const folders = [...this.#loaded.keys()].map((path) =>
      relative(this.#root, dirname(path)).replaceAll("\\", "/"),
    );
    const points = folders.map((folder) => folder.split("extensions/node/").at(-1) ?? "");
    return [...new Set(points)].toSorted();
  }

  #select(point: string, selection: ScopeSelection): ExtensionSet {
    const files = findExtensionFiles(this.#root, point, selection, this.snapshot);
    const winners = selectWinners(files, (path) => this.#inForce(path).kind === "extension");
    this.#expectPluginsExtensions(files, winners);
    return winners.flatMap((winner) => {
      const module = this.#inForce(winner.path);
      return module.kind === "extension" ? [{ ...winner, create: module.create, ms: module.ms }] : [];
    });
  }

  /**
   * An enabled plugin's own file that holds no extension, and for which no other file of its name stands in, is as good
   * as one that cannot be loaded: it may be a gate that was emptied (SPEC H4). The framework passes it by.
   */
  #expectPluginsExtensions(files: ExtensionFiles, winners: readonly ExtensionWinner[]): void {
    const won = new Set(winners.map(({ stem }) => stem));
    const empty = files
      .filter(({ stem }) => !won.has(stem))
      .flatMap(({ candidates }) => candidates)
      .find(({ plugin }) => plugin !== null);
    if (empty === undefined) return;
    throw new ExtensionLoadError(
      `The extension ${relative(this.#root, empty.path)} of an enabled plugin holds no extension, so nothing runs at its ` +
        "extension point. Mend or remove it, or switch its plugin off.",
    );
  }

  #inForce(path: string): ExtensionModule {
    const module = this.#loaded.get(path)?.inForce;
    if (module !== undefined && module.kind !== "broken") return module;
    const problem = module?.problem ?? "it was not loaded";
    throw new ExtensionLoadError(
      `The extension ${relative(this.#root, path)} cannot be loaded (${problem}), so nothing runs at its extension point. ` +
        "Mend or remove it; if it was a module behind it that you mended, restart the host.",
      { cause: module?.error },
    );
  }
}

function refusal({ latest, inForce }: LoadedFile, ofPlugin: boolean): string | null {
  const kept = latest === inForce ? "" : "; the extension loaded before stays in force";
  const without = ofPlugin
    ? ": unless another file of its name does, nothing runs at its extension point"
    : ": it overrides nothing";
  switch (latest.kind) {
    case "extension":
      return null;
    case "none":
      return `it holds no extension${kept || without}`;
    case "broken":
    default:
      return `it cannot be loaded (${latest.problem})${kept || ": nothing runs at its extension point"}`;
  }
}

/** The files that a loader would load: one a stem and folder, and none of a plugin that no toggle ever switches on. */
function filesToLoad(root: string, plugins: readonly PluginFolder[], snapshot: RootSnapshot): SnapshotFile[] {
  const live = plugins.map(({ path }) => join(path, "/"));
  const byFolder = new Map<string, string[]>();
  for (const { path, purpose } of snapshot.files) {
    if (purpose !== "extension") continue;
    if (isOfPlugin(root, path) && !live.some((folder) => path.startsWith(folder))) continue;
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

/** Whether a path lies below one of the two plugin roots. */
function isOfPlugin(root: string, path: string): boolean {
  return ["usr/plugins", "plugins"].some((folder) => path.startsWith(join(root, folder, "/")));
}

/** The modules of each plugin by its folder, which ends with a separator. */
function modulesOf(plugins: readonly PluginFolder[], snapshot: RootSnapshot): Map<string, SnapshotFile[]> {
  const modules = snapshot.files.filter(({ purpose }) => purpose === "module");
  return new Map(
    plugins.map(({ path }) => {
      const folder = join(path, "/");
      return [folder, modules.filter((module) => module.path.startsWith(folder))];
    }),
  );
}

/** The plugins that are on for somebody: on globally, or switched on in some scope. The code of others is not run. */
function livePlugins(root: string, snapshot: RootSnapshot): PluginFolder[] {
  const enabled = new Set(enabledPlugins(root, {}, "empty", snapshot).map(({ name }) => name));
  const switchable = new Set(
    snapshot.files
      .filter(({ path }) => path.endsWith(".toggle-1"))
      .map(({ path }) => basename(dirname(path))),
  );
  return listPlugins(root, "empty", snapshot).filter(({ name }) => enabled.has(name) || switchable.has(name));
}
