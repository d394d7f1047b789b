import { relative } from "node:path";
import { pathToFileURL } from "node:url";

import type { Agent } from "./agent.ts";
import type { SnapshotFile } from "./root_snapshot.ts";

/** What an extension is: made for one agent, and awaited with what its point hands over. */
export interface Extension {
  execute(kwargs: Readonly<Record<string, unknown>>): unknown;
}

/** A class of extensions. */
export type ExtensionClass = new (agent: Agent) => Extension;

/** What loading one extension file brought. */
export type ExtensionModule =
  | {
      readonly kind: "extension";
      readonly version: string;
      readonly create: ExtensionClass;
      readonly ms: number;
    }
  /** It loads, but holds no extension: it overrides nothing. */
  | { readonly kind: "none"; readonly version: string; readonly ms: number }
  /** It cannot be loaded: nothing runs at its point. */
  | { readonly kind: "broken"; readonly version: string; readonly error: unknown };

let attempts = 0;

/**
 * Loads one extension file. To Node a changed file is another module, and so is one that is tried again.
 *
 * @param file - the file as the snapshot saw it
 * @returns what it brought; never rejects
 */
export async function loadExtensionModule({ path, version }: SnapshotFile): Promise<ExtensionModule> {
  attempts += 1;
  const begin = performance.now();
  try {
    const url = `${pathToFileURL(path).href}?v=${version}.${attempts}`;
    const create = extensionClassIn((await import(url)) as Record<string, unknown>);
    const ms = performance.now() - begin;
    return create === null ? { kind: "none", version, ms } : { kind: "extension", version, create, ms };
  } catch (error) {
    return { kind: "broken", version, error };
  }
}

/** Says in a sentence that a file cannot be loaded. */
export function brokenMessage(root: string, path: string): string {
  return `The extension ${relative(root, path)} cannot be loaded, so nothing runs at its extension point. Mend or remove it.`;
}

/** The extension class of a module: its default export, else the first export that is one. */
function extensionClassIn(module: Record<string, unknown>): ExtensionClass | null {
  const { default: main, ...others } = module;
  return [main, ...Object.values(others)].find(isExtensionClass) ?? null;
}

function isExtensionClass(value: unknown): value is ExtensionClass {
  if (typeof value !== "function") return false;
  const prototype = value.prototype as { execute?: unknown } | undefined;
  return typeof prototype?.execute === "function";
}
