// Shared with the plugin: the origin of the Guild and the classes of addresses. Not shared: here names are resolved
// and every address is screened; the plugin leaves resolution to its host.
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";

import { isPublicAddress } from "../../helpers/binding/address_classes.ts";
import { GUILD_ORIGIN } from "../../helpers/preflight/guild_preflight.ts";

/** Everything outside of this process that the agent depends on. Only tests ever use another than {@link publicNetwork}. */
export interface Network {
  /** Where the Guild is asked. */
  readonly guildOrigin: string;
  /** All addresses of a host name; rejects or gives none when there are none. */
  readonly resolve: (hostname: string) => Promise<readonly string[]>;
  /** Whether an address may be connected to. */
  readonly isAllowedAddress: (address: string) => boolean;
  /** Certificates to trust in place of the system's, in PEM. */
  readonly ca: string | null;
}

/** The network of the public factory: the system's resolver and certificates, public addresses, the real Guild. */
export const publicNetwork: Network = Object.freeze({
  guildOrigin: GUILD_ORIGIN,
  resolve: async (hostname: string) => (await lookup(hostname, { all: true })).map(({ address }) => address),
  isAllowedAddress: isPublicAddress,
  ca: null,
});

/** What the screen makes of a host's addresses. */
export type AddressScreening =
  | { readonly kind: "screened"; readonly addresses: readonly [string, ...string[]] }
  | { readonly kind: "refused"; readonly error: "resolution_failed" | "address_refused" };

/**
 * Resolves a host and screens every address that it has (SPEC G2): one that may not be connected to refuses the host.
 *
 * @param host - a name, which is resolved, or an address without brackets, which is screened as it is
 */
export async function screenHost(host: string, network: Network): Promise<AddressScreening> {
  const [first, ...more] = isIP(host) === 0 ? await resolved(host, network) : [host];
  if (first === undefined) return { kind: "refused", error: "resolution_failed" };
  const addresses = [first, ...more] as const;
  if (!addresses.every((address) => network.isAllowedAddress(address))) {
    return { kind: "refused", error: "address_refused" };
  }
  return { kind: "screened", addresses };
}

async function resolved(hostname: string, network: Network): Promise<readonly string[]> {
  try {
    return [...new Set(await network.resolve(hostname))];
  } catch {
    // What a resolver says about its failure is not ours to repeat.
    return [];
  }
}
