import { readFile } from "node:fs/promises";

import { readStrictJson } from "../../helpers/formats/strict_json.ts";
import { isDid } from "./agent_card.ts";
import { asObject } from "./remote_json.ts";

/** What the local Guild knows of an agent. */
export interface RegistryEntry {
  /** The service's own id of the agent; not empty. */
  readonly agent_id: string;
  /** How many attestations it has; a whole number from 0. */
  readonly attestations_received: number;
}

/** The registry as its file holds it: agents by DID. */
export type RegistryFile = Readonly<Record<string, RegistryEntry>>;

/** The registry as it is asked. */
export type GuildRegistry = ReadonlyMap<string, RegistryEntry>;

/**
 * Reads the registry, on which independent evidence rests (SPEC S2). Later changes of the file or the object have no effect.
 *
 * @param source - the path of a strict JSON file, or what such a file would hold; left out, nobody is known
 * @throws TypeError when the file cannot be read, or it or the object is no registry; no content is repeated
 */
export async function readRegistry(source: string | RegistryFile = {}): Promise<GuildRegistry> {
  const members = asObject(typeof source === "string" ? await readJsonFile(source) : source);
  if (members === null) throw new TypeError("registry: expected an object of agents by DID");
  const entries = [...members].map(
    ([did, value], index) => [didOf(did, index), entryOf(value, index)] as const,
  );
  return new Map(entries);
}

async function readJsonFile(path: string): Promise<unknown> {
  const bytes = await readFile(path).catch(() => null);
  if (bytes === null) throw new TypeError("registry: the file cannot be read; give the path of a JSON file");
  const json = readStrictJson(bytes);
  if (json.kind === "value") return json.value;
  throw new TypeError(`registry: the file is not strict JSON (${json.problem})`);
}

function didOf(did: string, index: number): string {
  if (isDid(did)) return did;
  throw new TypeError(`registry: the name of entry ${index + 1} is not a DID`);
}

function entryOf(value: unknown, index: number): RegistryEntry {
  const members = asObject(value);
  const agentId = members?.get("agent_id");
  const attestations = members?.get("attestations_received");
  if (
    members?.size !== 2 ||
    typeof agentId !== "string" ||
    agentId === "" ||
    typeof attestations !== "number" ||
    !Number.isSafeInteger(attestations) ||
    attestations < 0
  ) {
    throw new TypeError(
      `registry: entry ${index + 1} must have agent_id, a text, and attestations_received, a whole number from 0`,
    );
  }
  return { agent_id: agentId, attestations_received: attestations };
}
