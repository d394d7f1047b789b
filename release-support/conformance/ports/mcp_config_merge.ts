import { mergeServerEntries, parseServerEntries } from "../../host/mcp/configuration.ts";
import { mark } from "./dirty_json.ts";
import type { Port } from "../runner.ts";

export default {
  run(input: { readonly global: string | null; readonly project: string | null }) {
    const merged = mergeServerEntries(parseServerEntries(input.global), parseServerEntries(input.project));
    return merged.kind === "merged"
      ? merged.entries.map((entry) => mark(new Map(entry)))
      : { error: merged.reason };
  },
} satisfies Port;
