/**
 * The state of the service's free contract that this client was written for (SPEC G5). A check with a new name, or a
 * summary with another meaning, is refused until someone has reviewed it and moved this pin.
 */
export const PINNED_CONTRACT: {
  readonly file: string;
  readonly commit: string;
  readonly sha256: string;
} = Object.freeze({
  file: "preflight.py",
  commit: "8dae8d2",
  sha256: "bc7e8cdce5395fbf225d704ad82f88819e51863afc5c1aeecd184c9edf03d7c1",
});
