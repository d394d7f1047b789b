import { readNumber, readRecord } from "./arguments.ts";
import type { CallDecision } from "./call_decision.ts";
import type { GuardSettings } from "./guard.ts";
import type { PreflightObservation } from "./observation.ts";
import { PreflightPolicy } from "./policy.ts";
import type { PromptExecutor } from "./prompt_executor.ts";
import { LARGEST_BOUNDS } from "./prompt_bounds.ts";
import type { PromptBounds } from "./prompt_bounds.ts";
import { PublicMcpEndpoint } from "./public_endpoint.ts";
import type { EndpointSettings } from "./public_endpoint.ts";

/** Limits and words of one agent. */
export interface GuardedAgentConfig {
  /** How many turns the model has for one task: 1 to 1000. */
  readonly maxIterations: number;
  /** The first message of every conversation; none if left out. */
  readonly systemPrompt?: string | undefined;
  /** How long one tool call may take, in seconds: above 0, up to 3600; default 60. */
  readonly toolTimeoutSeconds?: number | undefined;
  /** How long opening all endpoints together may take, in seconds: above 0, up to 600; default 30. */
  readonly openTimeoutSeconds?: number | undefined;
  /** How many preflights run at once, the others waiting in line: 1 to 64; default 32. */
  readonly maxPreflights?: number | undefined;
  /** How much of one tool's result the model gets, in characters: 1 to 262144, which is the default. */
  readonly maxResultCharacters?: number | undefined;
  /**
   * Whether the model gets the words of a server that refuses a call, as it gets a tool's own words. Default: the code of
   * the refusal alone.
   */
  readonly showServerErrors?: boolean | undefined;
  /** How much of one tool's description the model gets, in characters: 1 to 8192, which is the default. */
  readonly maxDescriptionCharacters?: number | undefined;
  /** A tool with a longer schema (as JSON, in characters) is not offered: 1 to 65536, which is the default. */
  readonly maxSchemaCharacters?: number | undefined;
}

/** What an agent is created from. All of it is read once: changing it afterwards changes nothing (SPEC G8). */
export interface GuardedMcpAgentOptions {
  /** The model, for this agent alone. */
  readonly promptExecutor: PromptExecutor;
  readonly config: GuardedAgentConfig;
  /** At least one; where two have a tool of one name, the earlier endpoint's is used. */
  readonly endpoints: readonly PublicMcpEndpoint[];
  /** Default: `PreflightPolicy.of()`, under which every failed or unknown check denies. */
  readonly policy?: PreflightPolicy | undefined;
  /** Gets every preflight that was not cut off by a cancellation, for audit. Its data is untrusted; it is not waited for, and what it throws is ignored. */
  readonly onObservation?: ((observation: PreflightObservation) => void | Promise<void>) | undefined;
  /**
   * Gets every decision about a call, allow and deny, before the call is sent (SPEC G13). It only listens: it is not
   * waited for, and what it throws is ignored, so that a denied call stays denied and one that is not denied is sent.
   * To keep a call from being sent, abort its run in here. Its observation is untrusted.
   */
  readonly onDecision?: ((decision: CallDecision) => void | Promise<void>) | undefined;
  /** Cancels the creation. */
  readonly signal?: AbortSignal | undefined;
}

/** The options, checked and copied. */
export interface AgentSettings extends GuardSettings, PromptBounds {
  readonly execute: PromptExecutor["execute"];
  readonly closeExecutor: PromptExecutor["close"];
  readonly maxIterations: number;
  readonly systemPrompt: string | null;
  readonly toolTimeoutSeconds: number;
  readonly openTimeoutSeconds: number;
  readonly endpoints: readonly EndpointSettings[];
  readonly showServerErrors: boolean;
  readonly signal: AbortSignal | null;
}

const OPTIONS = [
  "promptExecutor",
  "config",
  "endpoints",
  "policy",
  "onObservation",
  "onDecision",
  "signal",
] as const;
const BOUNDS = ["maxResultCharacters", "maxDescriptionCharacters", "maxSchemaCharacters"] as const;
const CONFIG = [
  "maxIterations",
  "systemPrompt",
  "toolTimeoutSeconds",
  "openTimeoutSeconds",
  "maxPreflights",
  "showServerErrors",
  ...BOUNDS,
] as const;

