/**
 * Loaded into a process before everything else (`node --import`): whatever would reach out of the process fails, and is
 * noted in the file that the environment variable `REACHED_OUT` names.
 */
import childProcess from "node:child_process";
import dgram from "node:dgram";
import dns from "node:dns";
import { appendFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import workers from "node:worker_threads";

/** What is noted of each attempt. */
function refuse(what: string): () => never {
  return () => {
    appendFileSync(process.env["REACHED_OUT"] ?? "", `${what}\n`);
    throw new Error(`this process must not reach out: ${what}`);
  };
}

function close(module: object, names: readonly string[]): void {
  for (const name of names) {
    if (Reflect.has(module, name)) Reflect.set(module, name, refuse(name));
  }
}

close(net.Socket.prototype, ["connect"]);
close(net.Server.prototype, ["listen"]);
close(dns, ["lookup", "resolve", "resolve4", "resolve6", "resolveAny"]);
close(dns.promises, ["lookup", "resolve", "resolve4", "resolve6", "resolveAny"]);
close(dgram, ["createSocket"]);
close(childProcess, ["spawn", "spawnSync", "exec", "execFile", "execSync", "execFileSync", "fork"]);
close(workers, ["Worker"]);
syncBuiltinESMExports();
