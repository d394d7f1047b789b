import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** The program of `@modelcontextprotocol/server-everything`, unmodified. */
export const SERVER_EVERYTHING = fileURLToPath(
  import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"),
);

/** What it prints once it listens. */
const LISTENING = / (?:running|listening) on port /;
const ATTEMPTS = 5;

/** The server as a process of its own, listening on a free port. */
export class ServerEverything {
  readonly url: string;
  readonly #process: ChildProcess;

  private constructor(url: string, process: ChildProcess) {
    this.url = url;
    this.#process = process;
  }

  /**
   * Starts it. It takes its port from the environment and does not tell which one it got for 0: a free one is looked
   * for beforehand, and another one if somebody else was quicker.
   */
  static async start(transport: "streamableHttp" | "sse"): Promise<ServerEverything> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const port = await freePort();
      const child = spawn(process.execPath, [SERVER_EVERYTHING, transport], {
        env: { PATH: process.env["PATH"], PORT: String(port) },
        stdio: ["ignore", "ignore", "pipe"],
      });
      if (await listens(child)) {
        return new ServerEverything(`http://127.0.0.1:${port}/${transport === "sse" ? "sse" : "mcp"}`, child);
      }
    }
    throw new Error("server-everything does not start");
  }

  /** Ends the process and waits until it has ended; may be called again. */
  async close(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.kill("SIGKILL");
    await once(this.#process, "close");
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Whether it gets as far as to listen; reads on whatever it prints afterwards. */
function listens({ stderr }: ChildProcess): Promise<boolean> {
  return new Promise((resolve) => {
    if (stderr === null) return resolve(false);
    const lines = createInterface({ input: stderr });
    lines.on("line", (line) => {
      if (LISTENING.test(line)) resolve(true);
    });
    lines.once("close", () => resolve(false));
  });
}
