import { currentSettings } from "./settings/current_settings.ts";
import { denialText, configurationDenialText } from "./decision/denial.ts";
import { tellConfigurationDenial, tellDecision } from "./decision/decision_channel.ts";
import { recordDecision } from "./decision/evidence.ts";
import { GUILD_ORIGIN, GuildPreflight } from "./preflight/guild_preflight.ts";
import type { PreflightOutcome, PreflightQuestion } from "./preflight/guild_preflight.ts";
import type { GateAgent } from "./host.ts";
import { resolveBinding } from "./binding/mcp_binding.ts";
import { normalizeServerName, splitToolName } from "./binding/names.ts";
import type { QualifiedToolName } from "./binding/names.ts";
import { decide } from "./decision/policy.ts";
import type { Evidence } from "./decision/policy.ts";
import type { Reason } from "./decision/decision.ts";
import type { CurrentSettings } from "./settings/current_settings.ts";
import type { Settings } from "./settings/settings.ts";

/** One for all agents of the process: they share what was observed and the requests under way (SPEC P6.6, P6.7). */
const preflight = new GuildPreflight();

/**
 * The deny-only gate in front of one tool call. It returns when the call is not protected or not denied, neither of
 * which is approval (SPEC P1, P5, P8).
 *
 * @param agent - the agent whose current tool is about to run
 * @throws the host's RepairableException, with a denial in controlled words; the reason of the agent's cancellation
 *   when that fires first
 */
export async function gate(agent: GateAgent): Promise<void> {
  const call = vouchedMcpCall(agent);
  if (call === null) return;
  const reading = await currentSettings(agent);
  agent.host.cancellation(agent).throwIfAborted();
  if (reading.kind !== "valid") return refuse(agent, call, reading);
  const approved = approvalFor(call, reading.settings);
  if (approved === null) return;

  const binding = bindingOf(agent, call, approved);
  if (binding.kind !== "bound") return conclude(agent, call, approved, deny(binding.reason), null);

  const { outcome, awaited } = await observe(agent, approved);
  const confirmed = awaited ? await confirmBinding(agent, call, approved) : approved;
  if (confirmed === null) return conclude(agent, call, approved, deny("binding_changed"), outcome);

  const decision = decide(confirmed.settings.policy, evidenceFrom(outcome));
  conclude(agent, call, confirmed, decision, outcome);
}

/** What stands where settings would, were the configuration usable. */
type UnusableSettings = Exclude<CurrentSettings, { readonly kind: "valid" }>;

/** What the operator approved for the server of a call, and the settings that say so. */
interface Approved {
  readonly url: string;
  readonly settings: Settings;
}

/** A call of an MCP tool that has come to the gate. */
interface GatedCall extends QualifiedToolName {
  /** When it came, by a monotonic clock, in milliseconds. */
  readonly begun: number;
}

/** The call, when the host vouches that its tool object is one of its own MCP tools (SPEC P1.3). */
function vouchedMcpCall(agent: GateAgent): GatedCall | null {
  const tool = agent.loopData.currentTool;
  const name = tool === null ? null : agent.host.vouchedMcpToolName(tool);
  if (name === null) return null;
  // A name without a server part is no protected server's; an unusable configuration denies it all the same (SPEC P3.2).
  const { server, tool: toolName } = splitToolName(name) ?? { server: "", tool: name };
  return { server: normalizeServerName(server), tool: toolName, begun: performance.now() };
}

function approvalFor(call: QualifiedToolName, settings: Settings): Approved | null {
  const url = settings.protectedServers.get(call.server);
  return url === undefined ? null : { url, settings };
}

function bindingOf(agent: GateAgent, call: QualifiedToolName, { url, settings }: Approved) {
  const approval = { url, allowPrivateHosts: settings.allowPrivateHosts };
  return resolveBinding(call, approval, agent.host.mcpConfiguration(agent));
}

/** The evidence, and whether it had to be waited for: a reused observation is at hand at once (SPEC P5.6). */
async function observe(
  agent: GateAgent,
  { url, settings }: Approved,
): Promise<{ readonly outcome: PreflightOutcome; readonly awaited: boolean }> {
  const question: PreflightQuestion = {
    origin: guildOrigin(settings),
    url,
    timeoutSeconds: settings.timeoutSeconds,
    cacheTtlSeconds: settings.cacheTtlSeconds,
    signal: agent.host.cancellation(agent),
  };
  const observation = preflight.cached(question);
  if (observation !== null) return { outcome: { kind: "observation", observation }, awaited: false };
  return { outcome: await preflight.ask(question), awaited: true };
}

/**
 * Everything again after the wait, from freshly read settings and MCP configuration: the approval to decide under, or
 * `null` when the same URL is no longer approved and bound, or another Guild is to be asked (SPEC P5.6).
 */
async function confirmBinding(
  agent: GateAgent,
  call: QualifiedToolName,
  before: Approved,
): Promise<Approved | null> {
  const reading = await currentSettings(agent);
  const approved = reading.kind === "valid" ? approvalFor(call, reading.settings) : null;
  if (approved === null || approved.url !== before.url) return null;
  if (guildOrigin(approved.settings) !== guildOrigin(before.settings)) return null;
  return bindingOf(agent, call, approved).kind === "bound" ? approved : null;
}

/** Whom to ask: the production origin, or the fixture of an offline test (SPEC P6.2). */
function guildOrigin(settings: Settings): string {
  return settings.fixtureGuildOrigin ?? GUILD_ORIGIN;
}

function evidenceFrom(outcome: PreflightOutcome): Evidence {
  if (outcome.kind === "failure")
    return { kind: "unavailable", saysDoNotDelegate: outcome.saysDoNotDelegate };
  const { verdict, statuses } = outcome.observation.answer;
  return { kind: "observed", verdict, statuses };
}

function deny(reason: Reason) {
  return { decision: "deny", reason } as const;
}

/** Tells of a configuration that cannot be used, and denies the call for it (SPEC P3.2). */
function refuse(agent: GateAgent, { begun, ...call }: GatedCall, reading: UnusableSettings): never {
  const { where, errors, decisionLog: logFile } = reading;
  tellConfigurationDenial(agent, { call, where, errors }, { logFile, tookMs: performance.now() - begun });
  throw new agent.host.RepairableException(configurationDenialText(where, errors));
}

/** Records the decision once, tells of it, and raises the denial if it is one (SPEC P9.3, P9.5, P1.5). */
function conclude(
  agent: GateAgent,
  { begun, ...call }: GatedCall,
  { url, settings }: Approved,
  { decision, reason }: { readonly decision: "allow" | "deny"; readonly reason: Reason },
  outcome: PreflightOutcome | null,
): void {
  // A cancelled call is neither denied nor allowed, and leaves no record (SPEC P11.1).
  agent.host.cancellation(agent).throwIfAborted();
  const decided = {
    decision,
    reason,
    call,
    endpoint: url,
    policy: settings.policy,
    outcome,
    decidedAt: new Date(),
  };
  recordDecision(agent, decided);
  tellDecision(agent, decided, { logFile: settings.decisionLog, tookMs: performance.now() - begun });
  if (decision !== "allow") {
    throw new agent.host.RepairableException(denialText(decided, agent.host.whereToLook));
  }
}
