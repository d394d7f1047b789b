import { createHash } from "node:crypto";
import { existsSync, lstatSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join, relative } from "node:path";

/** The file in a plugin folder that says which files its release has. */
export const RELEASE_MANIFEST = "release_manifest.json";

/** What is written for a symbolic link, which is compared by its presence alone. */
const LINK = "link";

/** What a release says of itself: its version, and each file's SHA-256 by its path with `/` between its parts. */
interface Manifest {
  readonly version: string;
  readonly files: Readonly<Record<string, string>>;
}

/** How a plugin folder compares with the release that it says it is (SPEC C10). Paths are relative to it. */
export type ReleaseState =
  | { readonly kind: "as_released"; readonly version: string }
  | {
      readonly kind: "differs";
      readonly version: string;
      /** Files of the release that are not there. */
      readonly missing: readonly string[];
      /** Files whose content is another one. */
      readonly changed: readonly string[];
      /** Files that the release does not have, the operator's own left out. */
      readonly foreign: readonly string[];
    }
  /** It is a clone of the repository; `outdated` are compiled files that are missing or older than their sources. */
  | { readonly kind: "clone"; readonly outdated: readonly string[] }
  /** It has no manifest, or none that can be read: nobody can say what belongs in it. */
  | { readonly kind: "unmarked" };

/**
 * Writes the manifest of a plugin folder that was just made. It guards against mistakes, not against whoever can write
 * into the folder.
 *
 * @param folder - the plugin folder
 * @param version - the release's version
 */
export function writeReleaseManifest(folder: string, version: string): void {
  const files = Object.fromEntries(filesBelow(folder).map((path) => [path, fingerprint(join(folder, path))]));
  writeFileSync(join(folder, RELEASE_MANIFEST), `${JSON.stringify({ version, files }, null, 2)}\n`);
}

/**
 * Compares a plugin folder with its release manifest.
 *
 * @param folder - the plugin folder
 * @returns the difference. Never throws: a file that cannot be read counts as changed
 */
export function compareWithRelease(folder: string): ReleaseState {
  const manifest = readManifest(folder);
  if (manifest === null) {
    const isClone = existsSync(join(folder, "release-support"));
    return isClone ? { kind: "clone", outdated: outdatedIn(folder) } : { kind: "unmarked" };
  }
  const { version, files } = manifest;
  const there = new Set(filesBelow(folder));
  const missing = Object.keys(files).filter((path) => !there.has(path));
  const changed = Object.keys(files).filter(
    (path) => there.has(path) && fingerprint(join(folder, path)) !== files[path],
  );
  const foreign = [...there].filter((path) => !Object.hasOwn(files, path) && !isOperators(path));
  if (missing.length + changed.length + foreign.length === 0) return { kind: "as_released", version };
  return { kind: "differs", version, missing, changed, foreign };
}

/**
 * Lists the operator's own files in a plugin folder: its configuration and toggles, and those that a profile in it has for
 * a plugin. An update keeps them.
 *
 * @param folder - the plugin folder
 * @returns paths relative to it; none when it is not there
 */
export function operatorsFiles(folder: string): string[] {
  return filesBelow(folder).filter(isOperators);
}

/** What Node loads in place of the sources of a clone, and is not what it was compiled from. */
function outdatedIn(clone: string): string[] {
  if (!existsSync(join(clone, "dist"))) return [];
  return ["extensions", "helpers"]
    .flatMap((folder) => filesBelow(join(clone, folder)).map((path) => `${folder}/${path}`))
    .filter((path) => path.endsWith(".ts"))
    .map((source) => ({ source, compiled: `dist/${source.replace(/\.ts$/, ".js")}` }))
    .filter(({ source, compiled }) => changedAt(join(clone, compiled)) < changedAt(join(clone, source)))
    .map(({ compiled }) => compiled);
}

function changedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Whether a file of a plugin folder is the operator's, by its path in it. */
function isOperators(path: string): boolean {
  const place = /^(?:agents\/[^/]+\/plugins\/[^/]+\/)?([^/]+)$/.exec(path)?.[1];
  return place === "config.json" || place === ".toggle-0" || place === ".toggle-1";
}

function readManifest(folder: string): Manifest | null {
  try {
    const value: unknown = JSON.parse(readFileSync(join(folder, RELEASE_MANIFEST), "utf8"));
    const { version, files } = value as Partial<Manifest>;
    return typeof version === "string" && typeof files === "object" && files !== null
      ? { version, files }
      : null;
  } catch {
    return null;
  }
}

/**
 * Lists the files and links below a plugin folder but for its manifest; links are not followed.
 *
 * @param folder - the plugin folder
 * @returns paths relative to it, in order; none when it cannot be listed
 */
export function filesBelow(folder: string): string[] {
  const entries = listOrNothing(folder);
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .filter((path) => path !== RELEASE_MANIFEST)
    .toSorted();
}

function listOrNothing(folder: string) {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true });
  } catch {
    return [];
  }
}

function fingerprint(path: string): string {
  try {
    if (lstatSync(path).isSymbolicLink()) return LINK;
    return createHash("sha256").update(readFileSync(path)).digest("hex");
  } catch {
    return `(${basename(path)} cannot be read)`;
  }
}
