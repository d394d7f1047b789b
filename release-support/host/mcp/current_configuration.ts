import { readFileSync } from "node:fs";
import { join } from "node:path";

import { readStrictJson } from "../../../helpers/strict_json.ts";
import { classifyServers, collidingNames, mergeServerEntries, parseServerEntries } from "./configuration.ts";
import type { DisconnectedServer, McpServer } from "./configuration.ts";

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
  const globalText = textOf(join(root, "usr", "settings.json"));
  const projectText =
    project === null ? "" : textOf(join(root, "usr", "projects", project, ".a0proj", "mcp_servers.json"));
  const source = `${globalText.length} ${globalText}${projectText}`;
  if (known?.source === source) return known;

  const settings = readSettings(globalText);
  const globalEntries = parseServerEntries(settings.mcpServers);
  const projectEntries = parseServerEntries(projectText);
  const merged =
    project === null
      ? ({ kind: "merged", entries: globalEntries } as const)
      : mergeServerEntries(globalEntries, projectEntries);
  const classified = merged.kind === "merged" ? classifyServers(merged.entries) : merged;
  return {
    ...(classified.kind === "classified"
      ? { servers: classified.servers, disconnected: classified.disconnected, problem: settings.problem }
      : { servers: [], disconnected: [], problem: classified.reason }),
    collidingNames: collidingNames(globalEntries, projectEntries),
    source,
  };
}

/** The setting `mcp_servers`: a text in the framework, here also the object itself. */
function readSettings(text: string): { readonly mcpServers: unknown; readonly problem: string | null } {
  if (text === "") return { mcpServers: "", problem: null };
  const json = readStrictJson(Buffer.from(text));
  const settings = json.kind === "value" ? json.value : null;
  if (typeof settings !== "object" || settings === null || Array.isArray(settings)) {
    return {
      mcpServers: "",
      problem: "usr/settings.json is not a JSON object, so no MCP server is configured",
    };
  }
  return { mcpServers: Object.hasOwn(settings, "mcp_servers") ? settings["mcp_servers"] : "", problem: null };
}

/** A file's text; a file that is not there or cannot be read names no server. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
