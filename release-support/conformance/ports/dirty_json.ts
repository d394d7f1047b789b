import { parseDirtyJson } from "../../host/text/dirty_json.ts";
import type { JsonValue } from "../../host/text/dirty_json.ts";
import type { Port } from "../runner.ts";

/** Writes a value in the vectors' notation, which marks the numbers that JSON or a double cannot hold. */
export function mark(value: JsonValue): unknown {
  if (typeof value === "bigint") return { $int: String(value) };
  if (typeof value === "number") return markNumber(value);
  if (Array.isArray(value)) return value.map(mark);
  if (!(value instanceof Map)) return value;
  // Object.fromEntries defines members, so one named __proto__ stays a member.
  return Object.fromEntries([...value].map(([name, member]) => [name, mark(member)]));
}

function markNumber(value: number): unknown {
  if (Object.is(value, -0)) return { $float: "-0.0" };
  if (Number.isNaN(value)) return { $float: "nan" };
  if (Number.isFinite(value)) return value;
  return { $float: value > 0 ? "inf" : "-inf" };
}

export default { run: (input: string) => mark(parseDirtyJson(input)) } satisfies Port;
