import { writeFileTree } from "../../../conformance/file_tree.ts";
import type { FileTree } from "../../../conformance/file_tree.ts";
import { HostRoot } from "../../../fixtures/host_root.ts";
import type { ContextOptions } from "../../../host/agents/agent.ts";
import type { Reload } from "../../../host/extensions/extensions.ts";
import { Host } from "../../../host/host.ts";
import type { HostOptions } from "../../../host/host.ts";

/** The extension point of these tests. */
export const POINT = "tool_execute_before";
/** Its folder below a scope's. */
export const FOLDER = `extensions/node/${POINT}`;
/** The folder of a project's own things. */
export const META = "usr/projects/site/.a0proj";

const NOTES = "notes";

/** An extension that takes a note when it runs. */
export function noting(note: string): string {
  return `export default class {
    #agent;
    constructor(agent) { this.#agent = agent; }
    execute() { this.#agent.getData("${NOTES}")?.push(${JSON.stringify(note)}); }
  }\n`;
}

/** Runs the extensions of the point once, for a new agent, and gives the notes that they took. */
export async function notesOf(host: Host, selection: ContextOptions = {}): Promise<string[]> {
  const { agent0 } = host.createContext(selection);
  const notes: string[] = [];
  agent0.setData(NOTES, notes);
  await host.extensions.call(POINT, agent0, {});
  return notes;
}

/** Waits for the next time that a host has looked at its root again. */
export function nextReload(host: Host): Promise<Reload> {
  return new Promise((resolve) => {
    const end = host.extensions.onReload((reload) => {
      end();
      resolve(reload);
    });
  });
}

/**
 * Waits until the point's extensions take just these notes; the test's own timeout is the limit.
 *
 * @returns how long it took, in milliseconds
 */
export async function untilNotes(
  host: Host,
  notes: readonly string[],
  selection: ContextOptions = {},
): Promise<number> {
  const begin = performance.now();
  for (;;) {
    const reload = nextReload(host);
    const seen = await notesOf(host, selection).catch(() => ["(an error)"]);
    if (seen.join("\n") === notes.join("\n")) return performance.now() - begin;
    await reload;
  }
}

/** Opens hosts on temporary roots and closes them. */
export class HostRoots {
  readonly #closings: (() => Promise<void> | void)[] = [];

  /** A root with these files. */
  make(files: FileTree = {}): HostRoot {
    const root = new HostRoot();
    this.#closings.push(() => root.remove());
    writeFileTree(root.path, files);
    return root;
  }

  /** A host on a root, watching it. */
  async open(root: HostRoot, options: Omit<HostOptions, "root"> = {}): Promise<Host> {
    const host = await Host.open({ root: root.path, ...options });
    this.#closings.push(() => host.close());
    return host;
  }

  /** For `afterEach`. */
  async close(): Promise<void> {
    for (const close of this.#closings.splice(0).toReversed()) await close();
  }
}
