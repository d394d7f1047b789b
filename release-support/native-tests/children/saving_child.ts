/**
 * Works on the files of a host root while a host in the parent process runs on it: an editor, an updater or an operator
 * for two seconds. Prints the number of its last save.
 */
import { cpSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** What it does, over and over. */
export type SavingMode =
  | "rename"
  | "truncate"
  | "half"
  | "remove"
  | "remove for longer"
  | "toggle"
  | "swap"
  | "away"
  | "add";

const [, , mode = "", plugin = "", rhythm = "50", text = ""] = process.argv;
const everyMs = Number(rhythm);
const extension = join(plugin, "extensions/node/tool_execute_before/_45_agent_guild_preflight.js");
const DURATION_MS = 2_000;
/** How long a file stays empty, half written or away. */
const UNFINISHED_MS = 80;
/** Longer than the host waits before it looks. */
const LONGER_MS = 300;

const ACTIONS: Readonly<Record<SavingMode, (save: number) => Promise<void>>> = {
  async rename(save) {
    writeFileSync(`${extension}.tmp`, version(save));
    renameSync(`${extension}.tmp`, extension);
  },
  async truncate(save) {
    writeFileSync(extension, "");
    await delay(UNFINISHED_MS);
    writeFileSync(extension, version(save));
  },
  async half(save) {
    const whole = version(save);
    writeFileSync(extension, whole.slice(0, whole.length / 2));
    await delay(UNFINISHED_MS);
    writeFileSync(extension, whole);
  },
  async remove(save) {
    rmSync(extension);
    await delay(UNFINISHED_MS);
    writeFileSync(extension, version(save));
  },
  async "remove for longer"(save) {
    rmSync(extension);
    await delay(LONGER_MS);
    writeFileSync(extension, version(save));
  },
  async toggle(save) {
    const toggle = join(plugin, "../other/.toggle-0");
    if (save % 2 === 1) writeFileSync(toggle, "");
    else rmSync(toggle);
  },
  async swap(save) {
    const [next, old] = [join(plugin, "../.next"), join(plugin, `../../old_${save}`)];
    cpSync(plugin, next, { recursive: true, verbatimSymlinks: true });
    writeFileSync(join(next, extension.slice(plugin.length)), version(save));
    renameSync(plugin, old);
    renameSync(next, plugin);
    rmSync(old, { recursive: true });
  },
  async away() {
    const aside = join(plugin, "../../aside");
    renameSync(plugin, aside);
    await delay(30);
    renameSync(aside, plugin);
  },
  async add(save) {
    if (save > 1) return;
    await delay(DURATION_MS / 4);
    cpSync(join(plugin, "../../../source"), plugin, { recursive: true, verbatimSymlinks: true });
  },
};

const act = ACTIONS[mode as SavingMode];
const end = performance.now() + DURATION_MS;
let save = 0;
// An even number of saves: what was switched off is on again.
while (performance.now() < end || save % 2 === 1) {
  save += 1;
  await act(save);
  await delay(everyMs);
}
process.stdout.write(`${save}\n`);

/** The gate's extension, with the number of the save in it. */
function version(number: number): string {
  return text.replace(" {\n", ` {\n    static save = ${number};\n`);
}
