/** A command could not run: a flag, a root or a script is not what it must be. Its message is one line (SPEC C). */
export class CannotRun extends Error {
  override readonly name = "CannotRun";
}
