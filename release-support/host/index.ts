/**
 * The plugin host as a library: what a plugin author needs to test a plugin natively (SPEC H10).
 *
 * @packageDocumentation
 */
export { Agent, AgentContext } from "./agents/agent.ts";
export type { AgentConfig, AgentHost, ContextOptions, LoopData, SubordinateModel } from "./agents/agent.ts";
export { formatBootReport } from "./extensions/boot_report.ts";
export type {
  BootReport,
  ReportedExtension,
  ReportedPlugin,
  ReportedPoint,
} from "./extensions/boot_report.ts";
export { dispatch } from "./agents/dispatch.ts";
export {
  exceptionKind,
  HandledException,
  InterventionException,
  RepairableException,
} from "./agents/exceptions.ts";
export { ExtensionLoadError } from "./extensions/extension_catalog.ts";
export type { ExtensionSet, LoadedExtension, RefusedFile } from "./extensions/extension_catalog.ts";
export type { Extension, ExtensionClass } from "./extensions/extension_modules.ts";
export type { Reload } from "./extensions/extensions.ts";
export { History } from "./agents/history.ts";
export type { HistoryMessage, HistoryRole } from "./agents/history.ts";
export { Host } from "./host.ts";
export type { HostOptions } from "./host.ts";
export { Log } from "./agents/log.ts";
export type { LogItem, LogType } from "./agents/log.ts";
export { monologue } from "./agents/monologue.ts";
export type { ModelTurn, ToolRequest } from "./agents/model_turns.ts";
export type { MonologueResult } from "./agents/monologue.ts";
export type {
  LocalTool,
  LocalToolCall,
  LocalToolRun,
  LocalTools,
  SteppedLocalTool,
} from "./agents/local_tools.ts";
export type { Tool, ToolArgs, ToolId, ToolResponse } from "./agents/tool.ts";
