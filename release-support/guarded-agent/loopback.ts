import { createOn } from "./agent.ts";
import type { GuardedMcpAgent } from "./agent.ts";
import type { Network } from "./network.ts";
import type { GuardedMcpAgentOptions } from "./options.ts";

/** A network on loopback, for tests and the offline example. */
export interface LoopbackNetwork {
  /** The origin of a synthetic Guild on loopback, or below a name that `resolve` knows. */
  readonly guildOrigin: string;
  /** What the resolver answers. */
  readonly resolve: (hostname: string) => readonly string[] | Promise<readonly string[]>;
  /** The loopback addresses that pass for public ones; no other address may be connected to. */
  readonly treatAsPublic: readonly string[];
  /** The certificate authority of the test, in PEM. */
  readonly ca: string;
}

/** A loopback address, or a name, which goes through `resolve` and the screen. */
const GUILD = /^https?:\/\/(?:127\.0\.0\.1|\[::1\]|[a-z][a-z0-9-]*(?:\.[a-z][a-z0-9-]*)+):\d+$/;

const LOOPBACK = /^(?:127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)$/;

/**
 * The way to loopback behind the door for tests (SPEC G9, G15). All else is as in the public factory, TLS and the screen
 * included.
 *
 * @throws TypeError for anything that could lead off loopback, and as the public factory does
 */
export async function createOnLoopback(
  network: LoopbackNetwork,
  options: GuardedMcpAgentOptions,
): Promise<GuardedMcpAgent> {
  return await createOn(loopbackNetwork(network), options);
}

/** The network behind {@link createOnLoopback}, for tests of single parts. */
export function loopbackNetwork({ guildOrigin, resolve, treatAsPublic, ca }: LoopbackNetwork): Network {
  if (!treatAsPublic.every((address) => LOOPBACK.test(address))) {
    throw new TypeError("treatAsPublic: expected loopback addresses only");
  }
  if (!GUILD.test(guildOrigin))
    throw new TypeError("guildOrigin: expected an origin on loopback, with a port");
  const allowed = new Set(treatAsPublic);
  return Object.freeze({
    guildOrigin,
    resolve: async (hostname: string) => await resolve(hostname),
    isAllowedAddress: (address: string) => allowed.has(address),
    ca,
  });
}
