/**
 * The plugin host as a library: what a plugin author needs to test a plugin natively (SPEC H10).
 *
 * @packageDocumentation
 */
export { Agent } from "./agent.ts";
export type { AgentConfig, LoopData } from "./agent.ts";
export { AgentContext } from "./agent_context.ts";
export type { ContextOptions } from "./agent_context.ts";
export { formatBootReport } from "./boot_report.ts";
export type { BootReport, ReportedExtension, ReportedPlugin, ReportedPoint } from "./boot_report.ts";
export { dispatch } from "./dispatch.ts";
export type { ToolRequest } from "./dispatch.ts";
export { exceptionKind, HandledException, InterventionException, RepairableException } from "./exceptions.ts";
export { ExtensionLoadError } from "./extension_catalog.ts";
export type { ExtensionSet, LoadedExtension, RefusedFile } from "./extension_catalog.ts";
export type { Extension, ExtensionClass } from "./extension_modules.ts";
export type { Reload } from "./extensions.ts";
export { History } from "./history.ts";
export type { HistoryMessage, HistoryRole } from "./history.ts";
export { Host } from "./host.ts";
export type { HostOptions, SubordinateModel } from "./host.ts";
export { Log } from "./log.ts";
export type { LogItem, LogType } from "./log.ts";
export { monologue } from "./monologue.ts";
export type { ModelTurn, MonologueResult } from "./monologue.ts";
export type { ToolId } from "./tool_policy.ts";
export type {
  LocalTool,
  LocalToolCall,
  LocalToolRun,
  SteppedLocalTool,
  Tool,
  ToolArgs,
  ToolResponse,
} from "./tools.ts";
