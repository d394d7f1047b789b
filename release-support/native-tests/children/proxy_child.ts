/**
 * One protected call in a process that is told in every way to use a proxy (cases `G-14`): by the environment, which
 * the parent sets, and by a process-wide dispatcher. Prints what became of it as one line of JSON.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { EnvHttpProxyAgent, setGlobalDispatcher } from "undici";

import { GatedHost } from "../../fixtures/gated_host.ts";
import { packageRoot } from "../../packaging/package_root.ts";

/** What this process prints. */
export interface ProxyChildReport {
  readonly outcome: string;
  readonly message: string;
  readonly guildRequests: number;
  readonly toolCalls: number;
}

const proxied = new EnvHttpProxyAgent();
setGlobalDispatcher(proxied);
// Shows that the trap is set: this one goes to the proxy. The parent sees whether it did.
await fetch("http://control.example.com/control").catch(() => undefined);

const host = await GatedHost.open();
const { url } = host.server();
host.guild.answer("*", { kind: "json", body: readGuildResponse(url) });
const outcome = await host.call();
const report: ProxyChildReport = {
  outcome: outcome.kind,
  message: outcome.kind === "failed" ? String(outcome.error) : outcome.message,
  guildRequests: host.guild.requests.length,
  toolCalls: host.server().toolCalls.length,
};
process.stdout.write(`${JSON.stringify(report)}\n`);
await host.close();
await proxied.destroy();

/** The case's answer, about the loopback server. */
function readGuildResponse(target: string): Record<string, unknown> {
  const cases = JSON.parse(
    readFileSync(join(packageRoot, "release-support", "native-tests", "cases", "cases.json"), "utf8"),
  ) as { readonly id: string; readonly input: { readonly guild_response?: Record<string, unknown> } }[];
  const response = cases.find(({ id }) => id === "G-14")?.input.guild_response;
  if (response === undefined) throw new Error("the case G-14 is missing");
  return { ...response, target };
}
