import { readPreflightAnswer } from "../../helpers/preflight/preflight_contract.ts";
import { readStrictJson } from "../../helpers/formats/strict_json.ts";
import { readStrictAnswer } from "../guarded-agent/strict_contract.ts";
import { healthy } from "../guild/preflight_bodies.ts";

/** Something that reads what others wrote. */
export interface HostileReader {
  /** How many bytes of a hostile text it is given. */
  readonly bytes: number;
  /** @param hostile - a JSON text; it is given to the reader where that hurts most */
  readonly read: (hostile: string) => unknown;
}

const MIB = 1_048_576;
const TARGET = "https://pub.example.com/mcp";
const HEALTHY = JSON.stringify(healthy(TARGET));

/** Who reads hostile texts, by name. What is read is held until the next reading, as its reader would hold it. */
export const HOSTILE_READERS: Readonly<Record<string, HostileReader>> = {
  "strict JSON": { bytes: MIB, read: (hostile) => readStrictJson(Buffer.from(hostile)) },
  "preflight, in its limits": {
    bytes: MIB - 2048,
    read: (hostile) => readPreflightAnswer(Buffer.from(inLimits(hostile)), TARGET),
  },
  "preflight, in a check": {
    bytes: MIB - 2048,
    read: (hostile) => readPreflightAnswer(Buffer.from(inCheck(hostile)), TARGET),
  },
  "preflight, as its verdict": {
    bytes: MIB - 2048,
    read: (hostile) => readPreflightAnswer(Buffer.from(inVerdict(hostile)), TARGET),
  },
  "preflight of the guarded agent": {
    bytes: 65_536 - 2048,
    read: (hostile) => readStrictAnswer(Buffer.from(inLimits(hostile)), TARGET),
  },
};

function inLimits(hostile: string): string {
  return HEALTHY.replace(/"limits":"[^"]*"/, () => `"limits":${hostile}`);
}

function inCheck(hostile: string): string {
  return HEALTHY.replace('"status":', () => `"extra":${hostile},"status":`);
}

function inVerdict(hostile: string): string {
  return HEALTHY.replace(/"verdict":"[^"]*"/, () => `"verdict":${hostile}`);
}
