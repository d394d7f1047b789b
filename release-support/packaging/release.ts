import { rmSync } from "node:fs";
import { join } from "node:path";

import { packageRoot } from "./package_root.ts";
import { makePluginDirectory } from "./plugin_package.ts";

/** `npm run release`: makes the self-contained plugin folder that operators copy into a host (SPEC D2). */
const target = join(packageRoot, "release", "agent_guild_preflight");
rmSync(target, { recursive: true, force: true });
makePluginDirectory(target, "copied");
console.log(`The plugin is in ${target}\nCopy it into your host's usr/plugins/ and restart the host.`);
