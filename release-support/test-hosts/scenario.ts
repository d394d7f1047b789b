import { GATE_BROKE } from "../adapters/ask_gate.ts";
import type { HostWorld } from "./world.ts";

/** What a host is put through. */
export interface Scenario {
  readonly name: string;
  /** Settings of the plugin beside those that protect the server. */
  readonly settings?: (world: HostWorld) => Readonly<Record<string, unknown>>;
  /** Whether the endpoint shuts its door to newcomers, the Guild's probe for one, once the host has started. */
  readonly doorShuts?: boolean;
  /** Whether the gate's own code breaks. */
  readonly broken?: boolean;
  /** Whether the model goes to the server by another way than the host's usual one. */
  readonly secondDoor?: boolean;
  /** Whether the model asks for many calls in one turn. */
  readonly many?: boolean;
  /** What the model must read of each call: the tool's result, or a denial. */
  readonly result: RegExp;
  readonly runs: boolean;
}

const FOUND = /Synthetic result for: x/;
const blocked = (reason: string) =>
  new RegExp(`agent_guild_preflight blocked this tool call \\(${reason}\\)`);
const verdict = { doorShuts: true, runs: false, result: blocked("do_not_delegate") } as const;

/** What every host is put through. */
export const SCENARIOS: readonly Scenario[] = [
  { name: "allowed", runs: true, result: FOUND },
  // Shows that the others see it when a call gets through: here it does.
  {
    name: "not protected",
    ...verdict,
    settings: () => ({ protected_servers: {} }),
    runs: true,
    result: FOUND,
  },
  { name: "denied by verdict", ...verdict },
  {
    name: "Guild down",
    settings: ({ deadOrigin }) => ({ fixture_guild_origin: deadOrigin }),
    runs: false,
    result: blocked("evidence_unavailable"),
  },
  {
    name: "URL differs",
    settings: ({ url }) => ({ protected_servers: { pub_server: `${url}/` } }),
    runs: false,
    result: blocked("url_mismatch"),
  },
  { name: "gate breaks", broken: true, runs: false, result: new RegExp(GATE_BROKE.split("\n")[0] ?? "") },
  { name: "second door, allowed", secondDoor: true, runs: true, result: FOUND },
  { name: "second door, denied", secondDoor: true, ...verdict },
  { name: "parallel, allowed", many: true, runs: true, result: FOUND },
  { name: "parallel, denied", many: true, ...verdict },
];

/** What a run of a host showed. */
export interface Observed {
  /** What the model read of each call. */
  readonly results: readonly string[];
  /** How many calls the model asked for. */
  readonly asked: number;
  /** How many of them reached the MCP server. */
  readonly reached: number;
  /** Whether the host came to the model's last words and ended well. */
  readonly wentOn: boolean;
}

/** What is not as it must be, in words; empty when all is. */
export function judge({ runs, result }: Scenario, { results, asked, reached, wentOn }: Observed): string[] {
  const expected = runs ? asked : 0;
  const odd = results.filter((text) => !result.test(text));
  return [
    ...(reached === expected ? [] : [`${reached} calls reached the server instead of ${expected}`]),
    ...(results.length === asked ? [] : [`the model read ${results.length} results of ${asked} calls`]),
    ...(odd.length === 0 ? [] : [`the model read: ${JSON.stringify(odd[0]?.slice(0, 300))}`]),
    ...(wentOn ? [] : ["the host did not go on to its end"]),
  ];
}
