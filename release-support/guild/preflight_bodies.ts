/**
 * Answers of the Guild's free preflight, as the service would write them. Stated here a second time on purpose, from the
 * description of the service and not from the plugin's reader, so that the two can disagree in a test.
 */

/** The name of one of the six checks. */
export type CheckName =
  | "endpoint_reachable"
  | "protocol_handshake"
  | "agent_card_resolves"
  | "agent_card_signed"
  | "payment_claim_holds"
  | "independent_evidence";

/** What the service found for a check. */
export type CheckStatus = "proven" | "failed" | "unknown";

/** The verdict that follows from the statuses. */
export type Verdict = "do_not_delegate" | "delegate_with_caution" | "no_failed_checks";

/** One entry of `checks`; more members may follow, such as `declared_name`. */
export interface CheckEntry {
  readonly check: string;
  readonly status: CheckStatus;
  readonly detail: string;
  readonly [extra: string]: unknown;
}

/** The JSON object of a 200 answer. */
export type PreflightBody = {
  readonly target: string;
  readonly verdict: Verdict;
  readonly headline: string;
  readonly checks: readonly CheckEntry[];
  readonly failed: readonly string[];
  readonly unknowns: readonly string[];
  readonly scored: readonly string[];
  readonly method: string;
  readonly limits: string;
};

/** What a body may carry beyond the six statuses. */
export interface BodyExtras {
  /** Further members of a check's entry, by check: `declared_name`, `agent_id`, `attestations_received`. */
  readonly onCheck?: Partial<Record<CheckName, Readonly<Record<string, unknown>>>>;
  /** Checks outside the six, listed after them and counted in the summaries like any other (SPEC P7.2). */
  readonly unlisted?: Readonly<Record<string, CheckStatus>>;
}

/** Every prose text of these bodies begins with it, so that a test can look for remote prose where none belongs. */
export const SYNTHETIC_PROSE = "Synthetic fixture, not the Agent Guild:";

const BLOCKING: readonly string[] = ["endpoint_reachable", "protocol_handshake"];

/** A healthy MCP server without an agent card, in the service's order. */
const DEFAULT_STATUSES: Readonly<Record<CheckName, CheckStatus>> = {
  endpoint_reachable: "proven",
  protocol_handshake: "proven",
  agent_card_resolves: "unknown",
  agent_card_signed: "unknown",
  payment_claim_holds: "unknown",
  independent_evidence: "unknown",
};

const HEADLINES: Readonly<Record<Verdict, string>> = {
  do_not_delegate: "a blocking check failed.",
  delegate_with_caution: "a check failed, none of the blocking ones.",
  no_failed_checks: "no check failed.",
};

/**
 * Builds an answer whose summaries and verdict follow from its statuses.
 *
 * @param target - the URL that was asked about, echoed as it is
 * @param statuses - where the answer differs from that about a healthy MCP server without an agent card
 * @param extras - further members of entries, and checks outside the six
 * @returns a consistent body (SPEC P7.1); spread it and overwrite members for one that is not
 */
export function preflightBody(
  target: string,
  statuses: Partial<Record<CheckName, CheckStatus>> = {},
  extras: BodyExtras = {},
): PreflightBody {
  const found = Object.entries({ ...DEFAULT_STATUSES, ...statuses, ...extras.unlisted });
  const named = (wanted: (status: CheckStatus) => boolean) =>
    found.filter(([, status]) => wanted(status)).map(([name]) => name);
  const failed = blockingFirst(named((status) => status === "failed"));
  const verdict = verdictFor(failed);
  const onCheck: Readonly<Record<string, object | undefined>> = extras.onCheck ?? {};
  return {
    target,
    verdict,
    headline: `${SYNTHETIC_PROSE} ${HEADLINES[verdict]}`,
    checks: found.map(([check, status]) => ({
      check,
      status,
      detail: `${SYNTHETIC_PROSE} ${check} is ${status}.`,
      ...onCheck[check],
    })),
    failed,
    unknowns: named((status) => status === "unknown"),
    scored: named((status) => status !== "unknown"),
    method: `${SYNTHETIC_PROSE} nothing was probed, the statuses were scripted.`,
    limits: `${SYNTHETIC_PROSE} it says nothing about any real endpoint.`,
  };
}

function blockingFirst(failed: readonly string[]): string[] {
  const blocking = failed.filter((name) => BLOCKING.includes(name));
  return [...blocking, ...failed.filter((name) => !BLOCKING.includes(name))];
}

function verdictFor(failed: readonly string[]): Verdict {
  if (failed.some((name) => BLOCKING.includes(name))) return "do_not_delegate";
  return failed.length > 0 ? "delegate_with_caution" : "no_failed_checks";
}

/** A healthy MCP server without an agent card: `no_failed_checks`. */
export function healthy(target: string): PreflightBody {
  return preflightBody(target);
}

/** An agent card resolves but carries no signature: `delegate_with_caution`. */
export function unsignedCard(target: string): PreflightBody {
  return preflightBody(
    target,
    { agent_card_resolves: "proven", agent_card_signed: "failed" },
    { onCheck: { agent_card_resolves: { declared_name: `${SYNTHETIC_PROSE} an unsigned agent` } } },
  );
}

/** The endpoint never replied: `do_not_delegate`. */
export function endpointDown(target: string): PreflightBody {
  return preflightBody(target, {
    endpoint_reachable: "failed",
    protocol_handshake: "unknown",
    agent_card_resolves: "failed",
  });
}

/** Something answers that speaks neither MCP nor A2A: `do_not_delegate`. */
export function noProtocol(target: string): PreflightBody {
  return preflightBody(target, { protocol_handshake: "failed", agent_card_resolves: "failed" });
}

/** The handshake stays open, as for an endpoint that asks for authorization: `no_failed_checks`. */
export function handshakeUnknown(target: string): PreflightBody {
  return preflightBody(target, { protocol_handshake: "unknown" });
}
