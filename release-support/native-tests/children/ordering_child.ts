/**
 * Opens a host on the root that its argument names and runs an extension point there, in the locale that the parent
 * sets (cases `G-15`). Prints the order in which the extensions ran as one line of JSON.
 */
import { Host } from "../../host/host.ts";

/** What this process prints. */
export interface OrderingChildReport {
  readonly locale: string;
  readonly ran: readonly unknown[];
  /** The names as the locale would sort them: a control that the locale is in force. */
  readonly collated: readonly string[];
}

const [, , root = "", point = ""] = process.argv;
const host = await Host.open({ root, watch: false });
const { agent0 } = host.createContext({ project: "site" });
const ran: unknown[] = [];
agent0.setData("notes", ran);
await host.extensions.call(point, agent0, {});
const collated = ["_10_alpha.js", "_10_Zeta.js", "_10_a.js", "_10_a_b.js"].toSorted((one, other) =>
  one.localeCompare(other),
);
const locale = new Intl.Collator().resolvedOptions().locale;
const report: OrderingChildReport = { locale, ran, collated };
process.stdout.write(`${JSON.stringify(report)}\n`);
await host.close();
