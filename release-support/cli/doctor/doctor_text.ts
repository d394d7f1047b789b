import { certaintyLines } from "../check/check_text.ts";
import { checkTable, verdictLines } from "../evidence_text.ts";
import { differenceLines } from "../url_difference.ts";
import type { BindingRule, DoctorDocument } from "../output_schemas.ts";
import { REASON_WORDS } from "../reason_words.ts";
import type { Paint, Tone } from "../../terminal/terminal.ts";
import { padded, shown, wrap } from "../../terminal/text.ts";

/** What was found in a root, for people: the verdict and what to do come first (SPEC C10). */
export function doctorText(document: DoctorDocument, paint: Paint, verbose: boolean): string {
  const { root, project, profile, plugin, verdict, findings } = document;
  const title = (text: string) => ["", paint("bold", text)];
  const isInForce = plugin.path !== null && plugin.enabled;
  const tone: Tone =
    verdict.kind === "protected" ? "good" : verdict.kind === "nothing_protected" ? "warn" : "bad";
  return [
    ...wrap(verdict.words).map((line) => paint(tone, line)),
    ...(findings.length === 0 ? [] : [...title("What to do"), ...findingLines(document, paint)]),
    "",
    ...wrap(shown(root), { first: "Root " }),
    ...wrap(`project ${shown(project ?? "(none)")}, profile ${shown(profile ?? "(none)")}`, {
      first: "For ",
    }),
    ...releaseLines(document),
    ...title("Configuration"),
    ...settingLines(document, paint),
    ...(verbose ? placeLines(document, paint) : []),
    ...title(isInForce ? "Protected servers" : "Servers that the plugin would protect"),
    ...serverLines(document, paint),
    ...title("MCP servers"),
    ...mcpLines(document, paint),
    ...title("Before a tool runs, in order"),
    ...extensionLines(document, paint),
    ...title("Self-test"),
    ...selfTestLines(document, paint),
  ].join("\n");
}

function releaseLines({ plugin, release }: DoctorDocument): string[] {
  if (plugin.path === null) return [];
  const what = {
    as_released: `release ${shown(release.version ?? "")}, whole`,
    differs: `not as release ${shown(release.version ?? "")} made it`,
    clone: "a clone of the repository",
    unmarked: "of an unknown release",
    missing: "not there",
  }[release.state];
  return wrap(`${shown(plugin.path)}, ${what}`, { first: "Plugin in " });
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

function settingLines({ configuration, plugin }: DoctorDocument, paint: Paint): string[] {
  const { valid, errors, file, policy, settings } = configuration;
  const from = wrap(shown(file ?? "(no file)"), { first: "  from " });
  if (!valid) {
    const end =
      plugin.path !== null && plugin.enabled
        ? "It cannot be used, so no MCP tool runs:"
        : "It cannot be used:";
    return [
      ...from,
      `  ${paint("bad", end)}`,
      ...errors.flatMap(({ path, expected }) =>
        wrap(`${path === "" ? "(the whole file)" : path}: expected ${expected}`, {
          first: "    ",
          rest: "      ",
        }),
      ),
    ];
  }
  return [...from, ...(policy === null || settings === null ? [] : policyLines(policy, settings))];
}

function policyLines(
  policy: NonNullable<DoctorDocument["configuration"]["policy"]>,
  settings: NonNullable<DoctorDocument["configuration"]["settings"]>,
): string[] {
  const { required_proven: required, tolerate_unknown_required: tolerates } = policy;
  const indent = { first: "  ", rest: "    " };
  return [
    ...wrap(`must be proven: ${required.length === 0 ? "nothing" : required.join(", ")}`, indent),
    ...(tolerates ? wrap("what must be proven may be unknown", indent) : []),
    ...wrap(`on caution ${policy.on_caution}, without usable evidence ${policy.on_unavailable}`, indent),
    ...wrap(
      `waits ${settings.timeout_seconds} s for the Guild, reuses an answer for ${settings.cache_ttl_seconds} s`,
      indent,
    ),
    ...(settings.allow_private_hosts ? wrap("approved URLs may name hosts that are not public", indent) : []),
    ...(settings.decision_log === null
      ? []
      : wrap(`logs decisions to ${shown(settings.decision_log)}`, indent)),
  ];
}

function serverLines({ servers, configuration }: DoctorDocument, paint: Paint): string[] {
  if (servers.length === 0) return ["  none"];
  return servers.flatMap(({ name, endpoint, rules, certainties, live, ineligible, mismatch }) => [
    ...wrap(shown(name), { first: "  " }),
    ...wrap(endpoint ?? `(a URL that may not be disclosed: ${ineligible?.words ?? "unknown"})`, {
      first: "    ",
    }),
    ...(mismatch === null ? [] : differenceLines(mismatch, "    ")),
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

function ruleLines({ outcome, words, reason }: BindingRule, paint: Paint): string[] {
  const [word, tone] = RULE_OUTCOMES[outcome];
  const mark = paint(tone, padded(word, 5));
  const more = outcome === "fails" ? ` (${reason})` : "";
  const note = outcome === "not_known_offline" ? ": shows only when the server is asked" : "";
  return wrap(`${words}${note}${more}`, { first: " ".repeat(11) }).map((line, index) =>
    index === 0 ? `    ${mark}  ${line.trimStart()}` : line,
  );
}

function liveLines(
  live: DoctorDocument["servers"][number]["live"],
  policy: DoctorDocument["configuration"]["policy"],
  paint: Paint,
): string[] {
  if (live === null) return [];
  const { decision, reason, evidence, tools } = live;
  const end = decision === "allow" ? paint("good", "would not be denied") : paint("bad", "would be denied");
  return [
    ...verdictLines(evidence, paint, "    "),
    ...checkTable(evidence, policy, paint, "    "),
    `    A call ${end} (${reason}).`,
    ...wrap(`${REASON_WORDS[reason]}.`, { first: "    " }),
    ...wrap(tools.problem ?? `${tools.count} ${tools.count === 1 ? "tool" : "tools"}`, {
      first: "    The server itself: ",
    }),
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
  return findings.flatMap(({ level, words, code, remedy }) => [
    ...wrap(`${words} [${code}]`, { first: `  ${level}: `, rest: "    " }).map((line) =>
      paint(level === "problem" ? "bad" : "warn", line),
    ),
    ...wrap(remedy, { first: "    > ", rest: "      " }),
  ]);
}
