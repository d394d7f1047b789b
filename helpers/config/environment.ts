import { strip } from "../formats/python_text.ts";
import { readStrictJson } from "../formats/strict_json.ts";

/** Environment variables by name, as `process.env` holds them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What became of a plugin's defaults. `problem` says in controlled words why they cannot be used. */
export type OverriddenDefaults =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "unusable"; readonly problem: string };

/** Tells whether the default file writes the number at a path as a floating point number, `1.0` for example. */
export type FloatTest = (path: readonly string[]) => boolean;

const PREFIX = "A0_SET_";
const TRUE_WORDS = new Set(["true", "1", "yes", "on"]);
const INTEGER = /^[+-]?\d+(?:_\d+)*$/;
const FLOAT = /^[+-]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+(?:_\d+)*)?$/i;
const NOT_FINITE = /^[+-]?(?:inf|infinity|nan)$/i;
/** Python refuses to read longer integers. */
const MAX_INTEGER_DIGITS = 4300;

/**
 * Tells whether the environment may override defaults of a plugin at all, without reading any default.
 *
 * @param plugin - the plugin's name
 * @param environment - the environment
 * @returns whether a variable is named like an override of this plugin, its default known or not
 */
export function hasOverrides(plugin: string, environment: Environment): boolean {
  const prefix = `${PREFIX}${plugin}__`;
  const upperPrefix = PREFIX + `${plugin}__`.toUpperCase();
  return Object.keys(environment).some((name) => name.startsWith(prefix) || name.startsWith(upperPrefix));
}

/**
 * Replaces defaults by what `A0_SET_<plugin>__<key>[__<key>...]` says, the part behind `A0_SET_` as it is or, failing
 * that, in upper case. A text becomes what its default is: a boolean, a number, a text, a JSON value where the default
 * is a map, its characters where it is a list. One that cannot become that leaves the default, as recorded (vectors
 * `config_scope`). Departures: repeated members, NaN and infinities are problems (SPEC P2.2).
 *
 * @param plugin - the plugin's name
 * @param defaults - what its default file holds; maps in it are changed in place
 * @param environment - the environment
 * @param isFloat - consulted for whole numbers that the environment overrides
 * @returns the defaults with their overrides, or why a plugin cannot have such defaults
 */
export function overrideDefaults(
  plugin: string,
  defaults: unknown,
  environment: Environment,
  isFloat: FloatTest,
): OverriddenDefaults {
  try {
    new Overrides(plugin, environment, isFloat).apply(defaults, []);
    return { kind: "value", value: defaults };
  } catch (error) {
    if (error instanceof UnusableDefaults) return { kind: "unusable", problem: error.message };
    throw error;
  }
}

class UnusableDefaults extends Error {}

class Overrides {
  readonly #plugin: string;
  readonly #environment: Environment;
  readonly #isFloat: FloatTest;
  /** The maps around the current one, to notice one that holds itself. */
  readonly #around = new Set<object>();

  constructor(plugin: string, environment: Environment, isFloat: FloatTest) {
    this.#plugin = plugin;
    this.#environment = environment;
    this.#isFloat = isFloat;
  }

  apply(map: unknown, path: readonly string[]): void {
    if (map instanceof Map) throw new UnusableDefaults("a key is not a text");
    if (!isTextMap(map)) throw new UnusableDefaults("it is not a map of settings");
    if (this.#around.has(map)) throw new UnusableDefaults("a value holds itself");
    this.#around.add(map);
    for (const [key, child] of Object.entries(map)) {
      const childPath = [...path, key];
      const value = this.#override(child, childPath);
      // Not an assignment: `__proto__` must stay a key like any other.
      Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
      if (isMap(value)) this.apply(value, childPath);
    }
    this.#around.delete(map);
  }

  #override(value: unknown, path: readonly string[]): unknown {
    const name = [this.#plugin, ...path].join("__");
    const text = this.#environment[PREFIX + name] ?? this.#environment[PREFIX + name.toUpperCase()];
    return text === undefined ? value : this.#convert(strip(text), value, path);
  }

  #convert(text: string, value: unknown, path: readonly string[]): unknown {
    if (typeof value === "boolean") return TRUE_WORDS.has(text.toLowerCase());
    if (typeof value === "string") return text;
    if (typeof value === "number" || typeof value === "bigint") return this.#toNumber(text, value, path);
    if (Array.isArray(value)) return Array.from(text);
    if (value instanceof Set) return new Set(text);
    // Nulls, dates and binary data cannot be made from a text: they stay.
    return isMap(value) ? toJson(text, value) : value;
  }

  #toNumber(text: string, value: number | bigint, path: readonly string[]): number | bigint {
    if (typeof value === "bigint") return toInteger(text, value);
    return !Number.isInteger(value) || this.#isFloat(path) ? toFloat(text, value) : toInteger(text, value);
  }
}

function toInteger(text: string, value: number | bigint): number | bigint {
  if (!INTEGER.test(text) || text.length > MAX_INTEGER_DIGITS) return value;
  const size = BigInt(text.replaceAll(/[+_-]/g, ""));
  const integer = text.startsWith("-") ? -size : size;
  const number = Number(integer);
  return Number.isSafeInteger(number) ? number : integer;
}

function toFloat(text: string, value: number): number {
  if (NOT_FINITE.test(text)) throw notFinite();
  if (!FLOAT.test(text)) return value;
  const number = Number(text.replaceAll("_", ""));
  if (!Number.isFinite(number)) throw notFinite();
  return number;
}

function notFinite(): UnusableDefaults {
  return new UnusableDefaults("an environment variable overrides a number by NaN or an infinity");
}

function toJson(text: string, value: object): unknown {
  const reading = readStrictJson(Buffer.from(text));
  if (reading.kind === "value") return reading.value;
  if (reading.problem === "syntax") return value;
  throw new UnusableDefaults(
    "an environment variable overrides a map by JSON with a repeated member, NaN or an infinity, or too deep nesting",
  );
}

function isMap(value: unknown): value is object {
  return isTextMap(value) || value instanceof Map;
}

function isTextMap(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
