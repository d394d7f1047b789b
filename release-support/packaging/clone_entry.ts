import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { packageRoot } from "./package_root.ts";

/**
 * The last step of `npm run build`: puts a JavaScript file beside the gate's extension that leads to the compiled one, so
 * that a clone of this repository in a host's `usr/plugins/` is loaded by a Node that does not load TypeScript too.
 */
const EXTENSION = "extensions/node/tool_execute_before/_45_agent_guild_preflight.js";

writeFileSync(
  join(packageRoot, EXTENSION),
  `// Written by npm run build.\nexport { default } from "../../../dist/${EXTENSION}";\n`,
);
