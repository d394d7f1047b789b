import type { Decision, Reason } from "./decision.ts";
import type { PreflightError, PreflightOutcome } from "../preflight/guild_preflight.ts";
import { missingProof } from "./policy.ts";
import { CHECKS } from "../preflight/preflight_contract.ts";
import type { CheckStatus, PreflightAnswer } from "../preflight/preflight_contract.ts";
import type { Policy, SettingError } from "../settings/settings.ts";

/** The largest denial, in bytes of UTF-8 (SPEC P10.4). */
export const MAX_DENIAL_BYTES = 2048;

/** More errors than this are only counted; fewer where they do not fit. */
const MAX_SHOWN_ERRORS = 24;

const PLUGIN = "agent_guild_preflight";

/** Each reason for a denial in words of our own. */
const WORDS: Readonly<Record<Exclude<Reason, "not_denied">, string>> = {
  do_not_delegate: "the Guild's verdict on its endpoint is do_not_delegate, which no policy overrides.",
  evidence_unavailable:
    "there is no usable evidence about its endpoint, and the policy does not go on without.",
  required_not_proven: "its endpoint does not prove every check that the policy requires.",
  caution:
    "the Guild's verdict on its endpoint is delegate_with_caution, and the policy does not accept that.",
  configuration_invalid: `the configuration of ${PLUGIN} cannot be used, and no MCP tool runs without one.`,
  ineligible_endpoint:
    "the URL approved for its server is not one that may be disclosed. Nothing was disclosed.",
  server_not_configured: "no enabled MCP server has the name of its server. Nothing was disclosed.",
  ambiguous_server: "more than one enabled MCP server has the name of its server. Nothing was disclosed.",
  local_server: "a server under a protected name runs as a local process. Nothing was disclosed.",
  url_mismatch: "its server is configured with another URL than the approved one. Nothing was disclosed.",
  tool_not_exposed: "its server does not expose this tool at present. Nothing was disclosed.",
  binding_changed: "the settings, the server or its tools changed while its endpoint was being checked.",
};

/** What became of an answer of the Guild, in our own words. */
export const ERROR_WORDS: Readonly<Record<PreflightError, string>> = {
  deadline: "no complete answer within the deadline",
  connect: "no connection to the Guild",
  tls: "no trustworthy TLS connection to the Guild",
  status: "the Guild answered with another status than 200",
  redirect: "the Guild answered with a redirect, which is not followed",
  encoding: "the Guild's answer is compressed, though that was not asked for",
  content_type: "the Guild's answer is not application/json",
  too_large: "the Guild's answer is larger than the limit",
  truncated: "the Guild's answer broke off or is not HTTP",
  inconsistent: "the Guild's answer contradicts the contract or itself",
};

/**
 * Writes what the model sees of a denied call: our own words, the status and verdict enums, the six check names, the
 * redacted endpoint and our own timestamp. No remote string, name, URL, argument or file content (SPEC P10).
 *
 * @param decision - a decision to deny
 * @param whereToLook - where the operator finds it, in fixed words of the host's; the framework's places by default
 * @returns at most {@link MAX_DENIAL_BYTES} bytes of text
 */
export function denialText(decision: Decision, whereToLook = FRAMEWORK_PLACES): string {
  const { reason, endpoint, policy, outcome, decidedAt } = decision;
  const lines = [blockedBecause(reason)];
  if (reason !== "ineligible_endpoint") lines.push(`Endpoint: ${redactEndpoint(endpoint)}`);
  if (outcome !== null) lines.push(...evidenceLines(outcome, policy));
  lines.push(`Decided: ${decidedAt.toISOString()}`, ADVICE, `Operator: see ${whereToLook}.`);
  return lines.join("\n");
}

/**
 * Writes what the model sees while the configuration cannot be used: each offending setting by its path and what was
 * expected there (SPEC P3.2).
 *
 * @param where - which configuration file it is, in our own words
 * @param errors - what is wrong with it
 * @returns at most {@link MAX_DENIAL_BYTES} bytes of text; errors that do not fit are counted
 */
export function configurationDenialText(where: string, errors: readonly SettingError[]): string {
  const head = [blockedBecause("configuration_invalid"), `Configuration: ${where}`];
  const tail = [ADVICE, `Operator: mend the configuration of ${PLUGIN}; it is read afresh for every call.`];
  const items = errors
    .slice(0, MAX_SHOWN_ERRORS)
    .map(({ path, expected }) => `- ${path === "" ? "(the whole file)" : path}: expected ${expected}`);
  for (let shown = items.length; ; shown -= 1) {
    const more = shown < errors.length ? [`- +${errors.length - shown} more`] : [];
    const text = [...head, ...items.slice(0, shown), ...more, ...tail].join("\n");
    if (shown === 0 || Buffer.byteLength(text) <= MAX_DENIAL_BYTES) return text;
  }
}

/**
 * Shortens an eligible URL to what may be shown: scheme, host and port; a path other than `/` becomes `/...`
 * (SPEC P10.1).
 */
export function redactEndpoint(url: string): string {
  const { origin, pathname } = new URL(url);
  return pathname === "/" ? `${origin}/` : `${origin}/...`;
}

const FRAMEWORK_PLACES = `the agent's data key ${PLUGIN}.last_observation, the chat log and the config.json of ${PLUGIN}`;

const ADVICE =
  "The tool did not run. Repeating the call changes nothing by itself: choose another tool, or tell the operator.";

function blockedBecause(reason: Reason): string {
  const words = reason === "not_denied" ? "it was denied." : WORDS[reason];
  return `${PLUGIN} blocked this tool call (${reason}): ${words}`;
}

function evidenceLines(outcome: PreflightOutcome, policy: Policy): string[] {
  if (outcome.kind === "failure") return [`Evidence: none, ${ERROR_WORDS[outcome.error]} (${outcome.error})`];
  const { answer, observedAt, cached, ageSeconds } = outcome.observation;
  const age = cached ? `, cached, ${Math.floor(ageSeconds)} s old` : "";
  const missing = missingProof(policy, answer.statuses).map(
    (check) => `${check} (${answer.statuses[check]})`,
  );
  return [
    `Verdict: ${answer.verdict} (observed ${observedAt.toISOString()}${age})`,
    ...(missing.length === 0 ? [] : [`Required but not proven: ${missing.join(", ")}`]),
    ...(["proven", "failed", "unknown"] as const).map((status) => checksLine(answer, status)),
    ...(answer.unlisted === 0 ? [] : [`Other checks: +${answer.unlisted} unlisted`]),
  ];
}

function checksLine(answer: PreflightAnswer, status: CheckStatus): string {
  const checks = CHECKS.filter((check) => answer.statuses[check] === status);
  return `Checks ${status}: ${checks.length === 0 ? "none" : checks.join(", ")}`;
}
