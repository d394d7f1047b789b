import type { PlayedScenario } from "../../demo/scenario.ts";
import { LIMITS } from "../limits.ts";
import type { RecordedCall } from "../../host/call_recorder.ts";
import { evidenceIn, policyIn } from "../evidence_view.ts";
import type { EvidenceDocument, PolicyDocument } from "../output_schemas.ts";
import { REASON_WORDS } from "../reason_words.ts";
import { clipped } from "../../terminal/text.ts";
import { stagesOf } from "./stages.ts";
import type { Stage } from "./stages.ts";

/** A text that the Guild, a server or a model wrote. */
export interface UntrustedText {
  /** Which text it is, in our words. */
  readonly what: string;
  readonly text: string;
}

/** One request of a picture. */
export interface RequestPicture {
  /** May hold the words of others; clipped. */
  readonly title: string;
  /** What it is about, in a sentence; empty for none. */
  readonly story: string;
  /** The tool's name as it was asked for: untrusted. */
  readonly tool: string;
  readonly path: "native" | "text" | "worker";
  readonly outcome: "ran" | "denied" | "no_such_tool" | "failed" | "not_dispatched";
  /** The reason code, or what stands for one. */
  readonly reason: string;
  readonly why: string;
  /** What in the operator's own files the reason lies in, in lines of our words. */
  readonly details: readonly string[];
  /** Whether the Guild was a scripted one, or none. */
  readonly synthetic: boolean;
  readonly stages: readonly Stage[];
  readonly endpoint: string | null;
  readonly policy: PolicyDocument | null;
  readonly evidence: EvidenceDocument | null;
  readonly untrusted: readonly UntrustedText[];
}

/** All that a page shows. */
export interface RunPicture {
  readonly title: string;
  readonly introduction: string;
  readonly madeAt: Date;
  readonly requests: readonly RequestPicture[];
  /** What an observation is not. */
  readonly limits: readonly string[];
}

/** The picture of the demo. */
export function pictureOfDemo(played: readonly PlayedScenario[]): RunPicture {
  return makePicture(
    "The demo",
    "A host with the gate installed, real MCP servers, and a Guild that really probed them, all on one machine. " +
      "The model's turns and the agent cards are made up. Where a request is marked synthetic, the Guild was made to " +
      "misbehave or was not there.",
    played.flatMap(({ result, call }) =>
      call === null
        ? []
        : [
            {
              ...pictureOfCall(call, result.path),
              title: result.name,
              story: result.story,
              synthetic: result.synthetic,
            },
          ],
    ),
  );
}

/** A picture of requests. */
export function makePicture(
  title: string,
  introduction: string,
  requests: readonly RequestPicture[],
): RunPicture {
  return { title, introduction, madeAt: new Date(), requests, limits: LIMITS };
}

/** One recorded call as a page shows it. */
export function pictureOfCall(call: RecordedCall, path: "native" | "text"): RequestPicture {
  const { ending, record, byWorker, tool } = call;
  const reason = "reason" in ending ? ending.reason : null;
  const observation = record?.observation;
  return {
    title: clipped(tool, MAX_TITLE),
    story: "",
    tool,
    path: byWorker ? "worker" : path,
    outcome: ending.kind,
    reason: reason ?? ending.kind,
    why: reason === null ? OTHER_ENDINGS[ending.kind] : REASON_WORDS[reason],
    details: [],
    synthetic: false,
    stages: stagesOf(call),
    endpoint: record?.endpoint ?? null,
    policy: record === null ? null : policyIn(record.policy),
    evidence: observation === undefined ? null : evidenceIn(observation),
    untrusted: untrustedTexts(call),
  };
}

/** A call that a turn asked for and that was never dispatched, because one before it ended the turn. */
export function pictureOfUndispatched(tool: string): RequestPicture {
  return {
    title: clipped(tool, MAX_TITLE),
    story: "",
    tool,
    path: "native",
    outcome: "not_dispatched",
    reason: "not_dispatched",
    why: "a call before it ended the turn",
    details: [],
    synthetic: false,
    stages: [],
    endpoint: null,
    policy: null,
    evidence: null,
    untrusted: [],
  };
}

/** How long a title may be, in columns. */
const MAX_TITLE = 60;

/** How a call without a reason of its own ended. */
const OTHER_ENDINGS: Readonly<Record<RecordedCall["ending"]["kind"], string>> = {
  ran: "the tool ran",
  denied: "an extension other than the gate stopped it",
  no_such_tool: "no server and no local tool has the name",
  failed: "it did not end with a result",
};

/** What the Guild wrote about the endpoint. */
function untrustedTexts({ record }: RecordedCall): UntrustedText[] {
  const observation = record?.observation;
  if (observation === undefined || observation.error !== null) return [];
  const { checks, method, limits } = observation;
  return [
    { what: "The checks, as the Guild sent them", text: JSON.stringify(checks, null, 2) },
    ...(typeof method === "string" ? [{ what: "How it says that it looked", text: method }] : []),
    ...(typeof limits === "string" ? [{ what: "What it says of its limits", text: limits }] : []),
  ];
}
