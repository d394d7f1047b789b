import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { packageRoot } from "../packaging/package_root.ts";
import { ruleTable } from "./rule_citations.ts";

/** `npm run rules`: writes the table of rules and tests into TESTING.md. */
const path = join(packageRoot, "TESTING.md");
const text = readFileSync(path, "utf8");
const begin = text.search(/\| rule +\| proven in/);
if (begin === -1) throw new Error("TESTING.md has no table of rules to replace");
writeFileSync(path, `${text.slice(0, begin)}${ruleTable()}\n`);
