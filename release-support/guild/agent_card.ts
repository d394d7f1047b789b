import { asObject, parseJson } from "./remote_json.ts";
import type { JsonObject } from "./remote_json.ts";
import type { ProbeAnswer } from "./probe_request.ts";

/** Where an origin has its A2A agent card. */
export const CARD_PATH = "/.well-known/agent-card.json";

/** The longest name of a card that is passed on, in characters. */
const MAX_NAME_CHARACTERS = 200;

/**
 * What a request for the agent card found. `capped` is an object that is longer than what was read; `absent` is 404;
 * `no_card` is any other complete answer; `unanswered` is none, one that was cut off, or a redirect.
 */
export type CardReading =
  | { readonly kind: "card"; readonly members: JsonObject; readonly text: string }
  | { readonly kind: "capped"; readonly text: string }
  | { readonly kind: "absent" }
  | { readonly kind: "no_card" }
  | { readonly kind: "unanswered" };

/**
 * Reads the answer to a request for the agent card (SPEC S2).
 *
 * A 2xx answer beyond the read cap is a card only if it begins like a JSON object: a page that a site serves on every
 * path is none.
 */
export function readCardAnswer(answer: ProbeAnswer): CardReading {
  if (answer.kind === "no_answer") return { kind: "unanswered" };
  const { status, body, ending } = answer;
  if (status >= 300 && status < 400) return { kind: "unanswered" };
  if (status === 404) return { kind: "absent" };
  if (status >= 300) return { kind: "no_card" };
  const text = new TextDecoder().decode(body);
  switch (ending) {
    case "capped":
      return /^[ \t\n\r]*\{/.test(text) ? { kind: "capped", text } : { kind: "no_card" };
    case "complete": {
      const members = asObject(parseJson(body));
      return members === null ? { kind: "no_card" } : { kind: "card", members, text };
    }
    default:
      return { kind: "unanswered" };
  }
}

/** Whether a card is an A2A handshake: it has `skills` or `protocolVersion`, or, if cut off, names one of them. */
export function isHandshakeCard(card: CardReading): boolean {
  switch (card.kind) {
    case "card":
      return card.members.has("skills") || card.members.has("protocolVersion");
    case "capped":
      return /"(?:skills|protocolVersion)"/.test(card.text);
    default:
      return false;
  }
}

/** Whether a card carries a signature or proof. Presence only: nothing is verified. */
export function isSigned(members: JsonObject): boolean {
  const signatures = members.get("signatures");
  const proof = asObject(members.get("proof"));
  return (Array.isArray(signatures) && signatures.length > 0) || (proof !== null && proof.size > 0);
}

/** Whether a whole card speaks of payment anywhere in its text. */
export function claimsPayment(card: CardReading): boolean {
  // 402 covers x402 too.
  return card.kind === "card" && /payment|paid|price|usdc|402/i.test(card.text);
}

/** The name that a card gives its agent, shortened; `null` without one. Remote text. */
export function declaredName(members: JsonObject): string | null {
  const name = members.get("name");
  if (typeof name !== "string" || name.trim() === "") return null;
  return Array.from(name).slice(0, MAX_NAME_CHARACTERS).join("");
}

/** The DID that a card claims in `did`, else in `id`; `null` without one. Remote text, and nothing proves the claim. */
export function declaredDid(members: JsonObject): string | null {
  const claims = [members.get("did"), members.get("id")];
  return claims.find((claim): claim is string => typeof claim === "string" && isDid(claim)) ?? null;
}

/** Whether a text has the form of a decentralised identifier (W3C DID Core, section 3.1). */
export function isDid(text: string): boolean {
  return /^did:[a-z0-9]+:(?:[A-Za-z0-9._:-]|%[0-9A-Fa-f]{2})*(?:[A-Za-z0-9._-]|%[0-9A-Fa-f]{2})$/.test(text);
}
