import { lookup as systemLookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { performance } from "node:perf_hooks";

import type { RequestError } from "./guild_request.ts";
import { ObservationCache } from "./observation_cache.ts";
import { onAbort } from "../on_abort.ts";
import { readPreflightAnswer } from "./preflight_contract.ts";
import type { PreflightAnswer } from "./preflight_contract.ts";

/** The one place that is asked when no offline test says otherwise (SPEC P6.2). */
export const GUILD_ORIGIN = "https://agent-guild-5d5r.onrender.com";

/** The largest body of an answer, in bytes (SPEC P6.4). */
export const MAX_BODY_BYTES = 1_048_576;

/** Why there is no usable evidence: a closed list (SPEC P8). */
export type PreflightError = RequestError | "deadline" | "inconsistent";

/** A consistent answer and when its body was complete. */
export interface Observation {
  readonly answer: PreflightAnswer;
  readonly guildOrigin: string;
  readonly observedAt: Date;
  /** Whether it was made for an earlier call. */
  readonly cached: boolean;
  /** How long ago it was made, by a monotonic clock. */
  readonly ageSeconds: number;
}

/** What asking the Guild about an endpoint led to. */
export type PreflightOutcome =
  | { readonly kind: "observation"; readonly observation: Observation }
  | {
      readonly kind: "failure";
      readonly error: PreflightError;
      readonly guildOrigin: string;
      /** An unusable answer that all the same says `do_not_delegate` (SPEC P8.1). */
      readonly saysDoNotDelegate: boolean;
    };

/** One question: what does this endpoint prove right now. */
export interface PreflightQuestion {
  /** The Guild's origin. */
  readonly origin: string;
  /** The approved URL; nothing else is disclosed. */
  readonly url: string;
  /** The deadline for everything from name resolution to the last byte, in seconds. */
  readonly timeoutSeconds: number;
  /** The oldest observation that may be reused, in seconds; 0 asks afresh. */
  readonly cacheTtlSeconds: number;
  /** The caller's cancellation. */
  readonly signal: AbortSignal;
}

/**
 * Asks the Guild about endpoints: one bounded request for all who ask about an endpoint at once and would reuse an
 * observation, a bounded cache of what was observed, one deadline a caller (SPEC P6).
 */
export class GuildPreflight {
  readonly #lookup: LookupFunction;
  readonly #cache = new ObservationCache();
  readonly #flights = new Map<string, Flight>();

  /** @param lookup - how host names become addresses; the system's own way unless a test says otherwise */
  constructor(lookup: LookupFunction = systemLookup) {
    this.#lookup = lookup;
  }

  /**
   * Looks for an observation that may be reused: at most `cacheTtlSeconds` old, by a monotonic clock (SPEC P6.6).
   *
   * @returns it, labelled `cached`, with its age; `null` when there is none
   */
  cached({ origin, url, cacheTtlSeconds }: PreflightQuestion): Observation | null {
    if (cacheTtlSeconds === 0) return null;
    const key = cacheKey(origin, url);
    const entry = this.#cache.get(key, cacheTtlSeconds);
    if (entry === null) return null;
    return {
      answer: entry.answer,
      guildOrigin: origin,
      observedAt: entry.observedAt,
      cached: true,
      ageSeconds: entry.ageSeconds,
    };
  }

  /**
   * Asks the Guild, or joins a request for the same endpoint that is already on its way, unless the question is to be
   * asked afresh (SPEC P6.3, P6.7). Never reads the cache.
   *
   * @returns an observation or a failure with a fixed code; failures are never cached
   * @throws the reason of `signal` when that fires first; what loading the request's modules throws, where the
   *   plugin's folder is damaged
   */
  async ask(question: PreflightQuestion): Promise<PreflightOutcome> {
    question.signal.throwIfAborted();
    return await this.#flightFor(question).wait(question);
  }

  #flightFor({ origin, url, cacheTtlSeconds }: PreflightQuestion): Flight {
    const key = cacheKey(origin, url);
    const underWay = this.#flights.get(key);
    // Who wants nothing from the past does not join a request that was begun earlier either.
    if (underWay !== undefined && cacheTtlSeconds > 0) return underWay;
    const flight = new Flight(
      (signal) => this.#request(origin, url, signal),
      () => {
        if (this.#flights.get(key) === flight) this.#flights.delete(key);
      },
    );
    this.#flights.set(key, flight);
    return flight;
  }

  async #request(origin: string, url: string, signal: AbortSignal): Promise<PreflightOutcome> {
    const { requestJson } = await import("./guild_request.ts");
    const path = `/preflight?url=${encodeURIComponent(url)}`;
    const response = await requestJson({
      origin,
      path,
      lookup: this.#lookup,
      maxBytes: MAX_BODY_BYTES,
      signal,
    });
    if (response.kind === "failed") return failure(response.error, origin);
    const [completedAt, observedAt] = [performance.now(), new Date()];
    const reading = readPreflightAnswer(response.body, url);
    if (reading.kind !== "consistent") return failure("inconsistent", origin, reading.saysDoNotDelegate);
    const { answer } = reading;
    this.#cache.set(cacheKey(origin, url), { answer, observedAt, completedAt });
    return {
      kind: "observation",
      observation: { answer, guildOrigin: origin, observedAt, cached: false, ageSeconds: 0 },
    };
  }
}

/**
 * One request and those who wait for it. Each waits until its own deadline or cancellation; the request ends when
 * nobody waits any more, hence at the latest deadline among them (SPEC P6.7).
 */
class Flight {
  readonly #controller = new AbortController();
  readonly #outcome: Promise<PreflightOutcome>;
  readonly #onEnd: () => void;
  #waiting = 0;

  constructor(request: (signal: AbortSignal) => Promise<PreflightOutcome>, onEnd: () => void) {
    this.#onEnd = onEnd;
    this.#outcome = request(this.#controller.signal).finally(onEnd);
    // Abandoned by everyone, it rejects with nobody listening.
    this.#outcome.catch(() => undefined);
  }

  wait({ origin, timeoutSeconds, signal }: PreflightQuestion): Promise<PreflightOutcome> {
    this.#waiting += 1;
    return new Promise<PreflightOutcome>((resolve, reject) => {
      let waiting = true;
      const leave = (finish: () => void) => {
        if (!waiting) return;
        waiting = false;
        clearTimeout(timer);
        forget();
        this.#waiting -= 1;
        if (this.#waiting === 0) this.#abandon();
        finish();
      };
      const onDeadline = () => leave(() => resolve(failure("deadline", origin)));
      const timer = setTimeout(onDeadline, timeoutSeconds * 1000);
      const forget = onAbort(signal, () => leave(() => reject(signal.reason)));
      this.#outcome.then(
        (outcome) => leave(() => resolve(outcome)),
        (error: unknown) => leave(() => reject(error)),
      );
    });
  }

  /** Nobody joins any more, and the connection closes; without effect on a request that has ended. */
  #abandon(): void {
    this.#onEnd();
    this.#controller.abort();
  }
}

function failure(error: PreflightError, guildOrigin: string, saysDoNotDelegate = false): PreflightOutcome {
  return { kind: "failure", error, guildOrigin, saysDoNotDelegate };
}

function cacheKey(origin: string, url: string): string {
  return `${origin} ${url}`;
}
