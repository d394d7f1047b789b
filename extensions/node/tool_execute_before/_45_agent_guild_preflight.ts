import { gate } from "../../../helpers/gate.ts";
import type { GateAgent } from "../../../helpers/host.ts";

/** Hands the tool that is about to run to the gate (SPEC P1). */
export default class AgentGuildPreflight {
  readonly #agent: GateAgent;

  constructor(agent: GateAgent) {
    this.#agent = agent;
  }

  async execute(): Promise<void> {
    await gate(this.#agent);
  }
}
