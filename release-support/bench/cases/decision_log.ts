import { readFileSync, statSync } from "node:fs";

import { DecisionLog, LOG_LIMITS } from "../../../helpers/decision/decision_log.ts";
import { logFiles } from "../../../helpers/decision/log_file.ts";
import { gate } from "../../../helpers/gate.ts";
import type { BenchCase } from "../bench_case.ts";
import { interleave } from "../interleave.ts";
import { openBenchHost, protecting } from "../world/bench_host.ts";
import type { BenchHost } from "../world/bench_host.ts";
import { withServers } from "../world/servers.ts";

const FILE = "usr/decisions.jsonl";

/** What telling decisions costs the gate, and what becomes of a hundred thousand of them (SPEC P9.5). */
export default {
  title: "The decision log, behind the gate alone with a cached observation",
  run: ({ ms, quick }) =>
    withServers(async (servers) => {
      const withoutLog = await openBenchHost(servers, { config: protecting(servers) });
      const withLog = await openBenchHost(servers, {
        config: protecting(servers, undefined, { decision_log: FILE }),
      });
      const logged = await gated(withLog);
      const seen = await interleave({ "no log": await gated(withoutLog), "with the log": logged }, ms);

      // A host of its own, so that its log holds these decisions and no others; the first was made to ask the Guild.
      const counted = await openBenchHost(servers, {
        config: protecting(servers, undefined, { decision_log: FILE }),
      });
      const count = quick ? 10_000 : 100_000;
      const decide = await gated(counted);
      for (let call = 1; call < count; call += 1) await decide();
      const place = { root: counted.host.root, file: FILE };
      DecisionLog.of(place.root, FILE).finish();
      const files = logFiles(place);
      const sizes = files.map((file) => statSync(file).size);
      const lines = files.flatMap((file) => readFileSync(file, "utf8").trimEnd().split("\n"));
      const ids = new Set(lines.map((line) => (JSON.parse(line) as { id: string }).id));
      await Promise.all([withoutLog, withLog, counted].map((host) => host.close()));
      return {
        rows: seen.rows(),
        claims: [
          {
            says: "what the log adds to a decision, us",
            figure: seen.difference("with the log", "no log"),
            atMost: 30,
          },
          { says: `of ${count} decisions lost`, figure: count - ids.size, atMost: 0 },
          { says: "lines too many", figure: lines.length - ids.size, atMost: 0 },
          {
            says: "largest file, of what it may be",
            figure: Math.max(...sizes) / LOG_LIMITS.bounds.file,
            atMost: 1,
          },
        ],
        notes: [
          `${files.length} files, ${sizes.reduce((sum, size) => sum + size, 0)} bytes in all, ${lines[0]?.length ?? 0} a line`,
        ],
      };
    }),
} satisfies BenchCase;

/** The gate in front of one protected tool, for an agent of its own; the Guild has been asked already. */
async function gated({ host }: BenchHost): Promise<() => Promise<void>> {
  const { agent0: agent } = host.createContext();
  agent.loopData.currentTool = await host.mcp.findTool(agent, "pub_server.echo");
  await gate(agent);
  return () => gate(agent);
}
