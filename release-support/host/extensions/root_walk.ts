import { statSync } from "node:fs";
import { join } from "node:path";

import { disk, errorCode } from "../../../helpers/config/file_view.ts";
import type { Listing } from "../../../helpers/config/file_view.ts";
import { filePurpose, folderPurpose } from "./relevant_paths.ts";
import type { FilePurpose } from "./relevant_paths.ts";

/** An entry that the host looks at as a file, whatever it really is. */
export interface WalkedFile {
  /** Absolute. */
  readonly path: string;
  readonly purpose: FilePurpose;
  /** It has the name of such a file and is a folder. */
  readonly isFolder: boolean;
}

/** What there is below a host root of what the host looks at. Paths are absolute. */
export interface RootWalk {
  /** Folders worth watching, with what tells one from another folder that took its place. */
  readonly folders: ReadonlyMap<string, string>;
  /** Folders of plugins in which modules could be, and are not: their data, for the most part. */
  readonly barren: ReadonlySet<string>;
  /** What each folder holds of what the host looks at; folders that may only hold modules are left out. */
  readonly listings: ReadonlyMap<string, Listing>;
  readonly files: readonly WalkedFile[];
}

/**
 * Walks a host root.
 *
 * @param root - the host root: absolute
 * @returns what the host looks at there; a root that does not exist holds nothing. Never throws.
 */
export function walkRoot(root: string): RootWalk {
  const walk = new Walk();
  walk.look(root, "", []);
  return walk;
}

/** Tells whether two walks met the same folders, and not others in their places. */
export function sameFolders(one: RootWalk, other: RootWalk): boolean {
  return (
    one.folders.size === other.folders.size &&
    [...one.folders].every(([path, identity]) => other.folders.get(path) === identity)
  );
}

class Walk implements RootWalk {
  readonly folders = new Map<string, string>();
  readonly barren = new Set<string>();
  readonly listings = new Map<string, Listing>();
  readonly files: WalkedFile[] = [];

  /**
   * Looks into a folder.
   *
   * @param folder - absolute
   * @param place - relative to the root
   * @param above - the identities of the folders above it
   * @returns whether it holds anything that the host looks at
   */
  look(folder: string, place: string, above: readonly string[]): boolean {
    const purpose = folderPurpose(place);
    const identity = identityOf(folder);
    // A link to a folder above would go on for ever.
    const listing: Listing = above.includes(identity)
      ? { kind: "unreadable", code: "ELOOP" }
      : disk.list(folder);
    if (listing.kind === "absent" && listing.code === "ENOENT") return false;
    const entries =
      listing.kind === "listed"
        ? listing.entries.filter(({ name, isFolder }) =>
            this.#take(join(folder, name), join(place, name), isFolder, [...above, identity]),
          )
        : [];
    if (purpose === "modules" && entries.length === 0) {
      this.barren.add(folder);
      return false;
    }
    this.folders.set(folder, identity);
    if (purpose !== "modules")
      this.listings.set(folder, listing.kind === "listed" ? { kind: "listed", entries } : listing);
    return true;
  }

  #take(path: string, name: string, isFolder: boolean, above: readonly string[]): boolean {
    const place = name.replaceAll("\\", "/");
    const asFolder = folderPurpose(place);
    const asFile = filePurpose(place);
    // What has the name of such a file and is something else is not passed by: it cannot be loaded or read.
    const isFile = asFile !== null && !(isFolder && asFile === "module");
    if (isFile) this.files.push({ path, purpose: asFile, isFolder });
    if (asFolder === null) return isFile;
    if (isFolder) return this.look(path, place, above) || isFile;
    // And so it is with something else in the place of such a folder.
    const isInTheWay = !isFile && asFolder !== "modules";
    if (isInTheWay) this.listings.set(path, { kind: "absent", code: "ENOTDIR" });
    return isFile || isInTheWay;
  }
}

/** What tells a folder from another one that takes its place: a number may be given anew, the time of birth not. */
function identityOf(folder: string): string {
  try {
    const { dev, ino, birthtimeNs } = statSync(folder, { bigint: true });
    return `${dev}-${ino}-${birthtimeNs}`;
  } catch (error) {
    return errorCode(error);
  }
}
