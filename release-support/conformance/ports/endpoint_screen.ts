import { screenEndpoint } from "../../../helpers/binding/endpoint_screen.ts";
import type { Port } from "../runner.ts";

export default {
  run(input: { readonly url: string; readonly allow_private_hosts: boolean }) {
    const screening = screenEndpoint(input.url, { allowPrivateHosts: input.allow_private_hosts });
    return { eligible: screening.kind === "eligible" };
  },
} satisfies Port;
