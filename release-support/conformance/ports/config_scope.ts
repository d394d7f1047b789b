import { relative } from "node:path";

import { findConfigFile, interpretConfig } from "../../../helpers/config/scoped_config.ts";
import { YamlTimestamp } from "../../../helpers/formats/yaml_11.ts";
import { PLUGIN_ROOTS, withFileTree } from "../file_tree.ts";
import type { FileTree } from "../file_tree.ts";
import type { Port } from "../runner.ts";

interface Input {
  readonly tree: FileTree;
  readonly plugin: string;
  readonly project: string | null;
  readonly profile: string | null;
  readonly env?: Readonly<Record<string, string>>;
}

export default {
  run({ tree, plugin, project, profile, env = {} }: Input) {
    return withFileTree({ ...PLUGIN_ROOTS, ...tree }, async (root) => {
      const found = findConfigFile({ root, plugin, project, profile });
      if (found === null) return { path: null, config: null };
      const read = await interpretConfig(found, plugin, { environment: env });
      const config = read.kind === "value" ? marked(read.value) : { error: read.problem };
      return { path: relative(root, found.path), config };
    });
  },
} satisfies Port;

/** Writes a value in the notation of the vectors. */
function marked(value: unknown): unknown {
  if (typeof value === "bigint") return { $int: String(value) };
  if (Object.is(value, -0)) return { $float: "-0.0" };
  if (value instanceof YamlTimestamp) return { [`$${value.kind}`]: value.iso };
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString("base64") };
  if (value instanceof Set) return { $set: [...(value as Set<unknown>)].map(marked) };
  if (value instanceof Map) {
    return { $map: [...(value as Map<unknown, unknown>)].map(([key, item]) => [marked(key), marked(item)]) };
  }
  if (Array.isArray(value)) return value.map(marked);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, marked(item)]));
}
