import { statSync } from "node:fs";
import { relative } from "node:path";
import { pathToFileURL } from "node:url";

import type { Agent } from "./agent.ts";
import { findExtensionFiles, selectWinners } from "./extension_files.ts";
import type { ExtensionFiles, ExtensionWinner } from "./extension_files.ts";

/** What an extension is: made for one agent, and awaited with what its point hands over. */
export interface Extension {
  execute(kwargs: Readonly<Record<string, unknown>>): unknown;
}

type ExtensionClass = new (agent: Agent) => Extension;

/** One extension that is in force at a point. */
export interface LoadedExtension extends ExtensionWinner {
  readonly create: ExtensionClass;
}

/** The extensions of one point for one project and profile, in execution order. */
export type ExtensionSet = readonly LoadedExtension[];

/**
 * An extension file exists and cannot be loaded. Nothing runs at its point then: a gate that is skipped is an open gate
 * (SPEC H3).
 */
export class ExtensionLoadError extends Error {
  override readonly name = "ExtensionLoadError";
}

/** The extensions of one host: found by scope, loaded once, run in order (SPEC H3). */
export class Extensions {
  readonly #root: string;
  /** Complete sets by point, project and profile. A set is in force until it is replaced as a whole. */
  readonly #sets = new Map<string, Promise<ExtensionSet>>();

  /** @param root - the host root */
  constructor(root: string) {
    this.#root = root;
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
    for (const { create: ExtensionAtPoint } of await this.inForce(point, agent)) {
      await new ExtensionAtPoint(agent).execute(kwargs);
    }
  }

  /**
   * Gives the extensions that are in force at a point for an agent, loading them if need be.
   *
   * @throws ExtensionLoadError when one cannot be loaded; the next call tries again
   */
  inForce(point: string, agent: Agent): Promise<ExtensionSet> {
    const { project } = agent.context;
    const { profile } = agent.config;
    const key = JSON.stringify([point, project, profile]);
    let set = this.#sets.get(key);
    if (set === undefined) {
      set = loadSet(this.#root, findExtensionFiles(this.#root, point, { project, profile }));
      this.#sets.set(key, set);
      set.catch(() => this.#sets.delete(key));
    }
    return set;
  }
}

/** Loads every candidate, overridden or not: a broken file in scope stops its point, as in the framework. */
async function loadSet(root: string, files: ExtensionFiles): Promise<ExtensionSet> {
  const classes = new Map<string, ExtensionClass | null>();
  for (const { candidates } of files) {
    for (const { path } of candidates) classes.set(path, await loadClass(root, path));
  }
  const winners = selectWinners(files, (path) => (classes.get(path) ?? null) !== null);
  return winners.map((winner) => ({ ...winner, create: classes.get(winner.path) as ExtensionClass }));
}

async function loadClass(root: string, path: string): Promise<ExtensionClass | null> {
  try {
    // A file that has changed is another module to Node.
    const { mtimeMs, size, ino } = statSync(path);
    const url = `${pathToFileURL(path).href}?v=${ino}-${size}-${mtimeMs}`;
    return extensionClassIn((await import(url)) as Record<string, unknown>);
  } catch (error) {
    throw new ExtensionLoadError(
      `The extension ${relative(root, path)} cannot be loaded, so nothing runs at its extension point. Mend or remove the file.`,
      { cause: error },
    );
  }
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
