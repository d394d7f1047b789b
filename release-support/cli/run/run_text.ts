import { checkTable, verdictLines } from "../evidence_text.ts";
import type { CallDocument, RunDocument } from "../output_schemas.ts";
import { REASON_WORDS } from "../reason_words.ts";
import type { Paint, Tone } from "../../terminal/terminal.ts";
import { clipped, shown, wrap } from "../../terminal/text.ts";

type Turn = RunDocument["turns"][number];

/** What became of each turn and call of a run, for people. */
export function runText(document: RunDocument, paint: Paint): string {
  const lines = document.turns.flatMap((turn) => [...turnLines(turn, paint), ""]);
  const problems = document.mcp_problems.flatMap(({ name, problem }) =>
    wrap(problem, { first: `  ${clipped(name, 30)}: `, rest: "    " }),
  );
  return [
    ...lines,
    ...(document.problem === null ? [] : [...wrap(shown(document.problem), { first: "! " }), ""]),
    ...(problems.length === 0 ? [] : ["MCP servers that cannot be used", ...problems, ""]),
    summary(document),
  ].join("\n");
}

function summary({ turns, ok }: RunDocument): string {
  const calls = turns.flatMap((turn) => turn.calls);
  const count = (outcome: CallDocument["outcome"]) => calls.filter((call) => call.outcome === outcome).length;
  const counts = [
    `${calls.length} calls: ${count("ran")} ran`,
    `${count("denied")} denied`,
    ...rest(count("no_such_tool"), "without such a tool"),
    ...rest(count("failed"), "failed"),
    ...rest(count("not_dispatched"), "not dispatched"),
  ];
  return `${counts.join(", ")}. ${ok ? "Nothing is wrong." : "Something is wrong."}`;
}

function rest(count: number, words: string): string[] {
  return count === 0 ? [] : [`${count} ${words}`];
}

const TURN_WORDS: Readonly<Record<Turn["kind"], string>> = {
  calls: "",
  answer: "is the answer and ends the run.",
  refused: "is no usable tool request, or the same as the one before.",
  not_reached: "was not reached.",
};

function turnLines({ turn, path, kind, calls }: Turn, paint: Paint): string[] {
  const head = paint("bold", `Turn ${turn}`);
  if (kind !== "calls" && calls.length === 0) return [`${head} (${path}) ${TURN_WORDS[kind]}`];
  const end = TURN_WORDS[kind];
  return [
    `${head} (${path})${end === "" ? "" : ` ${end}`}`,
    ...calls.flatMap((call) => callLines(call, paint)),
  ];
}

const OUTCOME_TONES: Readonly<Record<CallDocument["outcome"], Tone>> = {
  ran: "good",
  denied: "bad",
  no_such_tool: "bad",
  failed: "bad",
  not_dispatched: "dim",
};

function callLines(call: CallDocument, paint: Paint): string[] {
  const { tool, by_worker: byWorker, outcome, reason, endpoint, evidence, policy, ms, details } = call;
  const ended = paint(OUTCOME_TONES[outcome], outcome.replaceAll("_", " "));
  const code = reason === null ? "" : ` (${reason})`;
  const time = ms === null ? "" : `, ${Math.round(ms)} ms`;
  const lines = [
    ...wrap(`${byWorker ? "worker: " : ""}${clipped(tool, 60)}`, { first: "  " }),
    `    ${ended}${code}${time}`,
    ...wrap(`${whyOf(call)}.`, { first: "    " }),
    ...details.flatMap((detail) => wrap(detail, { first: "    - " })),
    ...(endpoint === null ? [] : wrap(endpoint, { first: "    endpoint ", rest: "      " })),
  ];
  if (evidence === null) return lines;
  return [...lines, ...verdictLines(evidence, paint, "    "), ...checkTable(evidence, policy, paint, "    ")];
}

function whyOf({ outcome, reason, tool_error: toolError }: CallDocument): string {
  if (toolError) return "the tool ran, and its server calls the result an error";
  if (reason !== null) return REASON_WORDS[reason];
  switch (outcome) {
    case "no_such_tool":
      return "no server that can be used and no local tool has the name";
    case "not_dispatched":
      return "the turn or the run had ended before";
    case "denied":
      return "an extension other than the gate stopped it";
    default:
      return "it did not end with a result";
  }
}
