/**
 * What is known of a request that has no answer which is of use:
 *
 * - `not_sent`: the server has certainly not run it: nothing was sent, or the server does not know the session any more;
 * - `refused`: the server said no: with the code of a JSON-RPC error, or with the HTTP status of a redirect or of a mistake
 *   of the client;
 * - `unknown_end`: it was sent, and whether the server did what it asks for is not known.
 */
export type Fate =
  | { readonly kind: "not_sent" }
  | { readonly kind: "refused"; readonly by: "json_rpc" | "http"; readonly code: number }
  | { readonly kind: "unknown_end" };

const NOT_SENT: Fate = { kind: "not_sent" };
const UNKNOWN_END: Fate = { kind: "unknown_end" };

/** What else there is to say about a failure. */
interface Details {
  /** Whether the connection serves no further request, so that the next one needs another connection. */
  readonly breaks?: boolean;
  /** What the server itself said, for a tool result and nothing else. */
  readonly remoteText?: string;
}

/** Why an MCP server cannot be used or a call did not succeed. The message is made of controlled words alone (SPEC H11). */
export class McpFailure extends Error {
  override readonly name = "McpFailure";
  readonly fate: Fate;
  readonly breaks: boolean;
  /** `null` when the server said nothing. */
  readonly remoteText: string | null;

  /** @param message - the cause, without a word on the fate */
  constructor(fate: Fate, message: string, { breaks = false, remoteText }: Details = {}) {
    super(message);
    this.fate = fate;
    this.breaks = breaks;
    this.remoteText = remoteText ?? null;
  }

  /** A request that the server has certainly not run. */
  static notSent(message: string, details?: Details): McpFailure {
    return new McpFailure(NOT_SENT, message, details);
  }

  /** A request that was sent, and that the server may have done. */
  static unknownEnd(message: string, details?: Details): McpFailure {
    return new McpFailure(UNKNOWN_END, message, details);
  }

  /** The cause, and whether the tool has run, as far as that is not the cause itself. */
  get told(): string {
    switch (this.fate.kind) {
      case "not_sent":
        return `${this.message}; the tool was not run`;
      case "refused":
        return this.message;
      default:
        return `${this.message}; the tool may have run all the same`;
    }
  }
}

/**
 * Gives the code of an error of this machine's own system, as `ECONNREFUSED`, of the error or of its cause.
 *
 * @returns the code, or `null` when there is none
 */
export function systemCode(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code } = error as { code?: unknown };
  if (typeof code === "string" && /^[A-Z][A-Z0-9_]{1,63}$/.test(code)) return code;
  return systemCode(error.cause);
}
