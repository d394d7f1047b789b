import type { DoctorDocument, Finding } from "../output_schemas.ts";

type Examined = Omit<DoctorDocument, "ok" | "verdict" | "findings">;

/** Findings after which nothing is gated, or nothing runs, whatever else holds. */
const DECISIVE: Readonly<Record<string, string>> = {
  root_level: "Nothing can be said: this is no host root.",
  plugin_missing: "Nothing is gated: the plugin is not installed.",
  plugin_off: "Nothing is gated: the plugin is switched off.",
  extensions_broken: "No tool runs: an extension cannot be loaded.",
  self_test_failed: "The gate does not work: it failed its self-test.",
  configuration_invalid: "No MCP tool runs: the configuration cannot be used.",
};

const NOT_GATED: ReadonlySet<string> = new Set([
  "root_level",
  "plugin_missing",
  "plugin_off",
  "self_test_failed",
]);

/**
 * Puts what was found into one sentence, which never says more than was looked at (SPEC C10).
 *
 * @param document - what was examined
 * @param findings - what is wrong with it, the worst first
 */
export function verdictOn(document: Examined, findings: readonly Finding[]): DoctorDocument["verdict"] {
  const problems = findings.filter(({ level }) => level === "problem");
  const decisive = Object.keys(DECISIVE).find((code) => problems.some((one) => one.code === code));
  if (decisive !== undefined) {
    return { kind: NOT_GATED.has(decisive) ? "not_gated" : "problems", words: DECISIVE[decisive] ?? "" };
  }
  const { servers, mcp } = document;
  const remote = mcp.entries.filter(({ kind }) => kind === "remote");
  const guarded = remote.filter((entry) => entry.protected).length;
  const of = `${guarded} of ${remote.length} remote MCP ${remote.length === 1 ? "server" : "servers"}`;
  if (problems.length > 0) {
    return { kind: "problems", words: `${of} protected, with ${counted(problems.length, "problem")}.` };
  }
  if (servers.length === 0)
    return { kind: "nothing_protected", words: "Nothing is gated: no server is protected." };
  const asked = servers.some(({ live }) => live !== null)
    ? "The Guild and the servers were asked."
    : "Neither the Guild nor a server was asked: --live does.";
  return { kind: "protected", words: `${of} protected, and no problem found. ${asked}` };
}

function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
