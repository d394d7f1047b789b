import type { Statuses, Verdict } from "../../helpers/preflight/preflight_contract.ts";
import type { GuardedPreflightError } from "./preflight_errors.ts";

/** What was asked, whom, and when by this client's clock. The service signs nothing and vouches for no time. */
interface RequestWindow {
  /** Scheme, host and port of the service that was asked. */
  readonly serviceOrigin: string;
  /** The endpoint's URL, exactly as disclosed. */
  readonly target: string;
  /** When this client began, and when it had the whole answer or gave up: ISO 8601, UTC. */
  readonly requestedAt: string;
  readonly receivedAt: string;
}

/**
 * What one preflight gave, for the operator's audit (SPEC G6). The Guild probes from its own network: nothing in it
 * is bound to the IP address or the TLS session that the agent's connection uses.
 */
export type PreflightObservation =
  | (RequestWindow & {
      readonly kind: "answered";
      readonly verdict: Verdict;
      /** As received: `unknown` stays `unknown`. */
      readonly statuses: Statuses;
      /** Headers about caching, by lower-case name, as received. Remote text. */
      readonly returnedCacheHeaders: Readonly<Record<string, string>>;
      /** The whole body as received. Remote text: never put it into a prompt. */
      readonly untrustedResponseJson: string;
    })
  | (RequestWindow & {
      readonly kind: "failed";
      readonly error: GuardedPreflightError;
    });
