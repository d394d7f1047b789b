import { spawn } from "node:child_process";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";

import { getDefaultEnvironment } from "@modelcontextprotocol/sdk/client/stdio.js";

import { tooLarge, Waiting } from "./channel.ts";
import type { Asking, Channel, Listener } from "./channel.ts";
import { McpFailure, systemCode } from "./failure.ts";
import { isAnswer, readMessages } from "./json_rpc.ts";
import type { Answer } from "./json_rpc.ts";
import { pause } from "./repeats.ts";

/** A program that is a server, and how to start it: without a shell. */
export interface StdioServer {
  readonly command: string;
  readonly args: readonly string[];
  /** What its environment has beside the default one. */
  readonly env: Readonly<Record<string, string>>;
  /** Gets what it writes on its standard error. */
  readonly onError: (bytes: Buffer) => void;
  /** The largest message that is read, in bytes. */
  readonly maxAnswerBytes: number;
}

/** How long a process may take to end by itself, and then again after each signal, in milliseconds. */
const PATIENCE_MS = 2000;
const LINE_FEED = 0x0a;

/** The channel to a local server: a process of its own, a line for each message. The process is the session. */
export class Stdio implements Channel {
  readonly #server: StdioServer;
  readonly #waiting = new Waiting();
  #process: ChildProcessWithoutNullStreams | null = null;
  #ended: Promise<unknown> = Promise.resolve();
  #failure: McpFailure | null = null;
  #line: Buffer[] = [];
  #lineLength = 0;

  constructor(server: StdioServer) {
    this.#server = server;
  }

  get whenLost(): string {
    return this.#failure?.message ?? "the server's process has ended";
  }

  async open(listener: Listener): Promise<void> {
    const { command, args, env, onError } = this.#server;
    const started = spawn(command, args, { env: { ...getDefaultEnvironment(), ...env }, windowsHide: true });
    this.#process = started;
    const closed = once(started, "close");
    // A failed start is an error, and not a close.
    this.#ended = closed.catch(() => undefined);
    started.stderr.on("data", onError);
    started.stdout.on("data", (bytes: Buffer) => this.#read(bytes, listener));
    // A pipe that breaks means that the process ends, which is told by itself.
    for (const pipe of [started.stdin, started.stdout, started.stderr]) pipe.on("error", () => undefined);
    try {
      await once(started, "spawn");
    } catch (error) {
      this.#process = null;
      const code = systemCode(error) ?? "unknown error";
      throw McpFailure.notSent(`the server's process cannot be started (${code})`, { breaks: true });
    }
    void this.#ended.then(() => this.#lose(listener));
  }

  async ask(id: number, text: string, { stop, sending }: Asking): Promise<Answer> {
    return await this.#waiting.for(id, stop, async () => {
      sending();
      await this.tell(text);
    });
  }

  /** Waits for nothing: what a full pipe does not take is kept until it does. */
  tell(text: string): Promise<void> {
    if (this.#process === null) return Promise.reject(McpFailure.notSent(this.whenLost, { breaks: true }));
    this.#process.stdin.write(`${text}\n`);
    return Promise.resolve();
  }

  agree(): void {
    // Nothing goes with a line that could name the version.
  }

  listen(): void {
    // The server can speak at any time.
  }

  async endSession(): Promise<void> {
    // It ends with the process.
  }

  /** Asks the process to end, less and less politely, and waits for its end. */
  async destroy(): Promise<void> {
    const running = this.#process;
    if (running === null) return;
    running.stdin.end();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      await this.#endWithin(PATIENCE_MS);
      if (this.#process === null) return;
      running.kill(signal);
    }
    await this.#endWithin(PATIENCE_MS);
  }

  async #endWithin(ms: number): Promise<void> {
    const patience = new AbortController();
    await Promise.race([this.#ended, pause(ms, patience.signal)]);
    patience.abort();
  }

  #read(bytes: Buffer, listener: Listener): void {
    let rest = bytes;
    for (let end = rest.indexOf(LINE_FEED); end !== -1; end = rest.indexOf(LINE_FEED)) {
      this.#line.push(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
      const line = Buffer.concat(this.#line).toString("utf8");
      this.#line = [];
      this.#lineLength = 0;
      this.#heardLine(line, listener);
    }
    this.#line.push(rest);
    this.#lineLength += rest.length;
    if (this.#lineLength > this.#server.maxAnswerBytes) this.#giveUp();
  }

  /** What is no message, a server may write all the same: some greet people. */
  #heardLine(line: string, listener: Listener): void {
    for (const message of readMessages(line) ?? []) {
      if (isAnswer(message)) this.#waiting.answered(message);
      else listener.heard(message);
    }
  }

  /** Whose answer it is that has no end is not known: with the process everything that waits ends. */
  #giveUp(): void {
    this.#failure = tooLarge(this.#server.maxAnswerBytes, true);
    this.#line = [];
    this.#lineLength = Number.NEGATIVE_INFINITY;
    this.#process?.stdout.destroy();
    this.#waiting.fail(this.#failure);
    this.#process?.kill("SIGKILL");
  }

  #lose(listener: Listener): void {
    this.#process = null;
    this.#waiting.fail(this.#failure ?? McpFailure.unknownEnd(this.whenLost, { breaks: true }));
    listener.lost();
  }
}
