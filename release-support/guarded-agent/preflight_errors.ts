// Not shared: the plugin reports to a host, this library to its caller. The codes of a failed request are the plugin's
// (`RequestError`), restated, so that the public types need none of Node's; the compiler sees to it that none is missing.

/** Each failure of a preflight in words of our own. */
export const PREFLIGHT_ERRORS = {
  deadline: "no complete answer within five seconds",
  connect: "no connection to the Guild at a public address",
  tls: "no trustworthy TLS connection to the Guild",
  status: "the Guild answered with another status than 200",
  redirect: "the Guild answered with a redirect, which is not followed",
  encoding: "the Guild's answer is compressed, though that was not asked for",
  content_type: "the Guild's answer is not application/json",
  too_large: "the Guild's answer is larger than the limits",
  truncated: "the Guild's answer broke off or is not HTTP",
  cached: "the Guild's answer looks like one from a cache",
  invalid_utf8: "the Guild's answer is not UTF-8",
  invalid_json: "the Guild's answer is not one JSON document",
  duplicate_member: "the Guild's answer names a member twice",
  too_deep: "the Guild's answer is nested too deeply",
  other_target: "the Guild's answer is about another URL",
  unlisted_check: "the Guild's answer has a check that the pinned contract does not know",
  inconsistent: "the Guild's answer contradicts the pinned contract or itself",
} as const;

/** Why a preflight gave no usable evidence: a closed list (SPEC G5). */
export type GuardedPreflightError = keyof typeof PREFLIGHT_ERRORS;

/** The codes for a body that breaks the contract. */
export type ContractError = Exclude<
  GuardedPreflightError,
  | "deadline"
  | "connect"
  | "tls"
  | "status"
  | "redirect"
  | "encoding"
  | "content_type"
  | "truncated"
  | "cached"
>;
