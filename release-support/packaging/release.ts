import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";

import { packageRoot, packageVersion } from "./package_root.ts";
import { makePluginDirectory } from "./plugin_package.ts";

/** `npm run release`: makes the self-contained plugin folder and its archive (SPEC D2). */
const folder = join(packageRoot, "release");
const name = "agent_guild_preflight";
const archive = `${name}-${packageVersion()}.tar.gz`;
rmSync(folder, { recursive: true, force: true });
makePluginDirectory(join(folder, name), "copied");
const { status, error } = spawnSync("tar", ["-czf", archive, name], { cwd: folder, stdio: "inherit" });
if (status !== 0) throw new Error("the archive cannot be made: the program tar failed", { cause: error });
console.log(`release/${name}/ is the plugin's folder, release/${archive} its archive.`);
console.log("To put it into a host root: node dist/release-support/cli/main.js install --root DIR");
