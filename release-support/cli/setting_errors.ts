import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { FoundConfig } from "../../helpers/config/scoped_config.ts";
import type { SettingError } from "../../helpers/settings/settings.ts";
import { jsonPlace } from "./json_place.ts";

/**
 * Adds to what is wrong with a configuration file where in it that is, as far as the file is no JSON that is accepted
 * (SPEC C10).
 *
 * @param errors - as the gate's own reader gives them
 * @param found - the file that decides; `null` when there is none
 * @returns the errors in the same order; nothing of the file's content but the name of a repeated member
 */
export function errorsWithPlaces(errors: readonly SettingError[], found: FoundConfig | null): SettingError[] {
  if (found?.kind !== "scoped") return [...errors];
  return errors.map((error) =>
    error.path === "" && /not valid JSON|a member twice|NaN|too deep/.test(error.expected)
      ? { path: "", expected: `${error.expected}${placeIn(found.bytes)}` }
      : error,
  );
}

/** As {@link errorsWithPlaces}, for a file by its path relative to the root. */
export function errorsInFile(errors: readonly SettingError[], root: string, file: string): SettingError[] {
  const path = join(root, file);
  try {
    const bytes = readFileSync(path);
    return errorsWithPlaces(errors, { kind: "scoped", scopeName: "global", path, bytes });
  } catch {
    return [...errors];
  }
}

function placeIn(bytes: Uint8Array): string {
  const place = jsonPlace(Buffer.from(bytes).toString("utf8"));
  if (place === null) return "";
  const what = place.repeated === null ? "see" : `${place.repeated} stands again in`;
  return `: ${what} line ${place.line}, column ${place.column}`;
}
