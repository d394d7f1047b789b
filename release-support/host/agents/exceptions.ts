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
 * @returns its kind; `critical` for everything that is none of the framework's own exceptions. Never throws.
 */
export function exceptionKind(thrown: unknown): Kind | "critical" {
  const kind = memberOf(thrown, KIND);
  return kind === "repairable" || kind === "intervention" || kind === "handled" ? kind : "critical";
}

/**
 * What an agent is told about a repairable exception: its message alone. A stack trace would show it paths and remote
 * text (SPEC H7, P10.2).
 */
export function repairableMessage(thrown: unknown): string {
  const message = memberOf(thrown, "message");
  return typeof message === "string" && message !== "" ? message : "The tool call was not run.";
}

/** Describes an error for people who read the log, in one line and without its stack. */
export function describeError(thrown: unknown): string {
  const [name, message] = [memberOf(thrown, "name"), memberOf(thrown, "message")];
  if (typeof name === "string" && typeof message === "string") return `${name}: ${message}`;
  return `Something else than an error was thrown: ${typeof thrown}`;
}

/** What is thrown may be anything, a proxy that throws in turn included. */
function memberOf(thrown: unknown, name: string | symbol): unknown {
  if (typeof thrown !== "object" || thrown === null) return undefined;
  try {
    return (thrown as Record<string | symbol, unknown>)[name];
  } catch {
    return undefined;
  }
}
