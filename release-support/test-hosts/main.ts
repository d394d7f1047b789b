/**
 * `npm run test:hosts [-- NAME...] [--only SCENARIO] [--json] [--write]`: runs real, unmodified hosts offline through every scenario (SPEC A4).
 * Installing a host needs the npm registry; nothing else does. `--write` puts the table into TESTING.md.
 */
import { parseArgs } from "node:util";

import { HOSTS } from "./hosts/index.ts";
import { brokenPlugin, install } from "./installation.ts";
import { putThrough } from "./put_through.ts";
import type { Cell } from "./put_through.ts";
import { SCENARIOS } from "./scenario.ts";
import { table, writeTable } from "./table.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean" }, only: { type: "string" }, write: { type: "boolean" } },
});
const unknown = positionals.filter((name) => !HOSTS.some((host) => host.name === name));
if (unknown.length > 0) {
  process.stderr.write(`no such host; there are: ${HOSTS.map(({ name }) => name).join(", ")}\n`);
  process.exit(2);
}

const broken = brokenPlugin();
const cells: Cell[] = [];
for (const host of HOSTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name))) {
  process.stderr.write(`${host.name}: installing\n`);
  const installed = await install(host);
  for (const scenario of SCENARIOS.filter(({ name }) => values.only === undefined || name === values.only)) {
    const cell = await putThrough(host, scenario, { installed, broken });
    process.stderr.write(
      `${host.name}: ${scenario.name}: ${[cell.outcome, ...cell.problems].join("; ")} (${cell.ms} ms)\n`,
    );
    cells.push(cell);
  }
}
process.stdout.write(values.json === true ? `${JSON.stringify(cells, null, 2)}\n` : `${table(cells)}\n`);
if (values.write === true) writeTable(table(cells));
process.exitCode = cells.some(({ outcome }) => outcome === "failed") ? 1 : 0;
