import { readFileSync } from "node:fs";
import { join } from "node:path";

import { disk } from "../../../helpers/config/file_view.ts";
import { explainScopedConfig } from "../../../helpers/config/scoped_config.ts";
import type { ConfigScope } from "../../../helpers/config/scoped_config.ts";
import { readStrictJson } from "../../../helpers/formats/strict_json.ts";
import type { ToolId } from "./tool.ts";

/** The policy that applies to an agent's tools. `closed` stands for one that cannot be read: it blocks all it can. */
export type ToolPolicy =
  | { readonly kind: "inherit" }
  | { readonly kind: "closed" }
  | {
      readonly kind: "custom";
      readonly allowed: ReadonlySet<string>;
      readonly blocked: ReadonlySet<string>;
      readonly byDefault: "allow" | "block";
      readonly mcpByDefault: "allow" | "block";
    };

/** Without these an agent can neither answer nor look. */
const NEVER_BLOCKED: ReadonlySet<string> = new Set(["local:response", "local:vision_load"]);
const POLICY_KEYS = ["mode", "default", "mcp_default", "allowed", "blocked"];

/**
 * Finds the tool policy of a project and profile: the first scoped configuration file of `_tool_access` that states
 * one with mode `custom`; files without policy keys and files with mode `inherit` defer to the next scope (SPEC H8).
 *
 * @param scope - root, project and profile
 */
export function findToolPolicy(scope: Omit<ConfigScope, "plugin">): ToolPolicy {
  for (const place of explainScopedConfig({ ...scope, plugin: "_tool_access" }).places) {
    if (place.path === null || place.outcome === "absent" || place.scopeName === "default") continue;
    const policy = readPolicy(join(scope.root, place.path));
    if (policy.kind !== "inherit") return policy;
  }
  return { kind: "inherit" };
}

/**
 * Tells whether a policy blocks a tool. Blocked beats allowed, allowed beats the default of its kind.
 *
 * @param policy - the policy
 * @param id - the tool
 */
export function isBlocked(policy: ToolPolicy, id: ToolId): boolean {
  if (policy.kind === "inherit" || NEVER_BLOCKED.has(id)) return false;
  if (policy.kind !== "custom" || policy.blocked.has(id)) return true;
  if (policy.allowed.has(id)) return false;
  return (id.startsWith("mcp:") ? policy.mcpByDefault : policy.byDefault) !== "allow";
}

function readPolicy(path: string): ToolPolicy {
  const seen = disk.sight(path);
  // Opening a pipe would wait for a writer.
  if (seen.kind !== "present" || !seen.isFile) return { kind: "closed" };
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch {
    return { kind: "closed" };
  }
  const json = readStrictJson(bytes);
  const value = json.kind === "value" ? json.value : null;
  // A policy file that cannot be understood must not open what it may have closed.
  if (typeof value !== "object" || value === null || Array.isArray(value)) return { kind: "closed" };
  if (!POLICY_KEYS.some((key) => Object.hasOwn(value, key))) return { kind: "inherit" };
  if (value["mode"] !== "custom")
    return value["mode"] === "inherit" || value["mode"] === undefined
      ? { kind: "inherit" }
      : { kind: "closed" };
  const [allowed, blocked] = [listOf(value["allowed"]), listOf(value["blocked"])];
  const [byDefault, mcpByDefault] = [defaultOf(value["default"]), defaultOf(value["mcp_default"])];
  if (allowed === null || blocked === null || byDefault === null || mcpByDefault === null)
    return { kind: "closed" };
  return { kind: "custom", allowed, blocked, byDefault, mcpByDefault };
}

function listOf(value: unknown): ReadonlySet<string> | null {
  if (value === undefined || value === null) return new Set();
  const isList = Array.isArray(value) && value.every((item): item is string => typeof item === "string");
  return isList ? new Set(value) : null;
}

function defaultOf(value: unknown): "allow" | "block" | null {
  if (value === undefined || value === null) return "allow";
  return value === "allow" || value === "block" ? value : null;
}
