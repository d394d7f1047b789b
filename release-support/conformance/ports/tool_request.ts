import {
  extractToolRequest,
  firstRootObject,
  isMisformattedToolRequest,
  normalizeToolRequest,
} from "../../host/agents/tool_requests.ts";
import type { Port } from "../runner.ts";
import { mark } from "./dirty_json.ts";

export default {
  run(input: string | null) {
    const message = input ?? "";
    const extract = extractToolRequest(message);
    const firstRoot = firstRootObject(message);
    const normalized = normalizeToolRequest(extract ?? firstRoot);
    return {
      extract: mark(extract),
      first_root: mark(firstRoot),
      normalized:
        normalized.kind === "request"
          ? [normalized.name, mark(normalized.args)]
          : { error: normalized.reason },
      misformatted: isMisformattedToolRequest(message),
    };
  },
} satisfies Port;
