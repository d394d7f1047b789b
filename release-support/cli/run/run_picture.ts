import { makePicture, pictureOfCall, pictureOfUndispatched } from "../report/picture.ts";
import type { RunPicture } from "../report/picture.ts";
import { clipped } from "../../terminal/text.ts";
import type { DenialDetails } from "./denial_details.ts";
import type { PlayedTurn } from "./play_script.ts";

/** How much of a script's name a title holds, in columns. */
const MAX_NAME = 60;

/**
 * The picture of a script that was run.
 *
 * @param name - of the script's file
 * @param turns - what became of it
 * @param details - explains a denial
 */
export function pictureOfRun(name: string, turns: readonly PlayedTurn[], details: DenialDetails): RunPicture {
  return makePicture(
    `The script ${clipped(name, MAX_NAME)}`,
    "Tool requests of a script, dispatched in a host root: the servers, and the Guild unless the configuration names " +
      "a local one, are those that the root is configured for.",
    turns.flatMap(({ turn, calls, undispatched }, index) => {
      const path = typeof turn === "string" ? "text" : "native";
      const pictures = [
        ...calls.map((call) => ({ ...pictureOfCall(call, path), details: details(call) })),
        ...undispatched.map(pictureOfUndispatched),
      ];
      return pictures.map((picture) => ({ ...picture, title: `Turn ${index + 1}: ${picture.title}` }));
    }),
  );
}
