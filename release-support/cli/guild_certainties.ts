import { screenEndpoint } from "../../helpers/binding/endpoint_screen.ts";
import { GUILD_ORIGIN } from "../../helpers/preflight/guild_preflight.ts";
import { decide } from "../../helpers/decision/policy.ts";
import type { Policy } from "../../helpers/settings/settings.ts";
import { MAX_TARGET_CHARACTERS, protocolsAt, screenTarget } from "../guild/probe_policy.ts";
import type { TargetProblem } from "../guild/probe_policy.ts";
import type { Certainty } from "./output_schemas.ts";

/** What the Guild reports of an endpoint that it does not probe. */
const NOT_REACHED = {
  kind: "observed",
  verdict: "do_not_delegate",
  statuses: {
    endpoint_reachable: "failed",
    protocol_handshake: "unknown",
    agent_card_resolves: "failed",
    agent_card_signed: "unknown",
    payment_claim_holds: "unknown",
    independent_evidence: "unknown",
  },
} as const;

/** The best that it can report where no protocol probe applies. */
const AT_BEST = {
  kind: "observed",
  verdict: "no_failed_checks",
  statuses: {
    endpoint_reachable: "proven",
    protocol_handshake: "unknown",
    agent_card_resolves: "proven",
    agent_card_signed: "proven",
    payment_claim_holds: "proven",
    independent_evidence: "proven",
  },
} as const;

/**
 * Tells what the Guild's own probing rules make certain before it is asked (SPEC C4).
 *
 * @param url - an eligible URL
 * @param origin - who would be asked. A local Guild may have been started without the rules about ports and hosts: then
 *   they are told, and make nothing certain
 * @param policy - what the operator wants
 * @returns nothing where the answer is open
 */
export function guildCertainties(url: string, origin: string, policy: Policy): Certainty[] {
  const isLocalGuild = origin !== GUILD_ORIGIN;
  const isPublicHost = screenEndpoint(url).kind === "eligible";
  if (isLocalGuild && !isPublicHost) return protocolCertainties(url, policy);
  const screening = screenTarget(url, { allowLoopback: false });
  if (screening.kind === "refused") {
    const found = notProbed(screening.problem, policy);
    const mayBeLifted = isLocalGuild && found.code === "port_refused";
    return mayBeLifted ? [{ ...found, denies: null }, ...protocolCertainties(url, policy)] : [found];
  }
  if (!isPublicHost) {
    return [certainty("host_refused", "The Guild does not probe hosts that are not public.", policy)];
  }
  return protocolCertainties(url, policy);
}

function protocolCertainties(url: string, policy: Policy): Certainty[] {
  if (protocolsAt(new URL(url).pathname).length > 0) return [];
  return [
    {
      code: "no_protocol_probe",
      means:
        "The path names neither /mcp nor /a2a and is not empty, so no protocol probe applies: protocol_handshake " +
        "cannot be proven.",
      denies: deniedReason(policy, AT_BEST),
    },
  ];
}

function notProbed(problem: TargetProblem, policy: Policy): Certainty {
  switch (problem) {
    case "too_long": {
      const words = `The URL is longer than ${MAX_TARGET_CHARACTERS} characters, and the Guild does not probe those.`;
      return certainty("url_too_long", words, policy);
    }
    case "port":
      return certainty(
        "port_refused",
        "The Agent Guild probes the ports 80, 443, 8080 and 8443 alone.",
        policy,
      );
    default:
      return certainty("url_refused", "The Guild's own URL policy refuses this URL.", policy);
  }
}

function certainty(code: Certainty["code"], why: string, policy: Policy): Certainty {
  const means = `${why} It reports the endpoint as not reachable.`;
  return { code, means, denies: deniedReason(policy, NOT_REACHED) };
}

function deniedReason(policy: Policy, evidence: Parameters<typeof decide>[1]): Certainty["denies"] {
  const { decision, reason } = decide(policy, evidence);
  return decision === "allow" ? null : reason;
}
