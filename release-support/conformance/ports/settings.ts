import { readSettings } from "../../../helpers/settings/settings_schema.ts";
import type { Port } from "../runner.ts";

interface Expected {
  readonly valid: boolean;
  readonly paths?: readonly string[];
}

export default {
  run({ config }: { config: unknown }): Expected {
    const reading = readSettings(config);
    if (reading.kind === "valid") return { valid: true };
    return { valid: false, paths: reading.errors.map((error) => error.path) };
  },
  // The errors must name the paths; in which order they do is free.
  agrees(got, expected: Expected) {
    const answer = got as Expected;
    const paths = (of: Expected) => JSON.stringify([...(of.paths ?? [])].toSorted());
    return answer.valid === expected.valid && paths(answer) === paths(expected);
  },
} satisfies Port;
