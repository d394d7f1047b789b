const FIRST_SIZE = 16_384;

/**
 * Gathers the chunks of a body in one buffer. To keep the chunks themselves would cost a few hundred bytes for each, and
 * a server may send single bytes.
 */
export class BodyBuffer {
  readonly #maxBytes: number;
  #buffer = Buffer.alloc(0);
  #size = 0;

  /** @param maxBytes - the most that it takes */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Adds a chunk, or as much of it as there is room for.
   *
   * @returns whether there was room for all of it
   */
  add(chunk: Uint8Array): boolean {
    const taken = Math.min(chunk.byteLength, this.#maxBytes - this.#size);
    this.#makeRoom(this.#size + taken);
    this.#buffer.set(chunk.subarray(0, taken), this.#size);
    this.#size += taken;
    return taken === chunk.byteLength;
  }

  /** What was added so far; a view that later additions leave alone. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#size);
  }

  #makeRoom(size: number): void {
    if (size <= this.#buffer.byteLength) return;
    const wanted = Math.max(size, 2 * this.#buffer.byteLength, FIRST_SIZE);
    const grown = Buffer.alloc(Math.min(wanted, this.#maxBytes));
    grown.set(this.bytes);
    this.#buffer = grown;
  }
}
