import type { RecordedCall } from "../../host/call_recorder.ts";
import { evidenceIn, policyIn } from "../evidence_view.ts";
import type { CallDocument, RunDocument } from "../output_schemas.ts";
import type { RootScope } from "../root_flags.ts";
import type { DenialDetails } from "./denial_details.ts";
import type { PlayedScript } from "./play_script.ts";

/**
 * What a run came to, for programs. Nothing in it was written by a server or the Guild; tool names are the script's.
 *
 * @param scope - where it ran
 * @param script - what became of it
 * @param mcpProblems - the servers that cannot be used, in controlled words
 * @param details - explains a denial
 */
export function runDocumentOf(
  scope: RootScope,
  { turns, problem }: PlayedScript,
  mcpProblems: readonly { readonly name: string; readonly problem: string }[],
  details: DenialDetails,
): RunDocument {
  const documents = turns.map(({ turn, kind, calls, undispatched }, index) => ({
    turn: index + 1,
    path: typeof turn === "string" ? ("text" as const) : ("native" as const),
    kind,
    calls: [
      ...calls.map((call) => callDocument(call, details(call))),
      ...undispatched.map(undispatchedDocument),
    ],
  }));
  return {
    ok: problem === null && documents.every(isFine),
    ...scope,
    turns: documents,
    problem,
    mcp_problems: mcpProblems.map((one) => ({ ...one })),
  };
}

/** Whether nothing went wrong in a turn: every call ran, and a text was a request or the answer. */
function isFine({ kind, calls }: RunDocument["turns"][number]): boolean {
  return kind === "answer" || (kind === "calls" && calls.every(({ outcome }) => outcome === "ran"));
}

function callDocument(
  { tool, byWorker, times, ending, record }: RecordedCall,
  details: string[],
): CallDocument {
  const end = times.answered ?? times.decided;
  const observation = record?.observation;
  return {
    tool,
    by_worker: byWorker,
    outcome: ending.kind,
    reason: "reason" in ending ? ending.reason : null,
    tool_error: ending.kind === "ran" && ending.toolError,
    ms: end === undefined ? null : Math.round((end - times.asked) * 10) / 10,
    endpoint: record?.endpoint ?? null,
    policy: record === null ? null : policyIn(record.policy),
    evidence: observation === undefined ? null : evidenceIn(observation),
    details,
  };
}

function undispatchedDocument(tool: string): CallDocument {
  return {
    tool,
    by_worker: false,
    outcome: "not_dispatched",
    reason: null,
    tool_error: false,
    ms: null,
    endpoint: null,
    policy: null,
    evidence: null,
    details: [],
  };
}
