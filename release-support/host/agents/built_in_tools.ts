import { runInParallel } from "./parallel.ts";
import { shownAsText } from "../text/shown_as_text.ts";
import { callSubordinate } from "./subordinate.ts";
import type { LocalTool } from "./local_tools.ts";

/** The local tools that every host has. */
export const BUILT_IN_TOOLS: Readonly<Record<string, LocalTool>> = {
  /** Ends the loop with its text. */
  response: (args) => ({ message: shownAsText(args["text"] ?? args["message"] ?? ""), breakLoop: true }),
  parallel: (args, { agent, signal }) => runInParallel(agent, args, signal),
  call_subordinate: (args, { agent }) => callSubordinate(agent, args),
};
