import type { Findings } from "./findings.ts";
import type { CheckName, PreflightBody, Verdict } from "./preflight_bodies.ts";

/** The six checks in the service's order; the first two are blocking. */
const BLOCKING = ["endpoint_reachable", "protocol_handshake"] as const satisfies readonly CheckName[];
const OTHERS = [
  "agent_card_resolves",
  "agent_card_signed",
  "payment_claim_holds",
  "independent_evidence",
] as const satisfies readonly CheckName[];
const CHECKS = [...BLOCKING, ...OTHERS] as const;

const HEADLINES: Readonly<Record<Verdict, string>> = {
  do_not_delegate:
    "A blocking check failed: this endpoint could not be reached or does not speak its protocol.",
  delegate_with_caution: "The endpoint answers, but a check failed.",
  no_failed_checks: "No check failed. What is unknown stays unknown.",
};

const METHOD =
  "A live probe by a local Guild: an MCP initialize request or the agent card, the status of the endpoint, the " +
  "well-known agent card and, if that speaks of payment, the root of the origin. Each request has 3 seconds and 8 KiB, " +
  "sends no credentials and follows no redirect.";

const LIMITS =
  "One unsigned observation of one moment, from this machine. It does not verify identity, a signature, conformance, " +
  "permission or payment, and it says nothing about what the endpoint does with data.";

/**
 * Writes the body of an answer (SPEC S2, P7.1): the checks, the summaries and the verdict that follows from them. Stated
 * here apart from the plugin's reader, so that a test can hold one against the other.
 *
 * @param target - the URL exactly as received
 * @param findings - what was found for each check
 */
export function preflightReport(target: string, findings: Findings): PreflightBody {
  const statusOf = (check: CheckName) => findings[check].status;
  const verdict = verdictOf(findings);
  return {
    target,
    verdict,
    headline: HEADLINES[verdict],
    checks: CHECKS.map((check) => {
      const { status, detail, extras } = findings[check];
      return { check, status, detail, ...extras };
    }),
    // The list begins with the blocking checks, so they come first here too.
    failed: CHECKS.filter((check) => statusOf(check) === "failed"),
    unknowns: CHECKS.filter((check) => statusOf(check) === "unknown"),
    scored: CHECKS.filter((check) => statusOf(check) !== "unknown"),
    method: METHOD,
    limits: LIMITS,
  };
}

function verdictOf(findings: Findings): Verdict {
  if (BLOCKING.some((check) => findings[check].status === "failed")) return "do_not_delegate";
  return OTHERS.some((check) => findings[check].status === "failed")
    ? "delegate_with_caution"
    : "no_failed_checks";
}
