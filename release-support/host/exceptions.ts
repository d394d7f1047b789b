// The framework's exceptions. Each is recognised by a brand and not by its class: a hot reload or an installed plugin may
// bring a second copy of this module, and a denial from that copy must stop the call all the same (SPEC H3, H7).
const KIND = Symbol.for("agent-zero.exception.kind");

type Kind = "repairable" | "intervention" | "handled";

/** The agent sees the message as a warning and goes on; a denial is one of these. */
export class RepairableException extends Error {
  override readonly name = "RepairableException";
  readonly [KIND]: Kind = "repairable";
}

/** Somebody stepped in: the current turn is dropped and the loop goes on. */
export class InterventionException extends Error {
  override readonly name = "InterventionException";
  readonly [KIND]: Kind = "intervention";
}

/** An error that has been reported already: it only has to end the loop. */
export class HandledException extends Error {
  override readonly name = "HandledException";
  readonly [KIND]: Kind = "handled";
}

/**
 * Tells what kind of exception something thrown is, whatever copy of this module its class comes from.
 *
 * @param thrown - anything that was thrown
 * @returns its kind; `critical` for everything that is none of the framework's own exceptions
 */
export function exceptionKind(thrown: unknown): Kind | "critical" {
  if (typeof thrown !== "object" || thrown === null) return "critical";
  const kind = (thrown as { [KIND]?: unknown })[KIND];
  return kind === "repairable" || kind === "intervention" || kind === "handled" ? kind : "critical";
}
