import { isIP } from "node:net";
import type { LookupFunction } from "node:net";

import { screenHost } from "./network.ts";
import type { Network } from "./network.ts";

/**
 * Answers lookups with the given addresses, in both forms that Node asks for: all of them, or a single one.
 *
 * @param addresses - IPv4 and IPv6 addresses, already screened
 */
export function lookupOf(addresses: readonly string[]): LookupFunction {
  return (_hostname, options, callback) => {
    const family = options.family === "IPv4" ? 4 : options.family === "IPv6" ? 6 : (options.family ?? 0);
    const entries = addresses
      .map((address) => ({ address, family: isIP(address) }))
      .filter((entry) => family === 0 || entry.family === family);
    const [first] = entries;
    if (first === undefined) return callback(noAddress(), "");
    if (options.all === true) return callback(null, entries);
    callback(null, first.address, first.family);
  };
}

/**
 * A lookup for one connection: resolves the name afresh, screens every address, and answers with those or, if one of
 * them may not be connected to, with an error.
 */
export function screenedLookup(network: Network): LookupFunction {
  return (hostname, options, callback) => {
    void screenHost(hostname, network).then((screening) => {
      if (screening.kind === "refused") return callback(noAddress(), "");
      lookupOf(screening.addresses)(hostname, options, callback);
    });
  };
}

function noAddress(): NodeJS.ErrnoException {
  return Object.assign(new Error("no address that may be connected to"), { code: "ENOTFOUND" });
}
