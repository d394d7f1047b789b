import { Scope } from "./cancellation.ts";
import { GuardedAgentError } from "./errors.ts";
import type { GuardedAgentErrorCode } from "./errors.ts";
import { EndpointSession } from "./endpoint_session.ts";
import type { SessionTimes } from "./endpoint_session.ts";
import type { Network } from "./network.ts";
import type { AgentSettings } from "./options.ts";
import { inParallel } from "./parallel.ts";
import type { EndpointSettings } from "./public_endpoint.ts";

/** What became of one endpoint when the agent was created. */
export type OpenedEndpoint =
  | { readonly kind: "open"; readonly endpoint: EndpointSettings; readonly session: EndpointSession }
  /** It is optional, and the agent goes on without it. */
  | { readonly kind: "missing"; readonly endpoint: EndpointSettings; readonly error: GuardedAgentErrorCode };

/**
 * Opens all endpoints at once and discovers their tools. This traffic precedes the guard (SPEC G2, G12).
 *
 * @returns the endpoints in their order
 * @throws the first failure of an endpoint that is not optional, or the reason of the caller's signal, after everything
 * that was opened is closed again
 */
export async function openEndpoints(
  settings: Pick<AgentSettings, "endpoints" | "signal" | keyof SessionTimes>,
  network: Network,
): Promise<readonly OpenedEndpoint[]> {
  const parents = settings.signal === null ? [] : [settings.signal];
  const late = new GuardedAgentError("open_deadline");
  const scope = new Scope(parents, { seconds: settings.openTimeoutSeconds, reason: late });
  const opened: EndpointSession[] = [];
  /** What ends everything, once it is known. */
  let cause: { readonly error: unknown } | null = null;
  try {
    return await inParallel(settings.endpoints, async (endpoint): Promise<OpenedEndpoint> => {
      try {
        const session = await EndpointSession.open(endpoint.url, network, settings, scope.signal);
        opened.push(session);
        return { kind: "open", endpoint, session };
      } catch (error) {
        const { code } = error instanceof GuardedAgentError ? error : { code: null };
        if (code !== null && endpoint.isOptional && cause === null)
          return { kind: "missing", endpoint, error: code };
        cause ??= {
          error: code === null ? error : new GuardedAgentError(code, { endpoint: endpoint.url }),
        };
        // The others need not go on.
        scope.abort(cause.error as Error);
        throw cause.error;
      }
    });
  } catch (error) {
    await Promise.all(opened.map((session) => session.close()));
    throw error;
  } finally {
    scope.end();
  }
}
