import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

import { normalizeServerName } from "../../../helpers/binding/names.ts";
import type { McpConfigurationView, McpServerView } from "../../../helpers/host.ts";
import { readStrictJson } from "../../../helpers/formats/strict_json.ts";
import type { JsonValue } from "../../../helpers/formats/strict_json.ts";

/** The folder that is pi's own: of the project, and of the user (`PI_CODING_AGENT_DIR`, else `~/.pi/agent`). */
export function piFolders(cwd: string): { readonly project: string; readonly global: string } {
  const moved = process.env["PI_CODING_AGENT_DIR"]?.replace(/^~(?=\/|$)/, homedir());
  return {
    project: join(cwd, ".pi"),
    global: moved === undefined || moved === "" ? join(homedir(), ".pi/agent") : moved,
  };
}

/** One entry of a file with MCP servers. */
export interface McpEntry {
  readonly name: string;
  /** `null` for a server that is not reached by a URL. */
  readonly url: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Reads the entries below `mcpServers` of a JSON file.
 *
 * @param path - absolute
 * @returns the entries; `null` when there is no such file
 * @throws Error, in controlled words, when it is there and cannot be used
 */
export function readMcpEntries(path: string): readonly McpEntry[] | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
      return null;
    throw new Error("a file with MCP servers cannot be read", { cause: error });
  }
  const json = readStrictJson(bytes);
  if (json.kind !== "value") throw new Error("a file with MCP servers is not valid JSON");
  return Object.entries(membersOf(membersOf(json.value)["mcpServers"])).map(([name, entry]) => {
    const { url, headers } = membersOf(entry);
    const texts = Object.entries(membersOf(headers)).filter(
      (header): header is [string, string] => typeof header[1] === "string",
    );
    return { name, url: typeof url === "string" ? url : null, headers: Object.fromEntries(texts) };
  });
}

/**
 * Reads what an MCP adapter's users configure: every entry of every file that it looks into. How it merges them is its
 * own affair, so entries of one name that differ count as two servers.
 *
 * @param cwd - the working folder
 * @throws as {@link readMcpEntries} does
 */
export function adapterServers(cwd: string): McpConfigurationView {
  const { project, global } = piFolders(cwd);
  const shared = [".config/mcp/mcp.json", ".agents/mcp.json", ".agents/mcp/mcp.json"];
  const files = [
    ...shared.map((file) => join(homedir(), file)),
    join(global, "mcp.json"),
    join(cwd, ".mcp.json"),
    join(project, "mcp.json"),
  ];
  const entries = files.flatMap((file) => readMcpEntries(file) ?? []);
  const distinct = new Map(entries.map((entry) => [JSON.stringify([entry.name, entry.url]), entry]));
  // Which tools are there, the adapter alone knows.
  const servers = [...distinct.values()].map((entry) => serverView(entry, () => true));
  return { servers, collidingNames: new Set() };
}

/**
 * An entry as the gate sees it.
 *
 * @param entry - the entry
 * @param exposes - whether a tool is there
 */
export function serverView({ name, url }: McpEntry, exposes: (tool: string) => boolean): McpServerView {
  const normalized = normalizeServerName(name);
  return url === null
    ? { kind: "local", name: normalized }
    : { kind: "remote", name: normalized, url, exposes };
}

function membersOf(value: JsonValue | undefined): Readonly<Record<string, JsonValue>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}
