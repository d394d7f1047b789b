import { setTimeout } from "node:timers/promises";

/** How long a file's last sockets, watchers and processes may take to close once its tests are over, in milliseconds. */
const CLOSING_MS = 5_000;

/** What keeps this process alive, such as a server or a timer: the kinds of resource as Node names them. */
async function open(): Promise<string[]> {
  await setTimeout(1);
  return process.getActiveResourcesInfo();
}

/** The kinds that are there more often than at the start. */
function added(atStart: readonly string[], now: readonly string[]): string[] {
  const known = [...atStart];
  return now.filter((kind) => {
    const index = known.indexOf(kind);
    if (index !== -1) known.splice(index, 1);
    return index === -1;
  });
}

let atStart: readonly string[] = [];

/**
 * Fails a file whose tests leave something open. A process that runs file after file would hide it, and what goes wrong in
 * what is left behind would go wrong in another file's tests, or when nobody looks any more.
 *
 * mocha runs these hooks around each file in parallel mode, else around the whole suite. They have no deadline of mocha's,
 * which would be one more timer.
 */
export const mochaHooks = {
  async beforeAll(this: Mocha.Context): Promise<void> {
    this.timeout(0);
    atStart = await open();
  },

  async afterAll(this: Mocha.Context): Promise<void> {
    this.timeout(0);
    let hasFailed = false;
    const note = () => {
      hasFailed = true;
    };
    process.on("uncaughtException", note);
    const until = performance.now() + CLOSING_MS;
    let left = added(atStart, await open());
    while (left.length > 0 && performance.now() < until) left = added(atStart, await open());
    process.off("uncaughtException", note);
    // mocha has failed this hook already for what was thrown meanwhile, and breaks when a hook ends twice.
    if (hasFailed) await new Promise(() => {});
    if (left.length > 0) throw new Error(`left open: ${left.join(", ")}; a test closes what it opens`);
  },
};

/** Has the run count as failed until mocha says how it ended: when a worker dies, mocha may end without a word. */
export function mochaGlobalSetup(): void {
  process.exitCode = 1;
}
