import { missingProof } from "../../../helpers/decision/policy.ts";
import type { Policy } from "../../../helpers/settings/settings.ts";
import type { EndpointProblem } from "../../../helpers/binding/endpoint_screen.ts";
import { INELIGIBLE_WORDS } from "../ineligible_words.ts";
import { checkTable, verdictLines } from "../evidence_text.ts";
import { LIMITS } from "../limits.ts";
import type { Certainty, CheckDocument } from "../output_schemas.ts";
import { REASON_WORDS } from "../reason_words.ts";
import type { Paint } from "../../terminal/terminal.ts";
import { shown, wrap } from "../../terminal/text.ts";

/** What is disclosed and to whom; to be read before it happens (SPEC C3). */
export function disclosureText(url: string, origin: string, timeoutSeconds: number): string {
  return [
    "This is disclosed, and nothing else:",
    ...wrap(url, { first: "  " }),
    ...wrap(`to ${origin}, which records the request and probes the endpoint, by requests of its own.`),
    `The answer may take ${timeoutSeconds} s.`,
  ].join("\n");
}

/** What is certain before the Guild is asked. */
export function certaintyLines(certainties: readonly Certainty[], indent = ""): string[] {
  return certainties.flatMap(({ means, denies }) => {
    const end = denies === null ? "" : ` Every call is denied (${denies}).`;
    return wrap(`${means}${end}`, { first: `${indent}! `, rest: `${indent}  ` });
  });
}

/** What a check came to, for people; what was said beforehand is not repeated. */
export function checkText(document: CheckDocument, paint: Paint): string {
  const { decision, reason, evidence, policy, approved_for: approvedFor } = document;
  const end = decision === "allow" ? paint("good", "would not be denied") : paint("bad", "would be denied");
  const why =
    reason === "evidence_unavailable" && decision === "allow"
      ? "there is no usable evidence, and the policy goes on without"
      : REASON_WORDS[reason];
  return [
    ...(evidence === null
      ? []
      : ["", ...verdictLines(evidence, paint), ...checkTable(evidence, policy, paint)]),
    "",
    `A call ${end} (${reason}).`,
    ...wrap(`${sentence(why)}${missing(document)}`),
    ...undisclosedLines(document),
    ...errorLines(document),
    ...approvalLines(approvedFor),
    "",
    "What an observation is not:",
    ...LIMITS.flatMap((limit) => wrap(limit, { first: "  - " })),
  ].join("\n");
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

function missing({ reason, evidence, policy }: CheckDocument): string {
  if (reason !== "required_not_proven" || evidence?.statuses == null || policy === null) return "";
  const { statuses } = evidence;
  const wanted: Policy = {
    requiredProven: policy.required_proven,
    tolerateUnknownRequired: policy.tolerate_unknown_required,
    onCaution: policy.on_caution,
    onUnavailable: policy.on_unavailable,
  };
  const names = missingProof(wanted, statuses).map((check) => `${check} (${statuses[check]})`);
  return ` Not proven: ${names.join(", ")}.`;
}

function undisclosedLines({ disclosed, ineligible }: CheckDocument): string[] {
  if (disclosed !== null) return [];
  if (ineligible === null) return ["Nothing was disclosed."];
  const { problem } = ineligible;
  return wrap(
    `Nothing was disclosed. The URL is refused: ${INELIGIBLE_WORDS[problem as EndpointProblem]} (${problem}).`,
  );
}

function errorLines({ setting_errors: errors }: CheckDocument): string[] {
  return errors.flatMap(({ path, expected }) =>
    wrap(`${path === "" ? "(the whole file)" : path}: expected ${expected}`, { first: "  ", rest: "    " }),
  );
}

function approvalLines(approvedFor: CheckDocument["approved_for"]): string[] {
  if (approvedFor === null) return [];
  if (approvedFor.length === 0)
    return wrap("The root's configuration approves this URL for no server: nothing there is gated by it.");
  return wrap(`The root's configuration approves it for: ${approvedFor.map(shown).join(", ")}.`);
}
