import { declaredName, isSigned } from "./agent_card.ts";
import type { CardReading } from "./agent_card.ts";
import type { RegistryEntry } from "./guild_registry.ts";
import type { CheckName, CheckStatus } from "./preflight_bodies.ts";
import type { Protocol, TargetProblem } from "./probe_policy.ts";

/** What was found for one check. */
export interface Finding {
  readonly status: CheckStatus;
  /** Prose of ours; nothing of it comes from the endpoint. */
  readonly detail: string;
  /** Further members of the check's entry. */
  readonly extras?: Readonly<Record<string, string | number>>;
}

/** What was found for each of the six checks. */
export type Findings = Readonly<Record<CheckName, Finding>>;

/** How far a probe got with an endpoint. */
export type Contact =
  /** It completed a protocol's handshake. */
  | { readonly kind: "handshake"; readonly protocol: Protocol }
  /** It answered `initialize` with 401, 402 or 403. */
  | { readonly kind: "authorization_required" }
  /** It began a good answer to `initialize` that was not complete in time or within the bound. */
  | { readonly kind: "inconclusive" }
  /** It answered, and a protocol probe said no. */
  | { readonly kind: "no_handshake" }
  /** It answered, but not the protocol probe. */
  | { readonly kind: "probe_unanswered" }
  /** It answered; no protocol probe applies to its path. */
  | { readonly kind: "no_protocol_probe" }
  /** It gave no status, or one that counts as none. */
  | { readonly kind: "unreachable" }
  /** The service's URL policy refused it; nothing was sent. */
  | { readonly kind: "refused"; readonly problem: TargetProblem };

/** What became of a card's claim to be paid. */
export type PaymentClaim = "holds" | "not_shown" | "no_claim";

/** All that a probe observed. */
export interface ProbeObservation {
  readonly contact: Contact;
  readonly card: CardReading;
  readonly payment: PaymentClaim;
  /** The registry's entry for the DID that the card claims; `null` without one. */
  readonly known: RegistryEntry | null;
}

/** Turns what a probe observed into the six findings (SPEC S2). */
export function findingsOf({ contact, card, payment, known }: ProbeObservation): Findings {
  return {
    endpoint_reachable: reachability(contact),
    protocol_handshake: handshake(contact),
    agent_card_resolves: resolution(card, contact),
    agent_card_signed: signature(card),
    payment_claim_holds: PAYMENT[payment],
    independent_evidence: evidence(known),
  };
}

function reachability(contact: Contact): Finding {
  switch (contact.kind) {
    case "unreachable":
      return failed("No answer, a server error or a redirect; redirects are not followed.");
    case "refused":
      return failed(`The URL was not probed: ${PROBLEMS[contact.problem]}.`);
    default:
      return proven("The endpoint answered an HTTP request.");
  }
}

const PROBLEMS: Readonly<Record<TargetProblem, string>> = {
  too_long: "it has more than 500 characters",
  whitespace_or_control: "it holds whitespace or a control character",
  not_a_url: "it is not a URL",
  scheme: "its scheme is neither http nor https",
  user_info: "it carries user info",
  port: "its port is none of 80, 443, 8080, 8443",
};

function handshake(contact: Contact): Finding {
  switch (contact.kind) {
    case "handshake":
      return proven(
        contact.protocol === "mcp"
          ? "An MCP initialize request was answered with an initialize result."
          : "The agent card describes an A2A agent.",
      );
    case "authorization_required":
      return unknown("The endpoint requires authorization, so the handshake could not be observed.");
    case "inconclusive":
      return unknown("The answer to initialize was not complete within the bounds of a probe.");
    case "no_handshake":
      return failed("The endpoint answers, but it completed no protocol handshake.");
    case "probe_unanswered":
      return unknown("The endpoint answers, but not the protocol probe.");
    case "no_protocol_probe":
      return unknown("No protocol probe applies to this path: it names neither MCP nor A2A.");
    default:
      return unknown("Without an answer there is no handshake to observe.");
  }
}

function resolution(card: CardReading, contact: Contact): Finding {
  switch (card.kind) {
    case "card": {
      const name = declaredName(card.members);
      const finding = proven("An agent card was served at the well-known path.");
      return name === null ? finding : { ...finding, extras: { declared_name: name } };
    }
    case "capped":
      return proven("An agent card was served at the well-known path; it is longer than what is read.");
    case "absent":
      return contact.kind === "handshake" && contact.protocol === "mcp"
        ? unknown("There is no agent card, which a plain MCP server does not need.")
        : failed("There is no agent card at the well-known path.");
    case "no_card":
      return failed("What is served at the well-known path is not an agent card.");
    default:
      return failed("The well-known path of the agent card did not answer.");
  }
}

function signature(card: CardReading): Finding {
  if (card.kind === "capped") return unknown("The agent card was not read to its end.");
  if (card.kind !== "card") return unknown("There is no agent card to look at.");
  return isSigned(card.members)
    ? proven("The agent card carries a signature or proof. Its presence was seen, nothing was verified.")
    : failed("The agent card carries neither a signature nor a proof.");
}

const PAYMENT: Readonly<Record<PaymentClaim, Finding>> = {
  holds: proven("The agent card speaks of payment, and the root of the origin answers 402."),
  not_shown: unknown("The agent card speaks of payment; the root of the origin does not answer 402."),
  no_claim: unknown("No claim about payment was found."),
};

function evidence(known: RegistryEntry | null): Finding {
  if (known === null) return unknown("This service knows of no independent evidence.");
  const { agent_id, attestations_received } = known;
  return {
    ...proven("The DID that the agent card claims is in the registry. The claim itself was not verified."),
    extras: { agent_id, attestations_received },
  };
}

function proven(detail: string): Finding {
  return { status: "proven", detail };
}

function failed(detail: string): Finding {
  return { status: "failed", detail };
}

function unknown(detail: string): Finding {
  return { status: "unknown", detail };
}
