import { lookAt } from "./root_snapshot.ts";
import type { SnapshotFile } from "./root_snapshot.ts";

// Node keeps a module until the process ends, whatever becomes of its file. So what was loaded is a fact of the process
// and not of a host: a second host on the same root runs the same modules. By real path.
const loaded = new Map<string, SnapshotFile>();

/**
 * Remembers the modules behind an extension that is about to be loaded. Those that are known stay as they were: Node does
 * not load them again.
 *
 * @param modules - the modules of the extension's plugin, and those that it reaches by import
 */
export function rememberModules(modules: readonly SnapshotFile[]): void {
  for (const module of modules) {
    if (!loaded.has(module.realPath)) loaded.set(module.realPath, module);
  }
}

/**
 * Finds among some modules those of which the process runs something else than what is there at this moment (SPEC H12).
 *
 * @param paths - absolute paths, links followed
 * @returns those of them that were changed or removed
 */
export function changedModules(paths: readonly string[]): string[] {
  return paths.filter((path) => {
    const running = loaded.get(path);
    return running !== undefined && lookAt({ path, purpose: "module" }).version !== running.version;
  });
}

/**
 * Finds the modules of which the process runs something else than what is there now: they count only after a restart
 * (SPEC H4).
 *
 * @param folder - a plugin's own folder: absolute, with a separator at its end
 * @param modules - the modules in it now
 * @returns absolute paths of those that were changed or removed
 */
export function outdatedModules(folder: string, modules: readonly SnapshotFile[]): string[] {
  const changed = modules.filter(({ realPath, version }) => {
    const running = loaded.get(realPath);
    return running !== undefined && running.version !== version;
  });
  const there = new Set(modules.map(({ path }) => path));
  const removed = [...loaded.values()].filter(({ path }) => path.startsWith(folder) && !there.has(path));
  return [...changed, ...removed].map(({ path }) => path);
}
