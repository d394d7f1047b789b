import { makePicture, pictureOfCall, pictureOfUndispatched } from "../report/picture.ts";
import type { RunPicture } from "../report/picture.ts";
import type { PlayedTurn } from "./play_script.ts";

/** The picture of a script that was run. */
export function pictureOfRun(turns: readonly PlayedTurn[]): RunPicture {
  return makePicture(
    "A script",
    "Tool requests of a script, dispatched in a host root: the servers, and the Guild unless the configuration names " +
      "a local one, are those that the root is configured for.",
    turns.flatMap(({ turn, calls, undispatched }, index) => {
      const path = typeof turn === "string" ? "text" : "native";
      const pictures = [
        ...calls.map((call) => pictureOfCall(call, path)),
        ...undispatched.map(pictureOfUndispatched),
      ];
      return pictures.map((picture) => ({ ...picture, title: `Turn ${index + 1}: ${picture.title}` }));
    }),
  );
}
