/**
 * The gate for any client of the MCP TypeScript SDK (SPEC A1): `agent-guild-preflight/mcp-sdk`.
 *
 * @packageDocumentation
 */
import { resolve } from "node:path";

import { normalizeServerName } from "../../../helpers/binding/names.ts";
import type { DecisionRecord } from "../../../helpers/decision/evidence.ts";
import { readSettings } from "../../../helpers/settings/settings_schema.ts";
import { gateTransport } from "./gate_transport.ts";
import type { GateableTransport } from "./gate_transport.ts";

export type { DecisionRecord } from "../../../helpers/decision/evidence.ts";
export type { GateableTransport } from "./gate_transport.ts";

/** What a guarded transport needs to know. */
export interface GuardOptions {
  /** The server's name in `protected_servers`. */
  readonly server: string;
  /** The URL that the transport dials, in the very text that it was made from. */
  readonly url: string;
  /** The plugin's settings in the form of `config.json`; they must protect the server. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** What is gated beside `tools/call`; nothing unless it is named. */
  readonly alsoGate?: readonly ("resources/read" | "prompts/get")[];
  /** Once it fires, calls that wait for the gate are not sent, and later ones neither. */
  readonly signal?: AbortSignal;
  /** Gets the record of each decision before it counts. What it throws denies the call. */
  readonly onDecision?: (record: DecisionRecord) => void;
}

/**
 * Guards a client transport of the MCP TypeScript SDK, 1.x or 2.x: each `tools/call` is preflighted just before it
 * would be sent, whichever method of the client makes it. A denied one is not sent; the client gets a tool result with
 * `isError`, or a JSON-RPC error where no tool result is expected, in controlled words (SPEC A1, P10).
 *
 * @param transport - the transport, not started yet; give it {@link fetchWithoutRedirects}
 * @param options - see {@link GuardOptions}; taken as they are now
 * @returns the transport to connect the client with
 * @throws TypeError when an option is not usable, each setting named by its path
 */
export function guardTransport<T extends GateableTransport>(transport: T, options: GuardOptions): T {
  const { server, url, settings, signal, onDecision } = options;
  const name = normalizeServerName(text("server", server));
  const servers = {
    // The transport is made for one URL. Which tools are there, the server there knows.
    servers: [{ kind: "remote", name, url: text("url", url), exposes: () => true }],
    collidingNames: new Set<string>(),
  } as const;
  requireProtected(name, settings);
  const configuration = {
    kind: "value",
    where: "settings of guardTransport",
    value: structuredClone(settings),
  } as const;
  const host = {
    root: resolve("."),
    whereToLook: "the records that onDecision gets, and the settings of guardTransport",
    configuration: () => Promise.resolve(configuration),
    mcpConfiguration: () => servers,
    ...(onDecision === undefined ? {} : { onDecision }),
  };
  const methods = new Set(["tools/call", ...alsoGated(options.alsoGate)]);
  return gateTransport(transport, { host, server, methods, signal });
}

/**
 * A `fetch` for the transport's option of that name: it follows no redirect, since that would run the tool on an
 * endpoint that nobody approved. The SDK by itself follows those within an origin.
 */
export const fetchWithoutRedirects: typeof fetch = (input, init) =>
  fetch(input, { ...init, redirect: "error" });

/** A guard that would guard nothing is a mistake. */
function requireProtected(name: string, settings: unknown): void {
  const reading = readSettings(settings);
  if (reading.kind !== "valid") {
    const shown = reading.errors.map(
      ({ path, expected }) => `settings${path && `.${path}`}: expected ${expected}`,
    );
    throw new TypeError(shown.join("; "));
  }
  if (!reading.settings.protectedServers.has(name))
    throw new TypeError("settings.protected_servers: expected the server of this transport among them");
}

function alsoGated(methods: GuardOptions["alsoGate"] = []): readonly string[] {
  if (methods.every((method) => ["resources/read", "prompts/get"].includes(method))) return methods;
  throw new TypeError("alsoGate: expected resources/read, prompts/get or both");
}

function text(option: string, value: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new TypeError(`${option}: expected a text that is not empty`);
}
