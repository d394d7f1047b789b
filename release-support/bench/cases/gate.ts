import { gate } from "../../../helpers/gate.ts";
import type { BenchCase } from "../bench_case.ts";
import { interleave } from "../interleave.ts";
import { openBenchHost, protecting } from "../world/bench_host.ts";
import type { BenchHost } from "../world/bench_host.ts";
import { withServers } from "../world/servers.ts";

/** The gate alone, without the dispatch around it: what a call pays that it decides on. */
export default {
  title: "The gate alone",
  run: ({ ms }) =>
    withServers(async (servers) => {
      const unconfigured = await openBenchHost(servers, { config: null });
      const names = ["pub_server", "open_server"];
      const configured = await openBenchHost(servers, {
        serverNames: names,
        config: protecting(servers, ["pub_server"]),
      });
      const cases = {
        unconfigured: await gated(unconfigured, "pub_server.echo"),
        unprotected: await gated(configured, "open_server.echo"),
        "protected, from the cache": await gated(configured, "pub_server.echo"),
      };
      const seen = await interleave(cases, ms);
      await Promise.all([unconfigured.close(), configured.close()]);
      return {
        rows: seen.rows(),
        claims: [
          {
            says: "protected, from the cache, us",
            figure: seen.median("protected, from the cache"),
            atMost: 35,
          },
          { says: "unprotected, us", figure: seen.median("unprotected"), atMost: 12 },
          { says: "unconfigured, us", figure: seen.median("unconfigured"), atMost: 8 },
        ],
      };
    }),
} satisfies BenchCase;

/** The gate in front of one tool of a host, for an agent of its own. */
async function gated({ host }: BenchHost, name: string): Promise<() => Promise<void>> {
  const { agent0: agent } = host.createContext();
  agent.loopData.currentTool = await host.mcp.findTool(agent, name);
  return () => gate(agent);
}
