import { readFileSync } from "node:fs";
import { join } from "node:path";

import { readStrictJson } from "../../../helpers/formats/strict_json.ts";
import { classifyServers, collidingNames, mergeServerEntries, parseServerEntries } from "./configuration.ts";
import type { DisconnectedServer, McpServer } from "./configuration.ts";
import { systemCode } from "../../mcp/failure.ts";

/** The MCP servers that the agents of one project can reach. */
export interface McpConfiguration {
  /** The usable servers in lookup order. */
  readonly servers: readonly McpServer[];
  /** Why there are no servers at all; `null` when the configuration could be read. */
  readonly problem: string | null;
  /** The entries that cannot be used, and why. */
  readonly disconnected: readonly DisconnectedServer[];
  /** See SPEC P5.1. */
  readonly collidingNames: ReadonlySet<string>;
  /** The texts that it was made from. */
  readonly source: string;
}

/**
 * Reads the MCP configuration that applies to a project from the files as they are now: the global servers of
 * `usr/settings.json` merged with the project's `.a0proj/mcp_servers.json` (SPEC H1, H5).
 *
 * @param root - the host root
 * @param project - the project, or `null`
 * @param known - an earlier result, which is given back while the texts are the same
 */
export function readMcpConfiguration(
  root: string,
  project: string | null,
  known: McpConfiguration | undefined,
): McpConfiguration {
  const files = [SETTINGS, ...(project === null ? [] : [projectFile(project)])];
  const texts = files.map((file) => readText(root, file));
  const source = JSON.stringify(texts);
  if (known?.source === source) return known;

  const unreadable = files.find((_, index) => texts[index] === null);
  if (unreadable !== undefined) return withoutServers(`${unreadable} cannot be read`, source);
  const settings = readSettings(texts[0] ?? "");
  if (settings.kind !== "read") return withoutServers(`${SETTINGS} is not a JSON object`, source);
  return { ...configure(settings.mcpServers, project === null ? null : (texts[1] ?? "")), source };
}

const SETTINGS = "usr/settings.json";

function projectFile(project: string): string {
  return `usr/projects/${project}/.a0proj/mcp_servers.json`;
}

/** @param projectServers - the project's configuration, `null` without a project */
function configure(mcpServers: unknown, projectServers: string | null): Omit<McpConfiguration, "source"> {
  const globalEntries = parseServerEntries(mcpServers);
  const projectEntries = parseServerEntries(projectServers ?? "");
  const merged =
    projectServers === null
      ? ({ kind: "merged", entries: globalEntries } as const)
      : mergeServerEntries(globalEntries, projectEntries);
  const classified = merged.kind === "merged" ? classifyServers(merged.entries) : merged;
  return {
    ...(classified.kind === "classified"
      ? { servers: classified.servers, disconnected: classified.disconnected, problem: null }
      : { servers: [], disconnected: [], problem: classified.reason }),
    collidingNames: collidingNames(globalEntries, projectEntries),
  };
}

function withoutServers(problem: string, source: string): McpConfiguration {
  return {
    servers: [],
    disconnected: [],
    problem: `${problem}, so no MCP server is configured`,
    collidingNames: new Set(),
    source,
  };
}

type Settings = { readonly kind: "read"; readonly mcpServers: unknown } | { readonly kind: "unreadable" };

/** The setting `mcp_servers`: a text in the framework, here also the object itself. */
function readSettings(text: string): Settings {
  if (text === "") return { kind: "read", mcpServers: "" };
  const json = readStrictJson(Buffer.from(text));
  const settings = json.kind === "value" ? json.value : null;
  if (typeof settings !== "object" || settings === null || Array.isArray(settings))
    return { kind: "unreadable" };
  return { kind: "read", mcpServers: Object.hasOwn(settings, "mcp_servers") ? settings["mcp_servers"] : "" };
}

/** A file's text; one that is not there names no server. `null` for one that cannot be read. */
function readText(root: string, file: string): string | null {
  try {
    return readFileSync(join(root, file), "utf8");
  } catch (error) {
    const code = systemCode(error);
    return code === "ENOENT" || code === "ENOTDIR" ? "" : null;
  }
}
