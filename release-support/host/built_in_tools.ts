import { callSubordinate } from "./subordinate.ts";
import { runInParallel } from "./parallel.ts";
import type { LocalTool } from "./tools.ts";

/** The local tools that every host has. */
export const BUILT_IN_TOOLS: Readonly<Record<string, LocalTool>> = {
  /** Ends the loop with its text. */
  response: (args) => ({ message: textOf(args["text"] ?? args["message"]), breakLoop: true }),
  parallel: (args, { agent, signal }) => runInParallel(agent, args, signal),
  call_subordinate: (args, { agent, signal }) => callSubordinate(agent, args, signal),
};

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? "");
}
