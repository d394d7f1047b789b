/**
 * The guarded agent: applies the caller's endpoint policy immediately before each call of a tool on an MCP connection
 * that it owns. This file is the public API; nothing else of this folder is.
 */
export { GuardedMcpAgent } from "./agent.ts";
export type { EndpointState, RunOptions, RunResult } from "./agent.ts";
export type { CallDecision, DenialReason } from "./call_decision.ts";
export type { RunTrace } from "./run_trace.ts";
export type { GuardedAgentConfig, GuardedMcpAgentOptions } from "./options.ts";
export { PublicMcpEndpoint } from "./public_endpoint.ts";
export type { DisclosureConsent, EndpointOptions } from "./public_endpoint.ts";
export { PreflightPolicy } from "./policy.ts";
export type { AllowableVerdict, PolicyDecision, PolicyDenial, PreflightPolicyFields } from "./policy.ts";
export type { PreflightObservation } from "./observation.ts";
export { GuardedAgentError, traceOf } from "./errors.ts";
export type { GuardedAgentErrorCode } from "./errors.ts";
export type { GuardedPreflightError } from "./preflight_errors.ts";
export { PINNED_CONTRACT } from "./pinned_contract.ts";
export { ScriptedPromptExecutor } from "./prompt_executor.ts";
export type {
  ContentItem,
  JsonObject,
  JsonValue,
  Message,
  ModelTurn,
  Prompt,
  PromptExecutor,
  ScriptedTurn,
  ToolCall,
  ToolCallEnd,
  ToolDescription,
} from "./prompt_executor.ts";
export type { OfferedTool } from "./tool_registry.ts";
export type {
  CheckName,
  CheckStatus,
  Statuses,
  Verdict,
} from "../../helpers/preflight/preflight_contract.ts";
