import { once } from "node:events";
import { Worker } from "node:worker_threads";

/**
 * Runs a module in a thread of its own, whose heap is bounded: what takes more ends the thread, not the process.
 *
 * @param file - the module; it posts one message, its result
 * @param data - its `workerData`
 * @param maxHeapMb - the largest heap, in MiB
 * @returns the result
 * @throws what ends the thread, `ERR_WORKER_OUT_OF_MEMORY` where the heap was too small
 */
export async function runBounded(file: URL, data: unknown, maxHeapMb: number): Promise<unknown> {
  const worker = new Worker(file, {
    workerData: data,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: 8 },
  });
  try {
    const [result] = (await once(worker, "message")) as [unknown];
    return result;
  } finally {
    await worker.terminate();
  }
}
