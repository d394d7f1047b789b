import { splitToolName } from "../../../helpers/binding/names.ts";
import type { Port } from "../runner.ts";

export default {
  run(input: string) {
    const name = splitToolName(input);
    return name === null ? { error: "not a qualified tool name" } : [name.server, name.tool];
  },
} satisfies Port;
