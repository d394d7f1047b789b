import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { relative } from "node:path";

import { overrideDefaults } from "./environment.ts";
import type { Environment, FloatTest } from "./environment.ts";
import { checkScope, configPlaces } from "./places.ts";
import type { ConfigScope, ConfigScopeName, Place } from "./places.ts";
import type { PluginFolder } from "./enabled_plugins.ts";
import { disk, errorCode } from "./file_view.ts";
import { readStrictJson } from "../formats/strict_json.ts";
import type { JsonProblem } from "../formats/strict_json.ts";

export type { ConfigScope, ConfigScopeName } from "./places.ts";

/** What the loader may take from its host instead of finding it out. */
export interface ConfigOptions {
  /** For the overrides of defaults; `process.env` unless given. */
  readonly environment?: Environment;
  /** The plugins that are on globally, in name order; read from the root unless given. */
  readonly enabledPlugins?: readonly PluginFolder[];
}

/** The one file that counts; `unreadable` says in controlled words why it cannot be read. */
export type FoundConfig =
  | {
      readonly kind: "scoped" | "default";
      /** Absolute. */
      readonly path: string;
      readonly scopeName: ConfigScopeName;
      readonly bytes: Uint8Array;
    }
  | {
      readonly kind: "unreadable";
      readonly path: string;
      readonly scopeName: ConfigScopeName;
      readonly problem: string;
    };

/** A plugin's configuration as it was read, its settings not yet checked. */
export type ScopedConfig =
  | { readonly kind: "none" }
  | {
      readonly kind: "value";
      /** Absolute. */
      readonly path: string;
      readonly source: "scoped" | "default";
      readonly scopeName: ConfigScopeName;
      readonly value: unknown;
    }
  | {
      readonly kind: "unusable";
      readonly path: string;
      readonly scopeName: ConfigScopeName;
      /** What is wrong with the file, in controlled words: nothing of its content. */
      readonly problem: string;
    };

/** A file interpreted: {@link ScopedConfig} where there is one. */
export type InterpretedConfig = Exclude<ScopedConfig, { readonly kind: "none" }>;

/** One place of the search and what came of it, for people. */
export interface ExplainedPlace {
  readonly scopeName: ConfigScopeName;
  /** Relative to the root; `null` when the place does not exist for this scope. */
  readonly path: string | null;
  /**
   * `chosen` decides, `unreadable` decides too but cannot be used, `not reached` exists behind the deciding file,
   * `absent` does not exist, `not considered` is no place to look at for this scope.
   */
  readonly outcome: "chosen" | "unreadable" | "not reached" | "absent" | "not considered";
  /** Why, in a few words. */
  readonly why: string;
}

/** Why a file decides, or why none does. */
export interface ConfigExplanation {
  /** Every place in search order. */
  readonly places: readonly ExplainedPlace[];
  /** What {@link findConfigFile} gives at the same moment. */
  readonly found: FoundConfig | null;
}

/**
 * Finds the one file that configures a plugin: the first `config.json` that exists from the project's profile to the
 * built-in plugin folder, else `default_config.yaml` in the plugin's own folder (SPEC P2.1, P2.2). Whatever exists
 * decides, a folder and a file that cannot be read included; only ENOENT and ENOTDIR mean that nothing exists.
 *
 * @param scope - whose configuration; names are literal
 * @param options - see {@link ConfigOptions}
 * @returns the file and its bytes, why it cannot be read, or `null` when there is none
 * @throws TypeError when the root is no text or a name is no usable name (SPEC P2.4)
 */
export function findConfigFile(scope: ConfigScope, options: ConfigOptions = {}): FoundConfig | null {
  return firstConfigFile(configPlaces(checkScope(scope), options.enabledPlugins));
}

/**
 * Finds the file that decides among places of a host's own, as {@link findConfigFile} does among the framework's.
 *
 * @param places - where to look, in this order; not looked at past the one that decides
 */
export function firstConfigFile(places: Iterable<Place>): FoundConfig | null {
  for (const place of places) {
    const found = visit(place);
    if (found !== null) return found;
  }
  return null;
}

/**
 * Reads a plugin's configuration afresh: the file that {@link findConfigFile} finds, by strict JSON or YAML 1.1, the
 * default with its `A0_SET_<plugin>__<key>` overrides (SPEC P2; vectors `config_scope`). Nothing is merged, and the
 * search never goes past a file that cannot be used.
 *
 * @param scope - whose configuration; names are literal
 * @param options - see {@link ConfigOptions}
 * @returns the value, `none` when there is no file, or why the deciding file cannot be used
 * @throws TypeError as {@link findConfigFile} does
 */
export async function readScopedConfig(
  scope: ConfigScope,
  options: ConfigOptions = {},
): Promise<ScopedConfig> {
  const found = findConfigFile(scope, options);
  return found === null ? { kind: "none" } : interpretConfig(found, scope.plugin, options);
}

/**
 * Interprets a file that {@link findConfigFile} found.
 *
 * @param found - the file
 * @param plugin - the plugin's name, for its overrides
 * @param options - see {@link ConfigOptions}; only the environment counts here
 * @returns the value, or why the file cannot be used
 */
export async function interpretConfig(
  found: FoundConfig,
  plugin: string,
  options: ConfigOptions = {},
): Promise<InterpretedConfig> {
  const reading = await interpret(found, plugin, options.environment ?? process.env);
  const { path, scopeName } = found;
  if (reading.kind === "unusable") return { kind: "unusable", path, scopeName, problem: reading.problem };
  return { kind: "value", path, source: reading.source, scopeName, value: reading.value };
}

