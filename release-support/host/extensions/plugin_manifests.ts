import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod/mini";

import { parseYaml11 } from "../../../helpers/formats/yaml_11.ts";

/** The sections of the settings dialog in which a plugin may appear. */
const SECTIONS = ["agent", "external", "mcp", "developer", "backup"] as const;

const manifestSchema = z.object({
  name: z.optional(z.string().check(z.regex(/^[a-z0-9_]+$/))),
  title: z.optional(z.string()),
  description: z.optional(z.string()),
  version: z.optional(z.string()),
  settings_sections: z.optional(z.array(z.enum(SECTIONS))),
  per_project_config: z.optional(z.boolean()),
  per_agent_config: z.optional(z.boolean()),
  always_enabled: z.optional(z.boolean()),
});

/** What a `plugin.yaml` says. */
export type PluginManifest = z.infer<typeof manifestSchema>;

/** A manifest, or why it cannot be used; the plugin's extensions run all the same (SPEC H2). */
export type ManifestReading =
  | { readonly kind: "manifest"; readonly manifest: PluginManifest }
  | { readonly kind: "broken"; readonly problem: string };

/**
 * Reads the `plugin.yaml` of a plugin.
 *
 * @param folder - the plugin's folder
 * @returns what it says, or what is wrong with it in controlled words. Never throws.
 */
export function readManifest(folder: string): ManifestReading {
  const file = join(folder, "plugin.yaml");
  let value: unknown;
  try {
    // Opening a pipe would wait for a writer.
    if (!statSync(file).isFile()) return { kind: "broken", problem: "plugin.yaml is no regular file" };
    value = parseYaml11(readFileSync(file, "utf8"));
  } catch {
    return { kind: "broken", problem: "plugin.yaml cannot be read as YAML" };
  }
  const shape = manifestSchema.safeParse(value ?? {});
  if (shape.success) return { kind: "manifest", manifest: shape.data };
  const fields = new Set(shape.error.issues.map(({ path }) => String(path[0] ?? "(the whole file)")));
  return { kind: "broken", problem: `plugin.yaml is not valid at: ${[...fields].join(", ")}` };
}
