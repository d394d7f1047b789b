import type { Scenario } from "./scenario.ts";
import type { ModelProtocol, ScriptedCall } from "./scripted_model.ts";
import type { HostWorld } from "./world.ts";

/** A host that can be put through the scenarios. */
export interface HostDriver {
  /** As `npm run test:hosts` takes it. */
  readonly name: string;
  /** What is installed for it, with exact versions: the host itself first. */
  readonly packages: Readonly<Record<string, string>>;
  /** How the host speaks to its model; `null` for one that has none. */
  readonly model: ModelProtocol | null;
  /** How many calls are many, in one turn. */
  readonly many: number;
  /** Scenarios that cannot be tried in this host, and why. */
  readonly notTestable?: Readonly<Record<string, string>>;
  /** The call of the tool `search`, by the usual way or by another one. */
  call(secondDoor: boolean): ScriptedCall;
  /** Prepares the folders of the host, starts it, and waits for its end. */
  run(job: HostJob): Promise<HostRun>;
}

/** One run of a host. */
export interface HostJob {
  readonly scenario: Scenario;
  readonly world: HostWorld;
  readonly settings: Readonly<Record<string, unknown>>;
  /** Where the host's packages are installed. */
  readonly installed: string;
  /** The folder of this package, or of a copy whose gate breaks. */
  readonly plugin: string;
  /** The model's origin; empty for a host without a model. */
  readonly modelOrigin: string;
  /** What the model asks for. */
  readonly calls: readonly ScriptedCall[];
}

/** How a host ended. */
export interface HostRun {
  readonly exitCode: number | null;
  readonly output: string;
  /** What the model read, in a host that has no model endpoint to see it. */
  readonly results?: readonly string[];
}
