import { statSync } from "node:fs";
import { dirname } from "node:path";

import { errorCode } from "../../../helpers/config/file_view.ts";

/**
 * Says of files that are missing what would differ if they had been there again in the meantime: when the folders that
 * they are missing from were last changed.
 *
 * @param paths - absolute paths at which nothing is
 * @returns a text to compare with a later one. Never throws.
 */
export function traceOfAbsence(paths: readonly string[]): string {
  return [...new Set(paths.map((path) => lastChangeAbove(dirname(path))))].join("\n");
}

function lastChangeAbove(folder: string): string {
  try {
    const stats = statSync(folder, { bigint: true, throwIfNoEntry: false });
    if (stats !== undefined) return [folder, stats.dev, stats.ino, stats.mtimeNs].join(" ");
  } catch (error) {
    return `${folder} ${errorCode(error)}`;
  }
  const above = dirname(folder);
  return above === folder ? folder : lastChangeAbove(above);
}
