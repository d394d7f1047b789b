import { existsSync } from "node:fs";
import { inspect } from "node:util";

import { runVectors } from "./runner.ts";

const dir = process.argv[2];
if (dir === undefined || !existsSync(dir)) {
  console.error(
    dir === undefined
      ? "usage: npm run --silent vectors -- DIR   (DIR holds the vector files)"
      : `vectors: there is no folder ${dir}`,
  );
  process.exitCode = 2;
} else {
  const total = { passed: 0, failed: 0, known: 0 };
  for (const file of await runVectors(dir)) {
    if (file.kind === "skipped") {
      console.log(`skipped ${file.name}`);
      continue;
    }
    const count = { passed: 0, failed: 0, known: 0 };
    for (const one of file.cases) {
      count[one.outcome] += 1;
      total[one.outcome] += 1;
      if (one.outcome === "failed") {
        console.log(
          `  ${file.name}: ${one.name}\n    got      ${show(one.got)}\n    expected ${show(one.expected)}`,
        );
      }
    }
    console.log(`${file.name}: ${count.passed} passed, ${count.failed} failed, ${count.known} known`);
  }
  console.log(`${total.passed} passed, ${total.failed} failed, ${total.known} known`);
  process.exitCode = total.failed > 0 ? 1 : 0;
}

function show(value: unknown): string {
  return inspect(value, { depth: 12, breakLength: Infinity, maxStringLength: 2000 });
}
