import { readdirSync, statSync } from "node:fs";
import type { Dirent, Stats } from "node:fs";
import { join } from "node:path";

/** What the file system says about a path. `unknown` carries its error code: something may be there. */
export type Sighting =
  | { readonly kind: "absent" }
  | { readonly kind: "present"; readonly isFolder: boolean; readonly isFile: boolean }
  | { readonly kind: "unknown"; readonly code: string };

/** What a folder holds; `absent` and `unreadable` carry the error code. */
export type Listing =
  | { readonly kind: "listed"; readonly entries: readonly FolderEntry[] }
  | { readonly kind: "absent" | "unreadable"; readonly code: string };

/** One entry of a folder; a link counts as what it leads to. */
export interface FolderEntry {
  readonly name: string;
  readonly isFolder: boolean;
}

/** Something that can be asked about files: the disk as it is now, or what was seen of it at one moment. */
export interface FileView {
  /** Looks at a path, following symbolic links. Only ENOENT and ENOTDIR prove that nothing is there. */
  sight(path: string): Sighting;
  /** Lists a folder, in any order. */
  list(path: string): Listing;
}

/** The disk as it is now. */
export const disk: FileView = { sight, list };

/** Whether anything may be at a path: what cannot be looked at counts, so that nobody passes it by unseen. */
export function mayExist(path: string, files: FileView = disk): boolean {
  return files.sight(path).kind !== "absent";
}

/** The code of a system error, such as `EACCES`. */
export function errorCode(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "unknown error";
}

function sight(path: string): Sighting {
  let stats: Stats | undefined;
  try {
    stats = statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    const code = errorCode(error);
    return provesAbsence(code) ? { kind: "absent" } : { kind: "unknown", code };
  }
  if (stats === undefined) return { kind: "absent" };
  return { kind: "present", isFolder: stats.isDirectory(), isFile: stats.isFile() };
}

function list(path: string): Listing {
  let entries: Dirent[];
  try {
    entries = readdirSync(path, { withFileTypes: true });
  } catch (error) {
    const code = errorCode(error);
    return { kind: provesAbsence(code) ? "absent" : "unreadable", code };
  }
  return {
    kind: "listed",
    entries: entries.map((entry) => ({
      name: entry.name,
      isFolder: isFolder(join(path, entry.name), entry),
    })),
  };
}

function isFolder(path: string, entry: Dirent): boolean {
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  const seen = sight(path);
  return seen.kind === "present" ? seen.isFolder : seen.kind === "unknown";
}

function provesAbsence(code: string): boolean {
  return code === "ENOENT" || code === "ENOTDIR";
}
