/** What an observation is not, and what lies outside, for everything that shows one (SPEC P11.4). */
export const LIMITS: readonly string[] = [
  "It is not identity: nobody proved whose endpoint it is.",
  "It is not signature verification: a signed card is one that has a signature on it.",
  "It is not protocol conformance: a handshake was seen, nothing else.",
  "It is not permission: a call that is not denied is not approved either.",
  "It is no promise about what the endpoint does with your data.",
  "Keeping remote words out of a denial is no general protection against prompt injection.",
  "The results of calls that were not denied are outside of it.",
];
