// The guarded agent, offline: a scripted model, a real MCP server on loopback behind TLS, and a synthetic Guild.
// Nothing leaves this machine. Exits with 1 unless the tool was invoked exactly once.
import { createTestAuthority } from "../../fixtures/test_certificates.ts";
import { startMcpServer } from "../../fixtures/mcp_server.ts";
import { endpointDown, healthy } from "../../guild/preflight_bodies.ts";
import { startScriptedGuild } from "../../guild/scripted_guild.ts";
import { PreflightPolicy, PublicMcpEndpoint, ScriptedPromptExecutor } from "../../guarded-agent/index.ts";
import type { ModelTurn, PreflightObservation, Prompt } from "../../guarded-agent/index.ts";
import { createOnLoopback } from "../../guarded-agent/loopback.ts";

const host = "mcp.example.com";
const authority = createTestAuthority();
const tls = authority.issue({ names: [host] });
const server = await startMcpServer({ transport: "streamable_http", tls });
const guild = await startScriptedGuild();
const url = `https://${host}:${new URL(server.url).port}/mcp`;

/** The model asks for the same search twice; in between, the synthetic evidence turns bad. */
const promptExecutor = new ScriptedPromptExecutor([
  () => {
    guild.answer(url, { kind: "json", body: healthy(url) });
    return searchFor("passports");
  },
  () => {
    guild.answer(url, { kind: "json", body: endpointDown(url) });
    return searchFor("passports, again");
  },
  (prompt) => ({ kind: "answer", text: `I made two calls; they ended: ${endsOf(prompt).join(", ")}.` }),
]);

try {
  console.log("SYNTHETIC: the Guild and its observations are made up, and the network is loopback.");
  const agent = await createOnLoopback(
    {
      guildOrigin: guild.origin,
      resolve: () => ["127.0.0.1"],
      treatAsPublic: ["127.0.0.1"],
      ca: authority.ca,
    },
    {
      promptExecutor,
      config: { maxIterations: 5 },
      endpoints: [PublicMcpEndpoint.of(url, { discloseEndpointToAgentGuild: true })],
      policy: PreflightPolicy.of({
        requiredProven: ["endpoint_reachable", "protocol_handshake"],
        allowedUnknowns: [
          "agent_card_resolves",
          "agent_card_signed",
          "payment_claim_holds",
          "independent_evidence",
        ],
      }),
      onObservation: report,
    },
  );
  try {
    const { answer, trace } = await agent.run("Search for passports.");
    console.log(`answer: ${answer}`);
    for (const { tool, decision, reason } of trace.decisions) {
      console.log(`decision about a call of ${tool}: ${decision} (${reason})`);
    }
  } finally {
    await agent.close();
  }
  console.log(`invocations of the tool: ${server.toolCalls.length}`);
  if (server.toolCalls.length !== 1) process.exitCode = 1;
} finally {
  await server.close();
  await guild.close();
}

function searchFor(text: string): ModelTurn {
  return { kind: "tool_calls", calls: [{ id: "1", name: "search", arguments: { text } }] };
}

function endsOf({ messages }: Prompt): string[] {
  return messages.flatMap((message) => (message.role === "tool" ? [message.end] : []));
}

function report(observation: PreflightObservation): void {
  const finding = observation.kind === "answered" ? observation.verdict : observation.error;
  console.log(`SYNTHETIC observation of ${observation.target}: ${finding}`);
}
