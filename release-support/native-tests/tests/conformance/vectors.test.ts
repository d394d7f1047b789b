import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { inspect } from "node:util";

import { expect } from "chai";

import { runVectorFile } from "../../../conformance/runner.ts";
import { packageRoot } from "../../../packaging/package_root.ts";

const VECTORS = join(packageRoot, "release-support", "native-tests", "vectors");

describe("conformance vectors", () => {
  for (const file of readdirSync(VECTORS).toSorted()) {
    it(`answers every case of ${basename(file, ".json")} as recorded`, async () => {
      const result = await runVectorFile(join(VECTORS, file));
      if (result.kind === "skipped") throw new Error(`${file} has no port`);
      const wrong = result.cases.filter(({ outcome }) => outcome === "failed");
      expect(wrong.map((one) => inspect(one, { depth: 8 })).join("\n")).to.equal("");
      expect(result.cases).to.not.be.empty;
      const known = result.cases.filter(({ outcome }) => outcome === "known").length;
      expect(known, "known gaps").to.be.at.most(result.cases.length / 100);
    });
  }
});
