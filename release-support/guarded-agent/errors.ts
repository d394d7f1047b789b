import type { RunTrace } from "./run_trace.ts";

/** Each error of the agent in words of our own. */
export const AGENT_ERRORS = {
  resolution_failed: "the host name of the endpoint has no address; check the URL and the resolver",
  address_refused: "the endpoint has an address that is not public; nothing was connected to",
  connect_failed: "no connection to the endpoint; check that it is up",
  tls_failed: "the endpoint has no trustworthy certificate for its host name",
  handshake_failed: "the endpoint does not answer as an MCP server over streamable HTTP",
  listing_refused: "the endpoint's list of tools is unusable or too long",
  open_deadline: "the endpoint could not be opened in time; see config.openTimeoutSeconds",
  iteration_limit: "no answer within config.maxIterations model turns",
  closed: "the agent is closed; create another one",
} as const;

/** Why a guarded agent could not be created or a run gave no answer: a closed list. */
export type GuardedAgentErrorCode = keyof typeof AGENT_ERRORS;

/**
 * An error of the guarded agent itself. Its text is fixed by its code; it has no cause, since a cause could carry
 * text of a remote side.
 */
export class GuardedAgentError extends Error {
  override readonly name = "GuardedAgentError";
  readonly code: GuardedAgentErrorCode;
  /** The URL of the endpoint that it is about; `null` where it is about none. */
  readonly endpoint: string | null;
  /** Not a plain member: who prints the error prints no remote text. */
  readonly #trace: RunTrace | null;

  constructor(
    code: GuardedAgentErrorCode,
    about: { readonly endpoint?: string; readonly trace?: RunTrace } = {},
  ) {
    const { endpoint = null, trace = null } = about;
    super(`${code}: ${AGENT_ERRORS[code]}${endpoint === null ? "" : ` (${endpoint})`}`);
    this.code = code;
    this.endpoint = endpoint;
    this.#trace = trace;
  }

  /** What happened in the run until then; `null` where there was no run. Holds untrusted data. */
  get trace(): RunTrace | null {
    return this.#trace;
  }
}

/** Whatever else runs rejected with: an executor's error, the reason of a signal. */
const foreign = new WeakMap<object, RunTrace>();

/**
 * The error that a run rejects with, tied to its trace: the agent's own anew, since several runs may end for one cause,
 * any other as it is.
 */
export function withTrace(error: unknown, trace: RunTrace, isOwn: boolean): unknown {
  if (isOwn && error instanceof GuardedAgentError) return new GuardedAgentError(error.code, { trace });
  if (typeof error === "object" && error !== null) foreign.set(error, trace);
  return error;
}

/**
 * What happened in the run that rejected with an error, until it did (SPEC G13): for a `GuardedAgentError` its own
 * `trace`, and the same for an executor's error or the reason of a signal, which stay what they are. Holds untrusted data.
 *
 * @returns `null` where no run rejected with it, or it is no object; where several did, the last one's
 */
export function traceOf(error: unknown): RunTrace | null {
  if (typeof error !== "object" || error === null) return null;
  return foreign.get(error) ?? (error instanceof GuardedAgentError ? error.trace : null);
}
