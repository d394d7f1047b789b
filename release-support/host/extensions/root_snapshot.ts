import { createHash } from "node:crypto";
import { readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

import { errorCode } from "../../../helpers/config/file_view.ts";
import type { FileView, Listing, Sighting } from "../../../helpers/config/file_view.ts";
import type { FilePurpose } from "./relevant_paths.ts";
import { walkRoot } from "./root_walk.ts";
import type { WalkedFile } from "./root_walk.ts";

/** One file that the host looks at, as it was when the snapshot was taken. */
export interface SnapshotFile {
  /** Absolute. */
  readonly path: string;
  readonly purpose: FilePurpose;
  /** Where it really lies, links followed: Node knows a module by that. */
  readonly realPath: string;
  /** Differs when its content or its real place does. Of toggles and manifests only that they are there counts. */
  readonly version: string;
  /** Differs when the file was written or replaced, be it with the same content. */
  readonly stamp: string;
  /** Why the file cannot be read, in controlled words, or `null`. */
  readonly problem: string | null;
}

/**
 * What the host saw of its root at one moment. Everything that is decided about extensions is decided over one snapshot,
 * so that a file that is just being replaced cannot fall out of a decision half-way (SPEC H4).
 */
export class RootSnapshot implements FileView {
  /** Every file that the host looks at. */
  readonly files: readonly SnapshotFile[];
  readonly #files: ReadonlyMap<string, WalkedFile>;
  readonly #listings: ReadonlyMap<string, Listing>;
  readonly #signature: string;

  /** @param root - the host root: absolute */
  constructor(root: string) {
    const { files, folders, listings } = walkRoot(root);
    this.#files = new Map(files.map((file) => [file.path, file]));
    this.#listings = listings;
    this.files = files.map(lookAt);
    this.#signature = JSON.stringify([[...folders], [...listings], this.files]);
  }

  /** What was at a path; a path that the host does not look at was absent. */
  sight(path: string): Sighting {
    const place = resolve(path);
    const listing = this.#listings.get(place);
    if (listing !== undefined) return present(listing.kind !== "absent");
    const file = this.#files.get(place);
    return file === undefined ? { kind: "absent" } : present(file.isFolder);
  }

  /** What a folder held of what the host looks at. */
  list(path: string): Listing {
    return this.#listings.get(resolve(path)) ?? { kind: "absent", code: "ENOENT" };
  }

  /** Folders that were there and could not be listed, and what lay in the place of an extension point's folder. */
  get unlisted(): readonly { readonly path: string; readonly code: string }[] {
    return [...this.#listings].flatMap(([path, listing]) => {
      if (listing.kind === "listed") return [];
      const isPoint = dirname(path).endsWith(join("extensions", "node"));
      return listing.kind === "unreadable" || isPoint ? [{ path, code: listing.code }] : [];
    });
  }

  /** Whether the root was the same then, to the last write. */
  equals(other: RootSnapshot): boolean {
    return this.#signature === other.#signature;
  }

  /** The extensions, toggles and manifests that were there before and are missing: absolute paths. */
  missingSince(before: RootSnapshot): string[] {
    const missing = before.files.filter(
      ({ path, purpose }) => purpose !== "module" && !this.#files.has(path),
    );
    return missing.map(({ path }) => path);
  }
}

function present(isFolder: boolean): Sighting {
  return { kind: "present", isFolder, isFile: !isFolder };
}

/**
 * Looks at one file that the host looks at.
 *
 * @param file - its absolute path, and what for
 * @returns what is there. Never throws.
 */
export function lookAt({ path, purpose }: Pick<WalkedFile, "path" | "purpose">): SnapshotFile {
  const file = { path, purpose, realPath: path, version: "" };
  try {
    const stats = statSync(path, { bigint: true });
    const stamp = [stats.dev, stats.ino, stats.size, stats.mtimeNs].join("-");
    // Opening a pipe would wait for a writer.
    if (!stats.isFile()) return { ...file, stamp, problem: "it is no regular file" };
    if (purpose !== "extension" && purpose !== "module") return { ...file, stamp, problem: null };
    const realPath = realpathSync(path);
    const version = createHash("sha256").update(`${realPath}\0`).update(readFileSync(path)).digest("hex");
    return { path, purpose, realPath, version, stamp, problem: null };
  } catch (error) {
    const code = errorCode(error);
    return { ...file, stamp: code, problem: `it cannot be read (${code})` };
  }
}
