import { screenEndpoint } from "./endpoint_screen.ts";
import type { McpConfigurationView } from "../host.ts";
import type { QualifiedToolName } from "./names.ts";

/** Why a tool call is not bound to the approved endpoint: one reason for each rule that can fail (SPEC P5). */
export const BINDING_REASONS = [
  "ineligible_endpoint",
  "server_not_configured",
  "ambiguous_server",
  "local_server",
  "url_mismatch",
  "tool_not_exposed",
] as const;

/** A reason code of {@link BINDING_REASONS}. */
export type BindingReason = (typeof BINDING_REASONS)[number];

/** Whether the server behind a tool name is the approved endpoint. */
export type Binding =
  | { readonly kind: "bound"; readonly url: string }
  | { readonly kind: "unbound"; readonly reason: BindingReason };

/** What the operator approved for the server of a call. */
export interface Approval {
  /** The approved URL. */
  readonly url: string;
  /** Whether it may name a non-public host. */
  readonly allowPrivateHosts: boolean;
}

/**
 * Finds out whether a tool call would reach the approved endpoint and nothing else: a server's name alone proves
 * nothing (SPEC P5). Pure: it reads the view that it is given, opens nothing and sends nothing.
 *
 * @param call - the normalised server name and the tool
 * @param approval - what the operator approved for that server
 * @param configuration - the MCP configuration that executing the call would use
 * @returns the bound URL, or the first rule that does not hold
 */
export function resolveBinding(
  call: QualifiedToolName,
  approval: Approval,
  configuration: McpConfigurationView,
): Binding {
  const screening = screenEndpoint(approval.url, { allowPrivateHosts: approval.allowPrivateHosts });
  if (screening.kind !== "eligible") return unbound("ineligible_endpoint");

  const [server, another] = configuration.servers.filter(({ name }) => name === call.server);
  if (another !== undefined || configuration.collidingNames.has(call.server))
    return unbound("ambiguous_server");
  if (server === undefined) return unbound("server_not_configured");
  if (server.kind !== "remote") return unbound("local_server");
  if (server.url !== approval.url) return unbound("url_mismatch");
  if (!server.exposes(call.tool)) return unbound("tool_not_exposed");
  return { kind: "bound", url: server.url };
}

function unbound(reason: BindingReason): Binding {
  return { kind: "unbound", reason };
}
