/** One event of a stream, or a block of fields that only says where a stream can be taken up again. */
export interface ServerEvent {
  /** `message` unless the server says otherwise. */
  readonly type: string;
  readonly data: string;
  /** Where the stream can be taken up again behind this event; `null` when the event does not say. */
  readonly id: string | null;
  /** How long to wait before that, in milliseconds; `null` when the event does not say. */
  readonly retryMs: number | null;
}

/** The stream holds a message that is larger than what is read. */
export class TooLarge extends Error {}

const LINE_END = /\r\n|\n|\r/;

/**
 * Reads an event stream piece by piece (HTML, server-sent events). Unlike what browsers do, a block without data is told
 * of too: a server may name the place to resume from before it has anything to say (SPEC H11).
 */
export class EventReader {
  readonly #maxLength: number;
  #rest = "";
  /** The last piece ended in a carriage return: a line feed that follows belongs to it. */
  #skipsLineFeed = false;
  #data: string[] = [];
  #dataLength = 0;
  #type = "";
  #id: string | null = null;
  #retryMs: number | null = null;

  /** @param maxLength - how long the data of one event may be, in UTF-16 units */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /**
   * @param piece - the next piece of the stream
   * @returns the events that are complete with it
   * @throws TooLarge
   */
  read(piece: string): ServerEvent[] {
    if (piece === "") return [];
    const text = this.#skipsLineFeed && piece.startsWith("\n") ? piece.slice(1) : piece;
    this.#skipsLineFeed = text.endsWith("\r");
    const lines = text.split(LINE_END);
    lines[0] = this.#rest + (lines[0] ?? "");
    this.#rest = lines.pop() ?? "";
    const events = lines.flatMap((line) => this.#line(line) ?? []);
    if (this.#dataLength + this.#rest.length > this.#maxLength) throw new TooLarge();
    return events;
  }

  #line(line: string): ServerEvent | null {
    if (line === "") return this.#event();
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line.startsWith(" ", colon + 1) ? colon + 2 : colon + 1);
    if (field === "data") {
      this.#data.push(value);
      this.#dataLength += value.length + 1;
      if (this.#dataLength > this.#maxLength) throw new TooLarge();
    } else if (field === "event") this.#type = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
    else if (field === "retry" && /^\d+$/.test(value)) this.#retryMs = Number(value);
    return null;
  }

  #event(): ServerEvent | null {
    const [type, id, retryMs] = [this.#type === "" ? "message" : this.#type, this.#id, this.#retryMs];
    const hasData = this.#data.length > 0;
    const data = this.#data.join("\n");
    this.#data = [];
    this.#dataLength = 0;
    this.#type = "";
    this.#id = null;
    this.#retryMs = null;
    return hasData || id !== null || retryMs !== null ? { type, data, id, retryMs } : null;
  }
}

/**
 * The events of a response's body.
 *
 * @param reader - of the body; whoever gives it lets go of it
 * @throws TooLarge; what the reader throws
 */
export async function* eventsFrom(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  maxLength: number,
): AsyncGenerator<ServerEvent> {
  const events = new EventReader(maxLength);
  const decoder = new TextDecoder();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    yield* events.read(decoder.decode(next.value, { stream: true }));
  }
}
