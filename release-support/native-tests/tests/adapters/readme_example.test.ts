import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { expect } from "chai";

import { endpointDown } from "../../../guild/preflight_bodies.ts";
import { packageRoot } from "../../../packaging/package_root.ts";
import { guardedSuite } from "./guarded_suite.ts";

const EXAMPLE = /```ts\n(import \{ Client \}.*?)```/s;

describe("the README's example of a guarded transport", function () {
  this.timeout(30_000);
  const { serve, protecting, guild, closings } = guardedSuite();

  /** Runs it as it stands there, but for where its server is and which Guild to ask. */
  async function run(url: string): Promise<string> {
    const example = EXAMPLE.exec(readFileSync(join(packageRoot, "README.md"), "utf8"))?.[1] ?? "";
    expect(example.trim().split("\n")).to.have.lengthOf.within(1, 10);
    const { protected_servers: _, ...loopback } = protecting(url);
    const program = example
      .replace('"https://mcp.example.com/mcp"', JSON.stringify(url))
      .replace("protected_servers:", `...${JSON.stringify(loopback)}, protected_servers:`)
      .concat("await client.close();\n");
    // Within the package, so that it finds this package by its name.
    const folder = mkdtempSync(join(packageRoot, "dist", "readme-example-"));
    closings.push(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, "example.mjs"), program);
    return (await promisify(execFile)(process.execPath, [join(folder, "example.mjs")])).stdout;
  }

  it("has ten lines, and runs [A1]", async () => {
    const { url, toolCalls } = await serve();
    expect(await run(url)).to.include("Synthetic result for: museums");
    expect(toolCalls.map(({ tool }) => tool)).to.deep.equal(["search"]);
  });

  it("is denied what the Guild speaks against [A1]", async () => {
    const { url, toolCalls } = await serve();
    guild().answer("*", { kind: "json", body: endpointDown });
    expect(await run(url))
      .to.include("isError: true")
      .and.include("(do_not_delegate)");
    expect(toolCalls).to.deep.equal([]);
  });
});
