// Appends lines to a decision log and ends in the way that it is told, for tests of the log.
import { DecisionLog } from "../../../helpers/decision/decision_log.ts";
import type { LogLimits } from "../../../helpers/decision/decision_log.ts";

/** What to do; given as JSON in the first argument. */
export interface LoggingTask {
  readonly root: string;
  readonly file: string;
  /** What begins the id of each line. */
  readonly name: string;
  readonly lines: number;
  readonly limits?: LogLimits;
  /** How many lines to append between two turns of the event loop. */
  readonly atOnce: number;
  /** `exit` calls process.exit right behind the last line, `throw` throws there, `end` does nothing more. */
  readonly ending: "exit" | "throw" | "end";
}

const task = JSON.parse(process.argv[2] ?? "") as LoggingTask;
const { root, file } = task;
const log =
  task.limits === undefined ? DecisionLog.of(root, file) : new DecisionLog({ root, file }, task.limits);
if (task.limits !== undefined) process.on("exit", () => log.finish());
const report = (problem: string) => void process.stdout.write(`${problem}\n`);
for (let line = 0; line < task.lines; line += 1) {
  log.append(JSON.stringify({ v: 1, id: `${task.name}-${line}`, filling: "x".repeat(200) }), report);
  if (line % task.atOnce === task.atOnce - 1) await new Promise((resolve) => setImmediate(resolve));
}
if (task.ending === "throw") throw new Error("on purpose");
if (task.ending === "exit") process.exit();
