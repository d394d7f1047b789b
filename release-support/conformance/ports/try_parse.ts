import { tryParse } from "../../host/text/dirty_json.ts";
import type { Port } from "../runner.ts";
import { mark } from "./dirty_json.ts";

export default { run: (input: string) => mark(tryParse(input)) } satisfies Port;
