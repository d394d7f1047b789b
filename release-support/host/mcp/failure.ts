/**
 * What a failure means for the connection it happened on:
 *
 * - `failed`: this one request failed, the connection is as good as before;
 * - `broken`: the connection serves no further request, the next use opens another one;
 * - `not_run`: as `broken`, and the server has certainly not run the call, because it does not know the session any
 *   more or because nothing was sent: the only failure after which a call may be sent again (SPEC H5).
 */
export type FailureKind = "failed" | "broken" | "not_run";

/** Why an MCP server cannot be used or a call did not succeed. The message is made of controlled words alone. */
export class McpFailure extends Error {
  override readonly name = "McpFailure";
  readonly kind: FailureKind;
  /** What the server itself said, for a tool result and nothing else; `null` when it said nothing. */
  readonly remoteText: string | null;

  constructor(kind: FailureKind, message: string, remoteText: string | null = null) {
    super(message);
    this.kind = kind;
    this.remoteText = remoteText;
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
