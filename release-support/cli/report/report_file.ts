import { statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import { CannotRun } from "../cannot_run.ts";
import type { RunPicture } from "./picture.ts";
import { shown } from "../../terminal/text.ts";

/** Where the picture of a run goes. */
export interface ReportFile {
  /** For people. */
  readonly shownPath: string;
  /** @throws CannotRun when the file cannot be written */
  write(picture: RunPicture): Promise<void>;
}

/**
 * Checks before a run that its picture will have a place.
 *
 * @param path - the file, which is replaced if it is there
 * @throws CannotRun when it has no folder or is one
 */
export function reportFile(path: string): ReportFile {
  const file = resolve(path);
  if (!isFolder(dirname(file))) throw new CannotRun("--report: the folder of the file does not exist");
  if (isFolder(file)) throw new CannotRun("--report: it is a folder; give the name of a file");
  return {
    shownPath: shown(path),
    async write(picture) {
      const { reportPage } = await import("./page.ts");
      try {
        await writeFile(file, reportPage(picture));
      } catch {
        throw new CannotRun("--report: the file cannot be written");
      }
    },
  };
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
