import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

import { errorCode } from "../../../helpers/config/file_view.ts";
import type { Agent } from "../agents/agent.ts";
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
  | {
      readonly kind: "broken";
      readonly version: string;
      /** In controlled words. */
      readonly problem: string;
      readonly error: unknown;
    };

/** How long a module may take to load, in milliseconds: one that waits for ever must not hold up all others. */
const LOAD_TIMEOUT_MS = 10_000;

const { cache: commonJsModules } = createRequire(import.meta.url);
let attempts = 0;

/**
 * Loads one extension file. To Node a changed file is another module, and so is one that is tried again.
 *
 * @param file - the file as the snapshot saw it
 * @param timeoutMs - how long it may take, in milliseconds
 * @returns what it brought; never rejects
 */
export async function loadExtensionModule(
  file: SnapshotFile,
  timeoutMs: number = LOAD_TIMEOUT_MS,
): Promise<ExtensionModule> {
  const { version } = file;
  const begin = performance.now();
  try {
    if (file.problem !== null) throw new UnusableFileError(file.problem);
    const create = extensionClassIn(await importAnew(file, timeoutMs));
    const ms = performance.now() - begin;
    return create === null ? { kind: "none", version, ms } : { kind: "extension", version, create, ms };
  } catch (error) {
    return { kind: "broken", version, problem: describe(error, file), error };
  }
}

/** Its message is in controlled words. */
class UnusableFileError extends Error {
  override readonly name = "UnusableFileError";
}

async function importAnew(
  { realPath, version }: SnapshotFile,
  timeoutMs: number,
): Promise<Record<string, unknown>> {
  attempts += 1;
  // A CommonJS module is known by its path alone, and would be the one that was loaded first.
  delete commonJsModules[realPath];
  // By its real path, since Node goes on following a link as it was when it first did.
  const url = `${pathToFileURL(realPath).href}?v=${version.slice(0, 16)}.${attempts}`;
  const loading = import(url) as Promise<Record<string, unknown>>;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new UnusableFileError(`it did not finish loading in ${timeoutMs / 1000} s`)),
      timeoutMs,
    );
  });
  try {
    return await Promise.race([loading, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Says in controlled words why a file cannot be loaded: what code throws may hold anything. */
function describe(error: unknown, { path }: SnapshotFile): string {
  if (error instanceof UnusableFileError) return error.message;
  const code = errorCode(error);
  if (code === "ERR_UNKNOWN_FILE_EXTENSION" && path.endsWith(".ts"))
    return "this Node does not load TypeScript: run npm ci in its plugin's folder, or put the compiled .js beside it";
  if (code === "ERR_MODULE_NOT_FOUND")
    return "a module that it imports is missing: if its plugin needs packages, run npm ci in the plugin's folder";
  return error instanceof SyntaxError
    ? "it, or a module that it imports, is not valid JavaScript"
    : "it fails while it is loaded";
}

/** The extension class of a module: its default export, else the first export that is one. */
function extensionClassIn(module: Record<string, unknown>): ExtensionClass | null {
  const { default: main, ...others } = module;
  return [main, ...Object.values(others)].find(isExtensionClass) ?? (isClass(main) ? main : null);
}

/** A class that is the default export means to be the extension, be its `execute` a field or missing: then it fails. */
function isClass(value: unknown): value is ExtensionClass {
  return typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));
}

function isExtensionClass(value: unknown): value is ExtensionClass {
  if (typeof value !== "function") return false;
  const prototype = value.prototype as { execute?: unknown } | undefined;
  return typeof prototype?.execute === "function";
}
