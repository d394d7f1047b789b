/**
 * The plugin's own pieces, for hosts that embed the gate and for tools around it (SPEC D3).
 *
 * @packageDocumentation
 */
export { isPublicAddress } from "./binding/address_classes.ts";
export { configurationIn, currentSettings, PLUGIN_NAME, settingsIn } from "./settings/current_settings.ts";
export type { ConfigurationFiles, CurrentSettings } from "./settings/current_settings.ts";
export { REASONS } from "./decision/decision.ts";
export type { Decision, Reason } from "./decision/decision.ts";
export { DECISION_CHANNEL } from "./decision/decision_channel.ts";
export { EVENT_VERSION } from "./decision/decision_event.ts";
export type { DecisionEvent, EvidenceSummary, UnusableConfiguration } from "./decision/decision_event.ts";
export { configurationDenialText, denialText, redactEndpoint } from "./decision/denial.ts";
export { isPublicHost, screenEndpoint } from "./binding/endpoint_screen.ts";
export type { EndpointProblem, EndpointScreening } from "./binding/endpoint_screen.ts";
export { DECISIONS_KEY, LAST_OBSERVATION_KEY, MAX_RECORDS } from "./decision/evidence.ts";
export type { DecisionRecord, ObservationRecord, PolicyRecord } from "./decision/evidence.ts";
export { gate } from "./gate.ts";
export { GUILD_ORIGIN, GuildPreflight } from "./preflight/guild_preflight.ts";
export type {
  Observation,
  PreflightError,
  PreflightOutcome,
  PreflightQuestion,
} from "./preflight/guild_preflight.ts";
export type {
  GateAgent,
  GateHost,
  GateLogItem,
  KeptConfiguration,
  LocalMcpServerView,
  McpConfigurationView,
  McpServerView,
  RemoteMcpServerView,
} from "./host.ts";
export { resolveBinding } from "./binding/mcp_binding.ts";
export type { Approval, Binding, BindingReason } from "./binding/mcp_binding.ts";
export { normalizeServerName, splitToolName } from "./binding/names.ts";
export type { QualifiedToolName } from "./binding/names.ts";
export { decide } from "./decision/policy.ts";
export type { Evidence, PolicyDecision, PolicyReason } from "./decision/policy.ts";
export {
  CHECKS,
  readPreflightAnswer,
  STATUSES,
  VERDICTS,
  verdictOf,
} from "./preflight/preflight_contract.ts";
export type {
  CheckName,
  CheckStatus,
  ContractReading,
  PreflightAnswer,
  Statuses,
  Verdict,
} from "./preflight/preflight_contract.ts";
export { explainScopedConfig, findConfigFile, readScopedConfig } from "./config/scoped_config.ts";
export type {
  ConfigExplanation,
  ConfigOptions,
  ConfigScope,
  ConfigScopeName,
  ExplainedPlace,
  FoundConfig,
  ScopedConfig,
} from "./config/scoped_config.ts";
export { DEFAULT_SETTINGS } from "./settings/settings.ts";
export type { Policy, SettingError, Settings, SettingsReading } from "./settings/settings.ts";
export { readStrictJson } from "./formats/strict_json.ts";
export type { JsonProblem, JsonValue, StrictJson } from "./formats/strict_json.ts";
