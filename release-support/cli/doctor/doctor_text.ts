import { certaintyLines } from "../check/check_text.ts";
import { checkTable, verdictLines } from "../evidence_text.ts";
import type { BindingRule, DoctorDocument } from "../output_schemas.ts";
import { REASON_WORDS } from "../reason_words.ts";
import type { Paint, Tone } from "../../terminal/terminal.ts";
import { padded, shown, wrap } from "../../terminal/text.ts";

/** What was found in a root, for people. */
export function doctorText(document: DoctorDocument, paint: Paint): string {
  const { root, project, profile } = document;
  const title = (text: string) => ["", paint("bold", text)];
  return [
    ...wrap(shown(root), { first: "Root " }),
    ...wrap(`project ${shown(project ?? "(none)")}, profile ${shown(profile ?? "(none)")}`, {
      first: "For ",
    }),
    ...title("Configuration: the first file that exists decides"),
    ...placeLines(document, paint),
    ...settingLines(document, paint),
    ...title("Protected servers"),
    ...serverLines(document, paint),
    ...title("MCP servers"),
    ...mcpLines(document, paint),
    ...title("Before a tool runs, in order"),
    ...extensionLines(document, paint),
    ...title("Self-test"),
    ...selfTestLines(document, paint),
    ...title("Findings"),
    ...findingLines(document, paint),
  ].join("\n");
}

function placeLines({ configuration }: DoctorDocument, paint: Paint): string[] {
  return configuration.places.flatMap(({ scope, path, outcome, why }, index) => {
    const number = padded(String(index + 1), 2, "left");
    const decides = outcome === "chosen" || outcome === "unreadable";
    const first = `${decides ? ">" : " "} ${number}. ${padded(scope, 16)}`;
    const lines = wrap(`${outcome}: ${why}`, { first: `${first} `, rest: " ".repeat(8) });
    const pathLines = path === null ? [] : wrap(shown(path), { first: " ".repeat(8) });
    return [...lines, ...pathLines].map((line) => (decides ? line : paint("dim", line)));
  });
}

function settingLines({ configuration, servers }: DoctorDocument, paint: Paint): string[] {
  const { valid, errors } = configuration;
  if (!valid) {
    return [
      `  ${paint("bad", "It cannot be used, so no MCP tool runs:")}`,
      ...errors.flatMap(({ path, expected }) =>
        wrap(`${path === "" ? "(the whole file)" : path}: expected ${expected}`, {
          first: "    ",
          rest: "      ",
        }),
      ),
    ];
  }
  const count = servers.length;
  return [
    `  ${paint("good", "It is valid.")} It protects ${count === 0 ? "no server: nothing is gated" : `${count} of the servers`}.`,
  ];
}

function serverLines({ servers, configuration }: DoctorDocument, paint: Paint): string[] {
  if (servers.length === 0) return ["  none"];
  return servers.flatMap(({ name, endpoint, rules, certainties, live }) => [
    ...wrap(shown(name), { first: "  " }),
    ...wrap(endpoint ?? "(a URL that may not be disclosed)", { first: "    " }),
    ...rules.flatMap((rule) => ruleLines(rule, paint)),
    ...certaintyLines(certainties, "    "),
    ...liveLines(live, configuration.policy, paint),
  ]);
}

const RULE_OUTCOMES: Readonly<Record<BindingRule["outcome"], readonly [words: string, tone: Tone]>> = {
  holds: ["holds", "good"],
  fails: ["fails", "bad"],
  not_known_offline: ["open", "warn"],
  not_reached: ["-", "dim"],
};

function ruleLines({ rule, outcome, words, reason }: BindingRule, paint: Paint): string[] {
  const [word, tone] = RULE_OUTCOMES[outcome];
  const mark = paint(tone, padded(word, 5));
  const more = outcome === "fails" ? ` (${reason})` : "";
  const note = outcome === "not_known_offline" ? ": shows only when the server is asked" : "";
  return wrap(`${words}${note}${more}`, { first: "                 ", rest: "                 " }).map(
    (line, index) => (index === 0 ? `    ${mark}  ${rule}  ${line.trimStart()}` : line),
  );
}

function liveLines(
  live: DoctorDocument["servers"][number]["live"],
  policy: DoctorDocument["configuration"]["policy"],
  paint: Paint,
): string[] {
  if (live === null) return [];
  const { decision, reason, evidence } = live;
  const end = decision === "allow" ? paint("good", "would not be denied") : paint("bad", "would be denied");
  return [
    ...verdictLines(evidence, paint, "    "),
    ...checkTable(evidence, policy, paint, "    "),
    `    A call ${end} (${reason}).`,
    ...wrap(`${REASON_WORDS[reason]}.`, { first: "    " }),
  ];
}

function mcpLines({ mcp }: DoctorDocument, paint: Paint): string[] {
  const whole = mcp.problem === null ? [] : wrap(mcp.problem, { first: "  ! " });
  if (mcp.entries.length === 0) return [...whole, "  none"];
  const entries = mcp.entries.flatMap(({ name, kind, protected: isProtected, problem }) => {
    const gated = kind === "remote" ? (isProtected ? ", protected" : ", not protected") : "";
    const lines = wrap(`${shown(name)}: ${kind}${gated}`, { first: "  ", rest: "    " });
    const why = problem === null ? [] : wrap(problem, { first: "    ! " });
    return [...lines, ...why.map((line) => paint("warn", line))];
  });
  return [...whole, ...entries];
}

function extensionLines({ extensions, plugin }: DoctorDocument, paint: Paint): string[] {
  if (extensions.problem !== null) return wrap(extensions.problem, { first: "  ! " });
  if (extensions.in_order.length === 0) return ["  nothing"];
  const state = plugin.path !== null && !plugin.enabled ? ["  The plugin is switched off."] : [];
  const lines = extensions.in_order.flatMap(
    ({ path, scope, plugin: of, shadows, is_gate: isGate }, index) => [
      ...wrap(shown(path), { first: `  ${index + 1}. `, rest: "     " }),
      ...wrap(`${scope}${of === null ? "" : ` ${shown(of)}`}${isGate ? ", in the gate's place" : ""}`, {
        first: "     from ",
      }).map((line) => paint("dim", line)),
      ...shadows.flatMap((one) => wrap(shown(one), { first: "     shadows ", rest: "       " })),
    ],
  );
  return [...lines, ...state];
}

function selfTestLines({ self_test: { passed, words } }: DoctorDocument, paint: Paint): string[] {
  const mark = passed ? paint("good", "passed") : paint("bad", "failed");
  return wrap(words, { first: "          " }).map((line, index) =>
    index === 0 ? `  ${mark}: ${line.trimStart()}` : line,
  );
}

function findingLines({ findings }: DoctorDocument, paint: Paint): string[] {
  const count = (level: string) => findings.filter((finding) => finding.level === level).length;
  const lines = findings.flatMap(({ level, words, code }) => {
    const tone = level === "problem" ? "bad" : "warn";
    return wrap(`${words} [${code}]`, { first: `  ${level}: `, rest: "    " }).map((line) =>
      paint(tone, line),
    );
  });
  const summary = `${count("problem")} problems, ${count("warning")} warnings.`;
  return [...lines, ...(lines.length === 0 ? [] : [""]), `  ${summary}`];
}
