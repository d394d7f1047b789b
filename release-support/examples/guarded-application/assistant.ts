// An application: an assistant that answers questions with the tools of one public MCP server. What a test needs to
// replace comes from outside: the model, the endpoint's URL and, at last, the factory.
import { GuardedMcpAgent, PreflightPolicy, PublicMcpEndpoint } from "../../guarded-agent/index.ts";
import type { Message, PromptExecutor } from "../../guarded-agent/index.ts";

/** What the assistant asks of the server that it depends on. */
const policy = PreflightPolicy.of({
  requiredProven: ["endpoint_reachable", "protocol_handshake"],
  allowedUnknowns: [
    "agent_card_resolves",
    "agent_card_signed",
    "payment_claim_holds",
    "independent_evidence",
  ],
});

interface AssistantOptions {
  readonly model: PromptExecutor;
  readonly url: string;
  /** Tests give another one. */
  readonly create?: typeof GuardedMcpAgent.create;
}

export class Assistant {
  /** What was decided about every call so far, for the operator: never for the model. */
  readonly audit: readonly string[];
  readonly #agent: GuardedMcpAgent;
  #messages: readonly Message[] = [];

  private constructor(agent: GuardedMcpAgent, audit: readonly string[]) {
    this.#agent = agent;
    this.audit = audit;
  }

  static async open({ model, url, create = GuardedMcpAgent.create }: AssistantOptions): Promise<Assistant> {
    const audit: string[] = [];
    const agent = await create({
      promptExecutor: model,
      config: { maxIterations: 5, systemPrompt: "Answer with the help of the tools." },
      endpoints: [PublicMcpEndpoint.of(url, { discloseEndpointToAgentGuild: true, tools: ["search"] })],
      policy,
      onDecision: ({ tool, decision, reason }) => void audit.push(`${tool}: ${decision} (${reason})`),
    });
    return new Assistant(agent, audit);
  }

  /** Answers a question; it remembers the earlier ones. */
  async ask(question: string): Promise<string> {
    const { answer, trace } = await this.#agent.run(question, { history: this.#messages });
    this.#messages = trace.messages;
    return answer;
  }

  async close(): Promise<void> {
    await this.#agent.close();
  }
}
