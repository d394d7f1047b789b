/** A thread that gives one reader every kind of hostile text, and names those that it was through with. */
import { parentPort, workerData } from "node:worker_threads";

import { HOSTILE_READERS } from "../bench/hostile_readers.ts";
import { HOSTILE_JSON } from "../fixtures/hostile_json.ts";

const reader = HOSTILE_READERS[String(workerData)];
if (reader === undefined) throw new TypeError("no such reader");
const done: string[] = [];
for (const [shape, make] of Object.entries(HOSTILE_JSON)) {
  await reader.read(make(reader.bytes));
  done.push(shape);
}
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- the port of a thread has no origin
parentPort?.postMessage(done);
