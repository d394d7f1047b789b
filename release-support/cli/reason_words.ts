import type { Reason } from "../../helpers/decision/decision.ts";
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

/** What an operator can do about each reason of the gate. */
export const REASON_ADVICE: Readonly<Record<Reason, string>> = {
  do_not_delegate:
    "ask the endpoint's operator; no setting lets the call through while the server is protected.",
  evidence_unavailable:
    "see why there is no evidence; a cold service may need a longer timeout_seconds. policy.on_unavailable decides what such calls come to.",
  required_not_proven:
    "see which required check is not proven; ask the endpoint's operator, or require other checks in policy.required_proven.",
  caution: "see which checks are not proven, and decide whether policy.on_caution fits.",
  not_denied: "nothing.",
  configuration_invalid: "mend the settings that are named; the configuration is read afresh for every call.",
  ineligible_endpoint: "approve a URL that is public, plain http or https, and in its normal form.",
  server_not_configured: "add the server to the host's MCP settings, or take it out of protected_servers.",
  ambiguous_server: "rename or disable one of the servers that have the name.",
  local_server: "rename the local server, or take the name out of protected_servers.",
  url_mismatch: "make the server's URL and the approved one identical to the byte; doctor shows both.",
  tool_not_exposed: "see whether the server still offers the tool, and whether it is disabled there.",
  binding_changed: "call again once nothing changes any more.",
};
