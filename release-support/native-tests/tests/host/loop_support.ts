import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { GatedHost } from "../../../fixtures/gated_host.ts";
import type { GatedHostOptions } from "../../../fixtures/gated_host.ts";
import type { HostRoot } from "../../../fixtures/host_root.ts";
import type { Agent } from "../../../host/agents/agent.ts";
import type { HistoryRole } from "../../../host/agents/history.ts";
import { Host } from "../../../host/host.ts";
import type { HostOptions } from "../../../host/host.ts";
import type { ModelTurn } from "../../../host/agents/monologue.ts";
import type { LocalTool } from "../../../host/agents/local_tools.ts";
import type { ToolArgs } from "../../../host/agents/tool.ts";
import { packageRoot } from "../../../packaging/package_root.ts";

/** A native turn of one call. */
export function call(name: string, args: ToolArgs = {}): ModelTurn {
  return { toolCalls: [{ name, args }] };
}

/** The same call in JSON text. */
export function text(name: string, args: ToolArgs = {}): string {
  return JSON.stringify({ tool_name: name, tool_args: args });
}

/** A turn that ends the loop with `done`. */
export const DONE: ModelTurn = call("response", { text: "done" });

/** The loop's answer to {@link DONE}. */
export const ANSWERED = { kind: "answer", message: "done" } as const;

/** An extension file, whose body sees `agent` and `kwargs` and may await. */
export function extension(body: string): string {
  return `export default class {
    constructor(agent) { this.agent = agent; }
    async execute(kwargs) { const { agent } = this; ${body} }
  }`;
}

/** Writes an extension for every agent of a root; `name` is its file's stem. */
export function addExtension(
  root: HostRoot,
  name: string,
  body: string,
  point = "tool_execute_before",
): void {
  root.write(`usr/extensions/node/${point}/${name}.mjs`, extension(body));
}

/** The URL of a second copy of the module with the host's exceptions, as a reload or a plugin's own copy brings one. */
export const OTHER_EXCEPTIONS = `${pathToFileURL(join(packageRoot, "dist/release-support/host/agents/exceptions.js")).href}?v=2`;

/** One thing that an extension or a tool told the test. */
export interface Note {
  readonly agent: Agent;
  readonly args: ToolArgs;
}

/**
 * A local tool `note` that extensions call too, as `agent.host.localTools.note({...}, { agent })`: what they see reaches
 * the test, whichever agent they run for.
 */
export function noteTool(notes: Note[]): Readonly<Record<string, LocalTool>> {
  return {
    note: (args, { agent }) => {
      notes.push({ agent, args: { ...args } });
      return "noted";
    },
  };
}

/** The messages of one role in an agent's history. */
export function said(agent: Agent, role: HistoryRole): string[] {
  return agent.history.messages.filter((message) => message.role === role).map(({ content }) => content);
}

/** The chat log of an agent's context, as `type: content`. */
export function logged(agent: Agent): string[] {
  return agent.context.log.items.map(({ type, content }) => `${type}: ${content}`);
}

/** Waits for a promise that must reject, and gives what it rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("expected a rejection, but it resolved");
}

/** Something that a test can wait for, and open. */
export class Latch {
  readonly opened: Promise<void>;
  open: () => void = () => undefined;

  constructor() {
    this.opened = new Promise((resolve) => {
      this.open = resolve;
    });
  }
}

/** Opens hosts for the tests of one suite and closes them after each. */
export class Hosts {
  readonly #opened: { close(): Promise<void> }[] = [];

  /** A host with the gate. */
  readonly open = async (options: GatedHostOptions = {}): Promise<GatedHost> => {
    const host = await GatedHost.open(options);
    this.#opened.push(host);
    return host;
  };

  /** A host without the gate, for what is the host's own business. */
  readonly openPlain = (options: GatedHostOptions = {}): Promise<GatedHost> =>
    this.open({ plugin: "missing", config: () => null, ...options });

  /** Another host on the root of one that is open, with options that the first does not take. */
  readonly openBeside = async ({ root }: GatedHost, options: Omit<HostOptions, "root">): Promise<Host> => {
    const host = await Host.open({ root: root.path, ...options });
    this.#opened.push(host);
    return host;
  };

  async closeAll(): Promise<void> {
    for (const host of this.#opened.splice(0).toReversed()) await host.close();
  }
}

/** {@link Hosts} for the suite that this is called in. */
export function hostsOfSuite(): Hosts {
  const hosts = new Hosts();
  afterEach(() => hosts.closeAll());
  return hosts;
}
