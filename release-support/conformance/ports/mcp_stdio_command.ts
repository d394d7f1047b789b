import { parseServerEntries } from "../../host/mcp/configuration.ts";
import { splitStdioCommand } from "../../host/mcp/stdio_command.ts";
import type { Port } from "../runner.ts";

export default {
  run(input: unknown) {
    const [entry] = parseServerEntries([input]);
    return splitStdioCommand({ command: entry?.get("command"), args: entry?.get("args") });
  },
} satisfies Port;
