import { StringDecoder } from "node:string_decoder";

/** How much of a log is kept, in UTF-16 units: the end of it. */
const MAX_LENGTH = 64 * 1024;

/** All control characters but line feed and tab: a terminal would obey them. */
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** What a local server wrote on its standard error: for people, never for a model (SPEC H5). */
export class ServerLog {
  #text = "";
  readonly #decoder = new StringDecoder("utf8");

  /** The end of what was written, of all runs of the server, without control characters. */
  get text(): string {
    return this.#text;
  }

  append(bytes: Buffer): void {
    const written = this.#decoder.write(bytes).replaceAll(CONTROL, "");
    this.#text = `${this.#text}${written}`.slice(-MAX_LENGTH);
  }
}
