/**
 * A host on the root that the first argument names, in a process whose file watching the parent has set up: by polling,
 * or, with the argument `limited`, with fewer watches than it needs. Changes and swaps the plugin `p` there, and prints
 * what its extension noted each time as one line of JSON.
 */
import fs, { renameSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";

import { Host } from "../../host/host.ts";
import { FOLDER, noting, notesOf, untilNotes } from "../tests/host/extension_support.ts";

/** What this process prints. */
export interface WatchingChildReport {
  readonly notes: readonly string[];
  readonly watchProblem: string | null;
}

const [, , root = "", limited] = process.argv;
const plugins = join(root, "usr/plugins");
const extension = join(plugins, "p", FOLDER, "_50_x.js");
if (limited !== undefined) limitWatches(3);

const host = await Host.open({ root });
const notes = await notesOf(host);
async function expectNote(note: string): Promise<void> {
  await untilNotes(host, [note]);
  notes.push(note);
}

if (limited === undefined) {
  writeFileSync(extension, noting("changed"));
  await expectNote("changed");
  renameSync(join(plugins, "p"), join(plugins, ".old"));
  renameSync(join(plugins, ".new"), join(plugins, "p"));
  await expectNote("new");
  writeFileSync(extension, noting("changed again"));
  await expectNote("changed again");
}
const report: WatchingChildReport = { notes, watchProblem: host.bootReport().watchProblem };
process.stdout.write(`${JSON.stringify(report)}\n`);
await host.close();

/** Lets the system say after some watches that it has no more. */
function limitWatches(count: number): void {
  const { watch } = fs;
  let left = count;
  const limitedWatch = (...args: Parameters<typeof watch>) => {
    left -= 1;
    if (left >= 0) return watch(...args);
    throw Object.assign(new Error("ENOSPC: no more watches"), { code: "ENOSPC" });
  };
  Object.assign(fs, { watch: limitedWatch });
  syncBuiltinESMExports();
}
