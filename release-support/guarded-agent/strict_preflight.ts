// Shared with the plugin: the one bounded GET (`requestJson`). Not shared: no cache, no joined requests, five seconds,
// 64 KiB, the Guild's own addresses screened, cached-looking answers refused.
import { requestJson } from "../../helpers/preflight/guild_request.ts";
import type { GuildResponse } from "../../helpers/preflight/guild_request.ts";
import { cacheHeadersOf, looksCached } from "./cache_signs.ts";
import { Scope } from "./cancellation.ts";
import type { GuardedPreflightError } from "./preflight_errors.ts";
import type { Network } from "./network.ts";
import type { PreflightObservation } from "./observation.ts";
import { screenedLookup } from "./screened_lookup.ts";
import { MAX_BODY_BYTES, readStrictAnswer } from "./strict_contract.ts";

/** The one deadline of a preflight, from name resolution to the last byte, in seconds (SPEC G5). */
const PREFLIGHT_SECONDS = 5;

type Finding =
  | { readonly kind: "failed"; readonly error: GuardedPreflightError }
  | Omit<Extract<PreflightObservation, { kind: "answered" }>, keyof Asked | "receivedAt">;

type Asked = Pick<PreflightObservation, "serviceOrigin" | "target" | "requestedAt">;

/**
 * Asks the Guild about an endpoint: one fresh request, never repeated, never from a cache (SPEC G5).
 *
 * @param target - the endpoint's URL; nothing else is disclosed
 * @param signal - the caller's cancellation
 * @returns what was observed, or that the preflight failed, with a fixed code
 * @throws the reason of `signal` when that fires first; nothing else
 */
export async function askGuild(
  target: string,
  network: Network,
  signal: AbortSignal,
): Promise<PreflightObservation> {
  const asked: Asked = {
    serviceOrigin: network.guildOrigin,
    target,
    requestedAt: new Date().toISOString(),
  };
  const finding = await find(target, network, signal);
  return Object.freeze({ ...asked, receivedAt: new Date().toISOString(), ...finding });
}

async function find(target: string, network: Network, signal: AbortSignal): Promise<Finding> {
  const outOfTime = new Error("deadline");
  const scope = new Scope([signal], { seconds: PREFLIGHT_SECONDS, reason: outOfTime });
  try {
    const response = await requestJson({
      origin: network.guildOrigin,
      path: `/preflight?url=${encodeURIComponent(target)}`,
      lookup: screenedLookup(network),
      maxBytes: MAX_BODY_BYTES,
      signal: scope.signal,
      ...(network.ca === null ? {} : { ca: network.ca }),
    });
    return read(response, target);
  } catch (error) {
    if (error === outOfTime) return { kind: "failed", error: "deadline" };
    throw error;
  } finally {
    scope.end();
  }
}

function read(response: GuildResponse, target: string): Finding {
  if (response.kind === "failed") return { kind: "failed", error: response.error };
  if (looksCached(response.headers)) return { kind: "failed", error: "cached" };
  const reading = readStrictAnswer(response.body, target);
  if (reading.kind === "refused") return { kind: "failed", error: reading.error };
  return {
    kind: "answered",
    verdict: reading.verdict,
    statuses: reading.statuses,
    returnedCacheHeaders: cacheHeadersOf(response.headers),
    untrustedResponseJson: reading.text,
  };
}
