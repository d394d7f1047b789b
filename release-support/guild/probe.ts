import type { LookupFunction } from "node:net";

import { CARD_PATH, claimsPayment, declaredDid, isHandshakeCard, readCardAnswer } from "./agent_card.ts";
import type { CardReading } from "./agent_card.ts";
import { findingsOf } from "./findings.ts";
import type { Contact, Findings, PaymentClaim } from "./findings.ts";
import type { GuildRegistry, RegistryEntry } from "./guild_registry.ts";
import {
  INITIALIZE_HEADERS,
  INITIALIZE_REQUEST,
  isInitializeAnswered,
  readInitializeAnswer,
} from "./handshake.ts";
import type { InitializeReading } from "./handshake.ts";
import { isProbedAddress, protocolsAt, screenTarget } from "./probe_policy.ts";
import type { ProbeAllowance } from "./probe_policy.ts";
import { requestOnce } from "./probe_request.ts";
import type { ProbeNetwork } from "./probe_request.ts";

/** What a probe depends on. */
export interface ProbeSettings extends ProbeAllowance {
  readonly registry: GuildRegistry;
  /** How host names become addresses. */
  readonly lookup: LookupFunction;
  /** Certificates to trust in place of the system's, in PEM; `null` for the system's. */
  readonly ca: string | null;
  /** How long each request may take, in milliseconds. */
  readonly requestMs: number;
}

/**
 * Probes an endpoint as the Guild does (SPEC S2): a protocol handshake if the path suggests one, else whether it answers at all;
 * then its agent card, a claim about payment, and what the registry knows. One request after the other, none repeated.
 *
 * @param target - the URL as received; any text
 * @param signal - ends the probe
 * @throws the reason of `signal` once that has fired; nothing else, whatever the endpoint does
 */
export async function probeTarget(
  target: string,
  settings: ProbeSettings,
  signal: AbortSignal,
): Promise<Findings> {
  const screening = screenTarget(target, settings);
  if (screening.kind === "refused") {
    const { problem } = screening;
    const contact = { kind: "refused", problem } as const;
    return findingsOf({ contact, card: { kind: "unanswered" }, payment: "no_claim", known: null });
  }
  const endpoint = new ProbedEndpoint(screening.url, settings, signal);
  const contact = await contactWith(endpoint);
  const card = await endpoint.card();
  const payment = await paymentClaim(card, endpoint);
  return findingsOf({ contact, card, payment, known: knownAgent(card, settings.registry) });
}

/** The requests that a probe may make of an endpoint. */
class ProbedEndpoint {
  readonly pathname: string;
  readonly #url: URL;
  readonly #network: ProbeNetwork;
  #card: Promise<CardReading> | null = null;

  constructor(url: URL, settings: ProbeSettings, signal: AbortSignal) {
    const { lookup, ca, requestMs } = settings;
    const isAllowedAddress = (address: string) => isProbedAddress(address, settings);
    this.pathname = url.pathname;
    this.#url = url;
    this.#network = { lookup, isAllowedAddress, ca, requestMs, signal };
  }

  /** The agent card of its origin; asked for once, so that the checks speak of the same one. */
  card(): Promise<CardReading> {
    this.#card ??= this.#requestCard();
    return this.#card;
  }

  async initialize(): Promise<InitializeReading> {
    const answer = await requestOnce(
      {
        method: "POST",
        url: this.#url,
        headers: INITIALIZE_HEADERS,
        body: INITIALIZE_REQUEST,
        read: "body",
        isEnough: isInitializeAnswered,
      },
      this.#network,
    );
    return readInitializeAnswer(answer);
  }

  /** The status of the endpoint itself; `null` without one. */
  status(method: "HEAD" | "GET"): Promise<number | null> {
    return this.#requestStatus(method, this.#url);
  }

  /** The status of the root of its origin; `null` without one. */
  rootStatus(): Promise<number | null> {
    return this.#requestStatus("GET", new URL("/", this.#url));
  }

  async #requestStatus(method: "HEAD" | "GET", url: URL): Promise<number | null> {
    const headers = { accept: "*/*" };
    const answer = await requestOnce({ method, url, headers, read: "status" }, this.#network);
    return answer.kind === "answer" ? answer.status : null;
  }

  async #requestCard(): Promise<CardReading> {
    const url = new URL(CARD_PATH, this.#url);
    const headers = { accept: "application/json" };
    return readCardAnswer(await requestOnce({ method: "GET", url, headers, read: "body" }, this.#network));
  }
}

/**
 * The protocol probes that apply, then, while none of them has decided, the status of the path. A probe says no with any complete
 * answer that is no handshake; silence and a redirect, which is not followed, say nothing.
 */
async function contactWith(endpoint: ProbedEndpoint): Promise<Contact> {
  const protocols = protocolsAt(endpoint.pathname);
  let saidNo = false;
  if (protocols.includes("a2a")) {
    const card = await endpoint.card();
    if (isHandshakeCard(card)) return { kind: "handshake", protocol: "a2a" };
    saidNo = card.kind !== "unanswered";
  }
  if (protocols.includes("mcp")) {
    const reading = await endpoint.initialize();
    switch (reading) {
      case "handshake":
        return { kind: "handshake", protocol: "mcp" };
      case "authorization_required":
      case "inconclusive":
        return { kind: reading };
      case "something_else":
        return { kind: "no_handshake" };
      case "refused":
        saidNo = true;
        break;
      default:
    }
  }
  if (!(await answersAtAll(endpoint))) return { kind: "unreachable" };
  if (protocols.length === 0) return { kind: "no_protocol_probe" };
  return { kind: saidNo ? "no_handshake" : "probe_unanswered" };
}

/** Whether the path has a status that counts: no server error, and no redirect, since none is followed. */
async function answersAtAll(endpoint: ProbedEndpoint): Promise<boolean> {
  const first = await endpoint.status("HEAD");
  const status = first === 405 ? await endpoint.status("GET") : first;
  return status !== null && status < 500 && !(status >= 300 && status < 400);
}

async function paymentClaim(card: CardReading, endpoint: ProbedEndpoint): Promise<PaymentClaim> {
  if (!claimsPayment(card)) return "no_claim";
  return (await endpoint.rootStatus()) === 402 ? "holds" : "not_shown";
}

function knownAgent(card: CardReading, registry: GuildRegistry): RegistryEntry | null {
  const did = card.kind === "card" ? declaredDid(card.members) : null;
  return did === null ? null : (registry.get(did) ?? null);
}
