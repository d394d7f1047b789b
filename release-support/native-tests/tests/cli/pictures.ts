import type { CallDocument } from "../../../cli/output_schemas.ts";
import { makePicture } from "../../../cli/report/picture.ts";
import type { RequestPicture, RunPicture } from "../../../cli/report/picture.ts";
import { STAGES } from "../../../cli/report/stages.ts";

/** What a hostile Guild, server or model may write. */
export const HOSTILE =
  `</style></bdi><script>document.title = "owned"</script><img src="https://evil.example.com/x" onerror="owned()">` +
  ` "' onload=x \u202Edesrever\u2066 \u0000\u001B[2J ${"long".repeat(300)}`;

const evidence = {
  guild_origin: "http://127.0.0.1:8700",
  verdict: "delegate_with_caution",
  statuses: {
    endpoint_reachable: "proven",
    protocol_handshake: "proven",
    agent_card_resolves: "proven",
    agent_card_signed: "failed",
    payment_claim_holds: "unknown",
    independent_evidence: "unknown",
  },
  unlisted: 1,
  observed_at: "2026-01-02T03:04:05.678Z",
  cached: true,
  age_seconds: 12,
  error: null,
} as const satisfies NonNullable<CallDocument["evidence"]>;

const ran: RequestPicture = {
  title: "a request that ran",
  story: "It shows something.",
  tool: "pub_server.search",
  path: "native",
  outcome: "ran",
  reason: "not_denied",
  why: "nothing denies the call",
  details: [],
  synthetic: false,
  stages: STAGES.map((name, index) => ({
    name,
    state: "passed",
    words: "it went on",
    span: { from: index, to: index + 1 },
  })),
  endpoint: "https://pub.example.com/mcp",
  policy: {
    required_proven: ["endpoint_reachable"],
    tolerate_unknown_required: false,
    on_caution: "allow",
    on_unavailable: "deny",
  },
  evidence,
  untrusted: [],
};

/** A request that was denied without evidence. */
const denied: RequestPicture = {
  ...ran,
  title: "a request that was denied",
  outcome: "denied",
  reason: "url_mismatch",
  evidence: null,
};

/** A picture of a request that ran and one that was denied. */
export const plainPicture: RunPicture = makePicture("A run", "Two requests.", [ran, denied]);

/** The same with everything that others write as hostile as it can be. */
export const hostilePicture: RunPicture = makePicture("A run", "Two requests.", [
  {
    ...ran,
    title: HOSTILE,
    tool: HOSTILE,
    endpoint: `https://pub.example.com/${"x".repeat(2000)}`,
    untrusted: [{ what: "The checks", text: `${HOSTILE}\n${HOSTILE}` }],
  },
  denied,
]);
