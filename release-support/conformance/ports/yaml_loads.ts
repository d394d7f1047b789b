import { parseYaml11, YamlTimestamp } from "../../../helpers/formats/yaml_11.ts";
import type { Port } from "../runner.ts";

export default { run: (input: string) => mark(parseYaml11(input)) } satisfies Port;

/** Writes a value in the vectors' notation for what JSON has no value of. */
function mark(value: unknown, holders: readonly unknown[] = []): unknown {
  if (holders.includes(value)) return { $cyclic: true };
  if (typeof value === "bigint") return { $int: String(value) };
  if (Object.is(value, -0)) return { $float: "-0.0" };
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof YamlTimestamp) return { [`$${value.kind}`]: value.iso };
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString("base64") };
  const inside = [...holders, value];
  if (Array.isArray(value)) return value.map((item) => mark(item, inside));
  if (value instanceof Set) return { $set: [...value].map((item) => mark(item, inside)) };
  if (value instanceof Map) return { $map: [...value].map((pair) => pair.map((part) => mark(part, inside))) };
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, mark(member, inside)]));
}
