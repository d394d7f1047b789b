// What install and uninstall print with --json, see output_schemas.ts.
import * as z from "zod";

/** What the configuration that decides for a scope protects. */
const protection = z.strictObject({
  project: z.string().nullable(),
  profile: z.string().nullable(),
  /** The file that decides, relative to the root; null when none does. */
  file: z.string().nullable(),
  /** A file that is not valid lets no MCP tool run. */
  valid: z.boolean(),
  servers: z.array(z.strictObject({ name: z.string(), endpoint: z.string().nullable() })),
});

/** `install --json`. */
export const installDocument = z.strictObject({
  /** Whether the configuration can be used everywhere and the plugin is on; it is installed in any case. */
  ok: z.boolean(),
  root: z.string(),
  /** The plugin's folder, relative to the root. */
  path: z.string(),
  version: z.string(),
  /** What was there before; null when nothing was. */
  replaced: z
    .strictObject({
      /** Null when it did not say. */
      version: z.string().nullable(),
      kept: z.array(z.string()),
      /** Files that are gone and that the old release did not have, or not as they were. */
      dropped: z.array(z.string()),
    })
    .nullable(),
  /** Whether no toggle without a project and profile switches it off. */
  enabled: z.boolean(),
  protected: z.array(protection),
});

/** `uninstall --json`. */
export const uninstallDocument = z.strictObject({
  ok: z.literal(true),
  root: z.string(),
  removed: z.strictObject({
    path: z.string(),
    version: z.string().nullable(),
    kept: z.array(z.string()),
    dropped: z.array(z.string()),
  }),
  /** What was protected and is not any more. */
  unprotects: z.array(protection),
  /** The copy that counts now, relative to the root; null when there is none. */
  remains: z.string().nullable(),
});

export type ProtectionDocument = z.infer<typeof protection>;
export type InstallDocument = z.infer<typeof installDocument>;
export type UninstallDocument = z.infer<typeof uninstallDocument>;
