import { Scope } from "./cancellation.ts";
import { GuardedAgentError } from "./errors.ts";
import { EndpointSession } from "./endpoint_session.ts";
import type { SessionTimes } from "./endpoint_session.ts";
import type { Network } from "./network.ts";
import type { AgentSettings } from "./options.ts";
import { inParallel } from "./parallel.ts";
import type { EndpointSettings } from "./public_endpoint.ts";
import type { EndpointTools } from "./tool_registry.ts";

/**
 * Opens all endpoints at once and discovers their tools. This traffic precedes the guard (SPEC G2).
 *
 * @returns the endpoints in their order
 * @throws the first failure of any endpoint, or the reason of the caller's signal, after everything that was opened
 * is closed again
 */
export async function openEndpoints(
  settings: Pick<AgentSettings, "endpoints" | "signal" | keyof SessionTimes>,
  network: Network,
): Promise<EndpointTools[]> {
  const parents = settings.signal === null ? [] : [settings.signal];
  const reason = new GuardedAgentError("open_deadline");
  const scope = new Scope(parents, { seconds: settings.openTimeoutSeconds, reason });
  const opened: EndpointSession[] = [];
  try {
    const endpoints = await inParallel(settings.endpoints, async (endpoint) => {
      try {
        return await openEndpoint(endpoint, network, settings, scope.signal, opened);
      } catch (error) {
        // Its reason becomes that of all the others.
        scope.abort(error as Error);
        throw error;
      }
    });
    scope.signal.throwIfAborted();
    return endpoints;
  } catch (error) {
    await Promise.all(opened.map((connection) => connection.close()));
    throw error;
  } finally {
    scope.end();
  }
}

async function openEndpoint(
  endpoint: EndpointSettings,
  network: Network,
  times: SessionTimes,
  signal: AbortSignal,
  opened: EndpointSession[],
): Promise<EndpointTools> {
  const connection = await EndpointSession.open(endpoint.url, network, times, signal);
  opened.push(connection);
  return { endpoint, connection, tools: connection.tools };
}
