/**
 * The plugin's own pieces, for hosts that embed the gate and for tools around it (SPEC D3).
 *
 * @packageDocumentation
 */
export { isPublicAddress } from "./address_classes.ts";
export { currentSettings, PLUGIN_NAME, settingsIn } from "./current_settings.ts";
export type { CurrentSettings } from "./current_settings.ts";
export { REASONS } from "./decision.ts";
export type { Decision, Reason } from "./decision.ts";
export { configurationDenialText, denialText, redactEndpoint } from "./denial.ts";
export { isPublicHost, screenEndpoint } from "./endpoint_screen.ts";
export type { EndpointProblem, EndpointScreening } from "./endpoint_screen.ts";
export { DECISIONS_KEY, LAST_OBSERVATION_KEY, MAX_RECORDS } from "./evidence.ts";
export type { DecisionRecord, ObservationRecord, PolicyRecord } from "./evidence.ts";
export { gate } from "./gate.ts";
export { GUILD_ORIGIN, GuildPreflight } from "./guild_preflight.ts";
export type { Observation, PreflightError, PreflightOutcome, PreflightQuestion } from "./guild_preflight.ts";
export type {
  GateAgent,
  GateHost,
  GateLogItem,
  LocalMcpServerView,
  McpConfigurationView,
  McpServerView,
  RemoteMcpServerView,
} from "./host.ts";
export { resolveBinding } from "./mcp_binding.ts";
export type { Approval, Binding, BindingReason } from "./mcp_binding.ts";
export { normalizeServerName, splitToolName } from "./names.ts";
export type { QualifiedToolName } from "./names.ts";
export { decide } from "./policy.ts";
export type { Evidence, PolicyDecision, PolicyReason } from "./policy.ts";
export { CHECKS, readPreflightAnswer, STATUSES, VERDICTS, verdictOf } from "./preflight_contract.ts";
export type {
  CheckName,
  CheckStatus,
  ContractReading,
  PreflightAnswer,
  Statuses,
  Verdict,
} from "./preflight_contract.ts";
export { explainScopedConfig, findConfigFile, readScopedConfig } from "./scoped_config.ts";
export type {
  ConfigExplanation,
  ConfigOptions,
  ConfigScope,
  ConfigScopeName,
  ExplainedPlace,
  FoundConfig,
  ScopedConfig,
} from "./scoped_config.ts";
export { DEFAULT_SETTINGS } from "./settings.ts";
export type { Policy, SettingError, Settings, SettingsReading } from "./settings.ts";
export { readStrictJson } from "./strict_json.ts";
export type { JsonProblem, JsonValue, StrictJson } from "./strict_json.ts";