/**
 * Checks and copies a caller's options.
 *
 * @throws TypeError that names the option and what was expected, never the value
 */
export function readOptions(options: GuardedMcpAgentOptions): AgentSettings {
  const given = readRecord("options", options, OPTIONS);
  return Object.freeze({
    ...readExecutor(given.promptExecutor),
    ...readConfig(given.config),
    endpoints: readEndpoints(given.endpoints),
    policy: readPolicy(given.policy),
    onObservation: readCallback("onObservation", given.onObservation),
    onDecision: readCallback("onDecision", given.onDecision),
    signal: readSignal("signal", given.signal),
  });
}

/**
 * Reads an optional signal.
 *
 * @throws TypeError for anything else
 */
export function readSignal(what: string, value: unknown): AbortSignal | null {
  if (value === undefined) return null;
  if (!(value instanceof AbortSignal)) throw new TypeError(`${what}: expected an AbortSignal`);
  return value;
}

function readExecutor(value: unknown): Pick<AgentSettings, "execute" | "closeExecutor"> {
  const executor = value as PromptExecutor | null | undefined;
  if (typeof executor?.execute !== "function" || typeof executor.close !== "function") {
    throw new TypeError("promptExecutor: expected an object with the methods execute and close");
  }
  // Bound now: methods that are exchanged later are not the ones that were agreed on.
  return { execute: executor.execute.bind(executor), closeExecutor: executor.close.bind(executor) };
}

function readConfig(
  value: unknown,
): Pick<
  AgentSettings,
  | keyof PromptBounds
  | "maxIterations"
  | "systemPrompt"
  | "toolTimeoutSeconds"
  | "openTimeoutSeconds"
  | "maxPreflights"
  | "showServerErrors"
> {
  const config = readRecord("config", value, CONFIG);
  const {
    systemPrompt,
    toolTimeoutSeconds = 60,
    openTimeoutSeconds = 30,
    maxPreflights = 32,
    showServerErrors = false,
  } = config;
  if (systemPrompt !== undefined && typeof systemPrompt !== "string") {
    throw new TypeError("config.systemPrompt: expected a string");
  }
  if (typeof showServerErrors !== "boolean") {
    throw new TypeError("config.showServerErrors: expected true or false");
  }
  return {
    maxIterations: readNumber("config.maxIterations", config.maxIterations, { max: 1000, whole: true }),
    systemPrompt: systemPrompt ?? null,
    toolTimeoutSeconds: readNumber("config.toolTimeoutSeconds", toolTimeoutSeconds, { max: 3600 }),
    openTimeoutSeconds: readNumber("config.openTimeoutSeconds", openTimeoutSeconds, { max: 600 }),
    maxPreflights: readNumber("config.maxPreflights", maxPreflights, { max: 64, whole: true }),
    showServerErrors,
    ...readBounds(config),
  };
}

function readBounds(config: Readonly<Partial<Record<keyof PromptBounds, unknown>>>): PromptBounds {
  const bound = (name: keyof PromptBounds) =>
    readNumber(`config.${name}`, config[name] === undefined ? LARGEST_BOUNDS[name] : config[name], {
      max: LARGEST_BOUNDS[name],
      whole: true,
    });
  return Object.freeze({
    maxResultCharacters: bound("maxResultCharacters"),
    maxDescriptionCharacters: bound("maxDescriptionCharacters"),
    maxSchemaCharacters: bound("maxSchemaCharacters"),
  });
}

function readEndpoints(value: unknown): readonly EndpointSettings[] {
  const given = Array.isArray(value)
    ? value.map((endpoint: unknown) => PublicMcpEndpoint.settingsOf(endpoint))
    : [];
  const known = given.filter((endpoint) => endpoint !== null);
  if (known.length === 0 || known.length < given.length) {
    throw new TypeError("endpoints: expected a list of one or more made by PublicMcpEndpoint.of");
  }
  return Object.freeze(known);
}

function readPolicy(value: unknown): PreflightPolicy {
  if (value === undefined) return PreflightPolicy.of();
  if (!PreflightPolicy.is(value)) throw new TypeError("policy: expected one made by PreflightPolicy.of");
  return value;
}

function readCallback(what: string, value: unknown): () => unknown {
  if (value === undefined) return () => undefined;
  if (typeof value !== "function") throw new TypeError(`${what}: expected a function`);
  return value as () => unknown;
}
