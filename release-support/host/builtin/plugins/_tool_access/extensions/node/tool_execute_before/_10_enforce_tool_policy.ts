import type { Agent } from "../../../../../../agents/agent.ts";

/** Stops a call that the tool policy of the agent's project and profile blocks (SPEC H8). */
export default class EnforceToolPolicy {
  readonly #agent: Agent;

  constructor(agent: Agent) {
    this.#agent = agent;
  }

  execute(): void {
    const { currentTool } = this.#agent.loopData;
    if (currentTool !== null) this.#agent.host.enforceToolPolicy(this.#agent, currentTool);
  }
}
