import { normalizeServerName } from "../../../helpers/binding/names.ts";
import type { Port } from "../runner.ts";

export default { run: (input: string) => normalizeServerName(input) } satisfies Port;
