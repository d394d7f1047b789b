import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

import type { McpServer } from "../../host/mcp/configuration.ts";
import type { McpConfiguration } from "../../host/mcp/current_configuration.ts";
import type { DoctorDocument } from "../output_schemas.ts";

type Entry = DoctorDocument["mcp"]["entries"][number];

/** What the framework says of an entry that is switched off, which is nobody's mistake. */
export const SWITCHED_OFF = "Disabled in config";

/**
 * Lists the MCP entries of a scope, and why one will not work, as far as that shows without starting or asking anything
 * (SPEC C4).
 *
 * @param configuration - the MCP configuration of the scope
 * @param isProtected - whether a normalised name is protected
 */
export function mcpEntries(configuration: McpConfiguration, isProtected: (name: string) => boolean): Entry[] {
  const { servers, disconnected } = configuration;
  return [
    ...servers.map((server) => ({
      name: server.name,
      kind: server.kind,
      protected: isProtected(server.name),
      problem: problemOf(server, configuration),
    })),
    ...disconnected.map(({ name, reason }) => ({
      name,
      kind: "unusable" as const,
      protected: isProtected(name),
      problem: reason,
    })),
  ];
}

function problemOf(server: McpServer, { servers, collidingNames }: McpConfiguration): string | null {
  const { name } = server;
  if (name === "") return "its name is empty, so that no tool name can lead to it";
  if (collidingNames.has(name) || servers.filter((one) => one.name === name).length > 1) {
    return "another enabled entry has the same name after normalisation";
  }
  return server.kind === "remote" ? urlProblem(server.url) : commandProblem(server.command);
}

function urlProblem(url: string): string | null {
  if (!URL.canParse(url)) return "what it would dial is no URL";
  const { protocol } = new URL(url);
  return protocol === "http:" || protocol === "https:" ? null : "its URL is neither http nor https";
}

function commandProblem(command: string): string | null {
  if (command === "") return "it has neither a URL nor a command";
  if (/[/\\]/.test(command)) return isProgram(command) ? null : "its command is no program on this machine";
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const names = process.platform === "win32" ? [".exe", ".cmd", ""].map((end) => command + end) : [command];
  const found = folders.some((folder) => names.some((name) => isProgram(join(folder, name))));
  return found ? null : "its command is on no folder of PATH";
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
