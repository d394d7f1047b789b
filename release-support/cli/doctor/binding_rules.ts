import type { McpConfigurationView, McpServerView } from "../../../helpers/host.ts";
import { resolveBinding } from "../../../helpers/binding/mcp_binding.ts";
import type { BindingReason } from "../../../helpers/binding/mcp_binding.ts";
import type { McpServer } from "../../host/mcp/configuration.ts";
import type { McpConfiguration } from "../../host/mcp/current_configuration.ts";
import type { BindingRule } from "../output_schemas.ts";

const RULES: Readonly<Record<BindingReason, { readonly rule: BindingRule["rule"]; readonly words: string }>> =
  {
    ineligible_endpoint: { rule: "P5.5", words: "the approved URL may be disclosed" },
    server_not_configured: { rule: "P5.1", words: "an enabled MCP server has the name" },
    ambiguous_server: { rule: "P5.1", words: "no two enabled MCP servers share the name" },
    local_server: { rule: "P5.2", words: "the server is remote" },
    url_mismatch: { rule: "P5.3", words: "its URL is the approved one, byte for byte" },
    tool_not_exposed: { rule: "P5.4", words: "it exposes the tool that is called" },
  };

/** In the order in which the gate tries them. Whether a name is ambiguous is asked before whether it is there at all. */
const ORDER = [
  "ineligible_endpoint",
  "ambiguous_server",
  "server_not_configured",
  "local_server",
  "url_mismatch",
  "tool_not_exposed",
] as const satisfies readonly BindingReason[];

/**
 * Tells which binding rules hold for a protected server, as far as that can be known without asking anybody: which tools
 * a server exposes is not (SPEC P5, C4). The gate's own resolution decides.
 *
 * @param name - the normalised name
 * @param approval - what the operator approved for it
 * @param configuration - the MCP configuration of the scope
 * @returns every rule in the order in which the gate tries them
 */
export function bindingRules(
  name: string,
  approval: { readonly url: string; readonly allowPrivateHosts: boolean },
  configuration: McpConfiguration,
): BindingRule[] {
  const binding = resolveBinding({ server: name, tool: "any" }, approval, viewOf(configuration));
  const failing = binding.kind === "bound" ? "tool_not_exposed" : binding.reason;
  const at = ORDER.indexOf(failing);
  return ORDER.map((reason, index) => {
    const { rule, words } = RULES[reason];
    return { rule, reason, words, outcome: outcomeAt(index - at, binding.kind === "bound") };
  });
}

function outcomeAt(distance: number, allHold: boolean): BindingRule["outcome"] {
  if (distance < 0) return "holds";
  if (distance > 0) return "not_reached";
  return allHold ? "not_known_offline" : "fails";
}

function viewOf({ servers, collidingNames }: McpConfiguration): McpConfigurationView {
  return { servers: servers.map(serverView), collidingNames };
}

function serverView(server: McpServer): McpServerView {
  const { name } = server;
  if (server.kind !== "remote") return { kind: "local", name };
  return { kind: "remote", name, url: server.url, exposes: () => true };
}