/**
 * Explains a search: every place in order and what came of it, those behind the deciding file included (SPEC P2.4).
 *
 * @param scope - whose configuration; names are literal
 * @param options - see {@link ConfigOptions}
 * @throws TypeError as {@link findConfigFile} does
 */
export function explainScopedConfig(scope: ConfigScope, options: ConfigOptions = {}): ConfigExplanation {
  const checked = checkScope(scope);
  const explained: ExplainedPlace[] = [];
  let found: FoundConfig | null = null;
  for (const place of configPlaces(checked, options.enabledPlugins)) {
    const here: FoundConfig | null = found === null ? visit(place) : null;
    const path = place.path === null ? null : relative(checked.root, place.path);
    explained.push({ scopeName: place.scopeName, path, ...outcome(place, here, found !== null) });
    found ??= here;
  }
  return { places: explained, found };
}

function visit(place: Place): FoundConfig | null {
  switch (place.kind) {
    case "file":
      return open(place.path, place.scopeName, place.source);
    case "nothing":
      return null;
    case "barred":
    default:
      return unreadable(place.path, place.scopeName, place.problem);
  }
}

function open(path: string, scopeName: ConfigScopeName, source: "scoped" | "default"): FoundConfig | null {
  const seen = disk.sight(path);
  if (seen.kind === "absent") return null;
  if (seen.kind === "unknown") return unreadable(path, scopeName, cannotRead(seen.code));
  if (seen.isFolder) return unreadable(path, scopeName, "it is a folder");
  // Opening a pipe would wait for a writer.
  if (!seen.isFile) return unreadable(path, scopeName, "it is not a regular file");
  try {
    return { kind: source, path, scopeName, bytes: readFileSync(path) };
  } catch (error) {
    return unreadable(path, scopeName, cannotRead(errorCode(error)));
  }
}

function unreadable(path: string, scopeName: ConfigScopeName, problem: string): FoundConfig {
  return { kind: "unreadable", path, scopeName, problem };
}

function cannotRead(code: string): string {
  return `it cannot be read (${code})`;
}

function outcome(
  place: Place,
  here: FoundConfig | null,
  decided: boolean,
): Pick<ExplainedPlace, "outcome" | "why"> {
  if (place.kind === "nothing") return { outcome: "not considered", why: place.why };
  if (here?.kind === "unreadable") return { outcome: "unreadable", why: here.problem };
  if (here !== null) return { outcome: "chosen", why: "the first that exists decides" };
  if (decided && disk.sight(place.path).kind !== "absent") {
    return { outcome: "not reached", why: "a place before it decides" };
  }
  return { outcome: "absent", why: "it does not exist" };
}

type Interpretation =
  | { readonly kind: "value"; readonly source: "scoped" | "default"; readonly value: unknown }
  | { readonly kind: "unusable"; readonly problem: string };

async function interpret(
  found: FoundConfig,
  plugin: string,
  environment: Environment,
): Promise<Interpretation> {
  switch (found.kind) {
    case "scoped":
      return readJson(found.bytes);
    case "default":
      return readDefaults(found.bytes, plugin, environment);
    case "unreadable":
    default:
      return { kind: "unusable", problem: found.problem };
  }
}

const JSON_PROBLEMS: Readonly<Record<JsonProblem, string>> = {
  syntax: "it is not valid JSON",
  utf8: "it is not valid UTF-8",
  duplicate_member: "it names a member twice",
  constant: "it holds NaN, an infinity or a number too large",
  depth: "it is nested too deep",
  values: "it holds too many values",
};

/** As deep as a default file may nest. */
export const MAX_JSON_DEPTH = 200;

function readJson(bytes: Uint8Array): Interpretation {
  const reading = readStrictJson(bytes, { maxDepth: MAX_JSON_DEPTH });
  if (reading.kind === "value") return { kind: "value", source: "scoped", value: reading.value };
  return { kind: "unusable", problem: jsonProblem(bytes, reading.problem) };
}

function jsonProblem(bytes: Uint8Array, problem: JsonProblem): string {
  if (bytes.every((byte) => byte <= 0x20)) return "it is empty";
  const marked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return marked ? "it begins with a byte order mark, which JSON does not have" : JSON_PROBLEMS[problem];
}

async function readDefaults(
  bytes: Uint8Array,
  plugin: string,
  environment: Environment,
): Promise<Interpretation> {
  if (!isUtf8(bytes)) return { kind: "unusable", problem: "it is not valid UTF-8" };
  const text = Buffer.from(bytes).toString("utf8");
  const { parseYaml11, YamlError } = await import("../formats/yaml_11.ts");
  let defaults: unknown;
  try {
    defaults = parseYaml11(text);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    return { kind: "unusable", problem: error.message };
  }
  const overridden = overrideDefaults(plugin, defaults, environment, await floatTest(text));
  return overridden.kind === "value" ? { ...overridden, source: "default" } : overridden;
}

/** The value of a number does not tell `1` from `1.0`, on which the framework's conversion depends: its text does. */
async function floatTest(text: string): Promise<FloatTest> {
  const [{ isScalar, parseDocument }, { plainScalarType }] = await Promise.all([
    import("yaml"),
    import("../formats/yaml_11_scalars.ts"),
  ]);
  return (path) => {
    const node = parseDocument(text, { version: "1.1", schema: "failsafe" }).getIn(path, true);
    return isScalar(node) && node.type === "PLAIN" && plainScalarType(node.source ?? "") === "float";
  };
}
