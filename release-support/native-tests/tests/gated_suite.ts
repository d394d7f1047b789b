import { GatedHost, protecting } from "../../fixtures/gated_host.ts";
import type { GatedHostOptions } from "../../fixtures/gated_host.ts";
import { endpointDown } from "../../guild/preflight_bodies.ts";

/** What a suite opens its gated hosts with. */
export interface GatedSuite {
  /** Opens a host, which is closed after the test. */
  readonly open: (options?: GatedHostOptions) => Promise<GatedHost>;
  /** The same with further settings beside those that protect `pub_server`. */
  readonly openWith: (settings?: Readonly<Record<string, unknown>>) => Promise<GatedHost>;
  /** The same, where the Guild's word on every endpoint denies the call, whatever the policy. */
  readonly openDenying: (options?: GatedHostOptions) => Promise<GatedHost>;
  /** What else to do after the test, the last first. */
  readonly closings: (() => Promise<void> | void)[];
}

/** Opens gated hosts for the tests of the suite that this is called in, and closes them after each. */
export function gatedSuite(): GatedSuite {
  const closings: GatedSuite["closings"] = [];
  afterEach(async () => {
    for (const close of closings.splice(0).toReversed()) await close();
  });

  const open = async (options?: GatedHostOptions): Promise<GatedHost> => {
    const host = await GatedHost.open(options);
    closings.push(() => host.close());
    return host;
  };
  const openWith: GatedSuite["openWith"] = (settings) =>
    open({ config: (world) => protecting(world, "pub_server", settings) });
  const openDenying: GatedSuite["openDenying"] = async (options) => {
    const host = await open(options);
    host.guild.answer("*", { kind: "json", body: endpointDown });
    return host;
  };
  return { open, openWith, openDenying, closings };
}
