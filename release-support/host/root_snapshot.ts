import { statSync } from "node:fs";
import { join, relative, sep } from "node:path";

import { disk } from "../../helpers/file_view.ts";
import type { FileView, Listing, Sighting } from "../../helpers/file_view.ts";
import { filePurpose, isRelevantFolder } from "./relevant_paths.ts";
import type { FilePurpose } from "./relevant_paths.ts";

/** One file that the host looks at, as it was when the snapshot was taken. */
export interface SnapshotFile {
  /** Absolute. */
  readonly path: string;
  readonly purpose: FilePurpose;
  /** Differs when the file was changed or replaced. */
  readonly version: string;
}

/**
 * What the host saw of its root at one moment. Everything that is decided about extensions is decided over one snapshot,
 * so that a file that is just being replaced cannot fall out of a decision half-way (SPEC H4).
 */
export class RootSnapshot implements FileView {
  readonly #sightings = new Map<string, Sighting>();
  readonly #listings = new Map<string, Listing>();
  readonly #files: SnapshotFile[] = [];
  readonly #root: string;

  /** @param root - the host root: absolute */
  constructor(root: string) {
    this.#root = root;
    this.#look(root);
  }

  /** Every file that the host looks at, by folder. */
  get files(): readonly SnapshotFile[] {
    return this.#files;
  }

  /** What was at a path; a path that the host does not look at was absent. */
  sight(path: string): Sighting {
    return this.#sightings.get(path) ?? { kind: "absent" };
  }

  /** What a folder held of what the host looks at. */
  list(path: string): Listing {
    return this.#listings.get(path) ?? { kind: "absent", code: "ENOENT" };
  }

  #look(folder: string): void {
    const listing = disk.list(folder);
    if (listing.kind === "absent") return;
    this.#sightings.set(folder, { kind: "present", isFolder: true, isFile: false });
    if (listing.kind !== "listed") {
      this.#listings.set(folder, listing);
      return;
    }
    const entries = listing.entries.filter(({ name, isFolder }) => this.#take(join(folder, name), isFolder));
    this.#listings.set(folder, { kind: "listed", entries });
  }

  /** Takes an entry in if the host looks at it. */
  #take(path: string, isFolder: boolean): boolean {
    const place = relative(this.#root, path).split(sep).join("/");
    const purpose = filePurpose(place);
    if (isFolder && isRelevantFolder(place)) {
      this.#look(path);
      return true;
    }
    // A folder with the name of an extension file is taken for one, which no loader can load: it is not passed by.
    if (purpose === null) return false;
    this.#sightings.set(path, { kind: "present", isFolder, isFile: !isFolder });
    this.#files.push({ path, purpose, version: versionOf(path) });
    return true;
  }
}

function versionOf(path: string): string {
  try {
    const { ino, size, mtimeNs } = statSync(path, { bigint: true });
    return `${ino}-${size}-${mtimeNs}`;
  } catch {
    return "gone";
  }
}
