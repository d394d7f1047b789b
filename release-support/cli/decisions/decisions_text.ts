import type { Paint } from "../../terminal/terminal.ts";
import { clipped, shown, wrap } from "../../terminal/text.ts";
import { checkTable, verdictLines } from "../evidence_text.ts";
import type { DecisionLine, DecisionsDocument } from "../output_schemas.ts";
import { REASON_ADVICE, REASON_WORDS } from "../reason_words.ts";

/** Every decision in a few lines, the newest last, and how many there are. */
export function listText({ file, decisions }: DecisionsDocument, paint: Paint): string {
  const denied = decisions.filter(({ decision }) => decision === "deny").length;
  const count =
    decisions.length === 0
      ? wrap(`Nothing was decided yet that ${shown(file)} tells of.`)
      : [`${decisions.length} decisions, ${denied} of them denials. --why ID explains one.`];
  return [...decisions.map((one) => decisionText(one, paint)), ...count].join("\n");
}

/** One decision: when, what, which call, and why. */
export function decisionText(one: DecisionLine, paint: Paint): string {
  const { decided_at: time, decision, id, reason } = one;
  const ended = decision === "deny" ? paint("bad", "denied") : paint("good", "not denied");
  return [
    `${time}  ${paint("dim", id)}  ${ended}`,
    ...wrap(callName(one), { first: "  " }),
    ...wrap(`${reason}: ${REASON_WORDS[reason]}`, { first: "  ", rest: "    " }),
  ].join("\n");
}

/** Everything that the log has about one decision, and what to do about it. */
export function whyText(one: DecisionLine, paint: Paint): string {
  const { endpoint, took_ms: took, policy, evidence, configuration, reason } = one;
  return [
    decisionText(one, paint),
    `  The gate took ${Math.round(took)} ms.`,
    ...(endpoint === null ? [] : wrap(shown(endpoint), { first: "  endpoint ", rest: "    " })),
    ...(configuration === null ? [] : configurationLines(configuration)),
    ...(policy === null ? [] : policyLines(policy)),
    ...(evidence === null
      ? ["  The Guild was not asked: nothing was disclosed."]
      : [
          ...verdictLines(evidence, paint, "  "),
          ...wrap(shown(evidence.guild_origin), { first: "  asked " }),
          ...checkTable(evidence, policy, paint, "  "),
        ]),
    ...wrap(REASON_ADVICE[reason], { first: "  What to do: ", rest: "    " }),
  ].join("\n");
}

/** What is wrong with the log itself. */
export function noticeText({ lost, unreadable }: DecisionsDocument): string {
  return [
    ...(lost === 0 ? [] : [`${lost} decisions could not be written: the log has a gap.`]),
    ...(unreadable === 0 ? [] : [`${unreadable} lines could not be read: they are none of a decision log.`]),
  ].join("\n");
}

function callName({ server, tool, project, profile }: DecisionLine): string {
  const whose = [
    ...(project === null ? [] : [`project ${clipped(project, 30)}`]),
    ...(profile === null ? [] : [`profile ${clipped(profile, 30)}`]),
  ];
  const name = `${shown(server)}.${shown(tool)}`;
  return whose.length === 0 ? name : `${name} (${whose.join(", ")})`;
}

function configurationLines({ where, errors, more }: NonNullable<DecisionLine["configuration"]>): string[] {
  return [
    ...wrap(shown(where), { first: "  " }),
    ...errors.flatMap(({ path, expected }) =>
      wrap(`${path === "" ? "(the whole file)" : shown(path)}: expected ${shown(expected)}`, {
        first: "  ! ",
      }),
    ),
    ...(more === 0 ? [] : [`  ! and ${more} more`]),
  ];
}

function policyLines(policy: NonNullable<DecisionLine["policy"]>): string[] {
  const settings = [
    `required_proven ${policy.required_proven.join(", ") || "none"}`,
    `tolerate_unknown_required ${policy.tolerate_unknown_required}`,
    `on_caution ${policy.on_caution}`,
    `on_unavailable ${policy.on_unavailable}`,
  ];
  return wrap(settings.join("; "), { first: "  policy ", rest: "    " });
}
