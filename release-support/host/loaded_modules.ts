import type { SnapshotFile } from "./root_snapshot.ts";

// Node keeps a module until the process ends, whatever becomes of its file. So what was loaded is a fact of the process
// and not of a host: a second host on the same root runs the same modules.
const loaded = new Map<string, string>();

/**
 * Remembers the modules behind an extension that is about to be loaded. Those that are known stay as they were: Node does
 * not load them again.
 *
 * @param modules - the modules of the extension's plugin
 */
export function rememberModules(modules: readonly SnapshotFile[]): void {
  for (const { path, version } of modules) {
    if (!loaded.has(path)) loaded.set(path, version);
  }
}

/**
 * Finds the modules that are no longer what the process loaded: they count only after a restart (SPEC H4).
 *
 * @param folder - a plugin's own folder: absolute
 * @param modules - the modules in it now
 * @returns absolute paths of those that were changed or removed
 */
export function outdatedModules(folder: string, modules: readonly SnapshotFile[]): string[] {
  const now = new Map(modules.map(({ path, version }) => [path, version]));
  return [...loaded]
    .filter(([path, version]) => path.startsWith(folder) && now.get(path) !== version)
    .map(([path]) => path);
}
