import { relative } from "node:path";

import { enabledPlugins, listPlugins } from "../../../helpers/config/enabled_plugins.ts";
import type { ContextOptions } from "../agents/agent.ts";
import type { RefusedFile } from "./extension_catalog.ts";
import type { Extensions } from "./extensions.ts";
import { readManifest } from "./plugin_manifests.ts";

/** A plugin as the boot report shows it. */
export interface ReportedPlugin {
  readonly name: string;
  /** Relative to the host root. */
  readonly path: string;
  readonly origin: "user" | "built-in";
  readonly enabled: boolean;
  /** What is wrong with its manifest, or `null`. */
  readonly problem: string | null;
}

/** An extension as the boot report shows it. */
export interface ReportedExtension {
  /** Relative to the host root. */
  readonly path: string;
  readonly scope: string;
  readonly plugin: string | null;
  readonly ms: number;
  /** The files of the same name that it keeps from running, relative to the host root. */
  readonly shadows: readonly string[];
}

/** The extensions of one point in the order in which they run, or why none runs there. */
export type ReportedPoint =
  | { readonly kind: "loaded"; readonly point: string; readonly extensions: readonly ReportedExtension[] }
  | { readonly kind: "broken"; readonly point: string; readonly problem: string };

/** What a host loaded, from where, in which order, in how much time, what it shadowed and what was refused. */
export interface BootReport {
  readonly root: string;
  /** How long opening the host took, in milliseconds. */
  readonly ms: number;
  readonly project: string | null;
  readonly profile: string | null;
  readonly plugins: readonly ReportedPlugin[];
  readonly points: readonly ReportedPoint[];
  /** Extension files that are not in force as they stand on disk. */
  readonly refused: readonly RefusedFile[];
  /** Changed modules that count only after a restart. */
  readonly restartNeeded: readonly string[];
  /** MCP servers that cannot be used. */
  readonly mcpProblems: readonly { readonly name: string; readonly problem: string }[];
  /** What is doubtful about MCP servers that can be used all the same. */
  readonly mcpWarnings: readonly { readonly name: string; readonly warning: string }[];
  /** Why what is on disk now is not in force, or `null`. */
  readonly reloadProblem: string | null;
  /** Why changes may go unseen, or `null`. */
  readonly watchProblem: string | null;
}

/** What the report is about: a host, as far as it matters here. */
export interface ReportedHost {
  readonly root: string;
  readonly extensions: Extensions;
  readonly mcp: {
    /** Why servers that a project's agents can reach cannot be used. */
    problems(project: string | null): BootReport["mcpProblems"];
    /** What is doubtful about them otherwise. */
    warnings(project: string | null): BootReport["mcpWarnings"];
  };
}

/**
 * Makes the boot report of a host for one project and profile.
 *
 * @param host - the host
 * @param selection - whose extensions and servers
 * @param facts - what only the host itself knows
 */
export function makeBootReport(
  host: ReportedHost,
  { project, profile }: ContextOptions,
  facts: Pick<BootReport, "ms" | "watchProblem">,
): BootReport {
  const selection = { project: project ?? null, profile: profile ?? null };
  const { catalog } = host.extensions;
  const { snapshot } = catalog;
  const enabled = new Set(enabledPlugins(host.root, selection, "empty", snapshot).map(({ name }) => name));
  return {
    root: host.root,
    ...facts,
    ...selection,
    plugins: listPlugins(host.root, "empty", snapshot).map(({ name, path, origin }) => {
      const reading = readManifest(path);
      const problem = reading.kind === "broken" ? reading.problem : null;
      return { name, path: relative(host.root, path), origin, enabled: enabled.has(name), problem };
    }),
    points: catalog.points().map((point) => reportPoint(host, point, selection)),
    refused: catalog.refused,
    restartNeeded: catalog.restartNeeded,
    reloadProblem: host.extensions.problem,
    mcpProblems: host.mcp.problems(selection.project),
    mcpWarnings: host.mcp.warnings(selection.project),
  };
}

function reportPoint(
  host: ReportedHost,
  point: string,
  selection: { readonly project: string | null; readonly profile: string | null },
): ReportedPoint {
  const place = (path: string) => relative(host.root, path);
  try {
    const extensions = host.extensions.catalog.setFor(point, selection).map((extension) => ({
      path: place(extension.path),
      scope: extension.scope,
      plugin: extension.plugin,
      ms: extension.ms,
      shadows: extension.shadows.map(place),
    }));
    return { kind: "loaded", point, extensions };
  } catch (error) {
    return { kind: "broken", point, problem: error instanceof Error ? error.message : "it cannot be loaded" };
  }
}

/** Writes a boot report for people. */
export function formatBootReport(report: BootReport): string {
  const { project, profile } = report;
  const whose = `project ${project ?? "(none)"}, profile ${profile ?? "(none)"}`;
  const lines = [`Host root ${report.root}, opened in ${Math.round(report.ms)} ms (${whose})`, "Plugins"];
  for (const { name, path, enabled, problem } of report.plugins) {
    lines.push(`  ${enabled ? "on " : "off"}  ${name}  ${path}${problem === null ? "" : `  ! ${problem}`}`);
  }
  for (const point of report.points) lines.push(...pointLines(point));
  lines.push(
    ...section(
      "Refused",
      report.refused.map(({ path, why }) => `${path}: ${why}`),
    ),
  );
  lines.push(...section("A restart is needed for", report.restartNeeded));
  lines.push(
    ...section(
      "MCP servers that cannot be used",
      report.mcpProblems.map(({ name, problem }) => `${name}: ${problem}`),
    ),
  );
  lines.push(
    ...section(
      "MCP servers to look at",
      report.mcpWarnings.map(({ name, warning }) => `${name}: ${warning}`),
    ),
  );
  lines.push(...section("Not in force as it is on disk", orNone(report.reloadProblem)));
  lines.push(...section("Watching", orNone(report.watchProblem)));
  return lines.join("\n");
}

function pointLines(point: ReportedPoint): string[] {
  const heading = `Extension point ${point.point}`;
  if (point.kind === "broken") return [heading, `  ! ${point.problem}`];
  return [
    heading,
    ...point.extensions.flatMap(({ path, scope, ms, shadows }, index) => [
      `  ${index + 1}. ${path}  (${scope}, ${ms.toFixed(1)} ms)`,
      ...shadows.map((shadowed) => `     shadows ${shadowed}`),
    ]),
  ];
}

function orNone(problem: string | null): string[] {
  return problem === null ? [] : [problem];
}

function section(heading: string, items: readonly string[]): string[] {
  return items.length === 0 ? [] : [heading, ...items.map((item) => `  ${item}`)];
}
