/** A thread in which a host makes protected calls, four at once, while the Guild's answers are as costly as may be. */
import { parentPort, workerData } from "node:worker_threads";

import { GatedHost, protecting } from "../fixtures/gated_host.ts";
import { HOSTILE_JSON } from "../fixtures/hostile_json.ts";
import { healthy } from "../guild/preflight_bodies.ts";

/** As large as an answer may be, less what else is in it. */
const HOSTILE_BYTES = 1_048_576 - 2048;

const calls = Number(workerData);
const make = HOSTILE_JSON["objects named by an index"];
if (make === undefined) throw new TypeError("no such text");
const hostile = make(HOSTILE_BYTES);
const host = await GatedHost.open({
  config: (world) => protecting(world, "pub_server", { cache_ttl_seconds: 0 }),
});
host.guild.answer("*", {
  kind: "json",
  body: (url) => JSON.stringify(healthy(url)).replace(/"limits":"[^"]*"/, () => `"limits":${hostile}`),
});
const kinds: string[] = [];
for (let made = 0; made < calls; made += 4) {
  const outcomes = await Promise.all([host.call(), host.call(), host.call(), host.call()]);
  kinds.push(...outcomes.map(({ kind }) => kind));
}
await host.close();
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- the port of a thread has no origin
parentPort?.postMessage(kinds);
