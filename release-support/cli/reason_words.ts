import type { CallReason } from "../host/call_recorder.ts";

/** What each reason means, for the operator: half a sentence. */
export const REASON_WORDS: Readonly<Record<CallReason, string>> = {
  do_not_delegate: "the verdict is do_not_delegate, which no policy overrides",
  evidence_unavailable: "there is no usable evidence about the endpoint",
  required_not_proven: "a check that the policy requires is not proven",
  caution: "the verdict is delegate_with_caution, and the policy does not accept that",
  not_denied: "nothing denies the call, which is no approval",
  configuration_invalid: "the plugin's configuration cannot be used, so no MCP tool runs",
  ineligible_endpoint: "the approved URL may not be disclosed",
  server_not_configured: "no enabled MCP server has the name",
  ambiguous_server: "more than one enabled MCP server has the name",
  local_server: "the server is a process on this machine",
  url_mismatch: "the server is configured with another URL than the approved one",
  tool_not_exposed: "the server does not expose the tool",
  binding_changed: "settings or servers changed while the endpoint was being checked",
  not_protected: "nobody protects the server",
  tool_policy: "the host's own tool policy denied first",
};
