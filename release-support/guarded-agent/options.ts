import { readNumber, readRecord } from "./arguments.ts";
import type { ObservationCallback } from "./guard.ts";
import type { PreflightObservation } from "./observation.ts";
import { PreflightPolicy } from "./policy.ts";
import type { PromptExecutor } from "./prompt_executor.ts";
import { PublicMcpEndpoint } from "./public_endpoint.ts";

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
  /** Cancels the creation. */
  readonly signal?: AbortSignal | undefined;
}

/** The options, checked and copied. */
export interface AgentSettings {
  readonly execute: PromptExecutor["execute"];
  readonly closeExecutor: PromptExecutor["close"];
  readonly maxIterations: number;
  readonly systemPrompt: string | null;
  readonly toolTimeoutSeconds: number;
  readonly openTimeoutSeconds: number;
  readonly endpoints: readonly string[];
  readonly policy: PreflightPolicy;
  readonly onObservation: ObservationCallback;
  readonly signal: AbortSignal | null;
}

const OPTIONS = ["promptExecutor", "config", "endpoints", "policy", "onObservation", "signal"] as const;
const CONFIG = ["maxIterations", "systemPrompt", "toolTimeoutSeconds", "openTimeoutSeconds"] as const;

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
    onObservation: readCallback(given.onObservation),
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
): Pick<AgentSettings, "maxIterations" | "systemPrompt" | "toolTimeoutSeconds" | "openTimeoutSeconds"> {
  const config = readRecord("config", value, CONFIG);
  const { systemPrompt, toolTimeoutSeconds = 60, openTimeoutSeconds = 30 } = config;
  if (systemPrompt !== undefined && typeof systemPrompt !== "string") {
    throw new TypeError("config.systemPrompt: expected a string");
  }
  return {
    maxIterations: readNumber("config.maxIterations", config.maxIterations, { max: 1000, whole: true }),
    systemPrompt: systemPrompt ?? null,
    toolTimeoutSeconds: readNumber("config.toolTimeoutSeconds", toolTimeoutSeconds, { max: 3600 }),
    openTimeoutSeconds: readNumber("config.openTimeoutSeconds", openTimeoutSeconds, { max: 600 }),
  };
}

function readEndpoints(value: unknown): readonly string[] {
  const urls = Array.isArray(value)
    ? value.map((endpoint: unknown) => PublicMcpEndpoint.urlOf(endpoint))
    : [];
  const known = urls.filter((url) => url !== null);
  if (known.length === 0 || known.length < urls.length) {
    throw new TypeError("endpoints: expected a list of one or more made by PublicMcpEndpoint.of");
  }
  return Object.freeze(known);
}

function readPolicy(value: unknown): PreflightPolicy {
  if (value === undefined) return PreflightPolicy.of();
  if (!PreflightPolicy.is(value)) throw new TypeError("policy: expected one made by PreflightPolicy.of");
  return value;
}

function readCallback(value: unknown): ObservationCallback {
  if (value === undefined) return () => undefined;
  if (typeof value !== "function") throw new TypeError("onObservation: expected a function");
  return value as ObservationCallback;
}
