import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect } from "chai";

import { packageRoot } from "../../../packaging/package_root.ts";

const FOLDER = join(packageRoot, "dist", "release-support", "guarded-agent");

/** The packages that a compiled module loads, with the module: types are gone. */
function loaded(): string[] {
  return readdirSync(FOLDER, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".js"))
    .flatMap((file) =>
      [...readFileSync(join(FOLDER, file), "utf8").matchAll(/(?:from|import) "((?!\.|node:)[^"]+)"/g)].map(
        ([, name]) => `${file}: ${name}`,
      ),
    );
}

/** The modules that one module loads, itself included. */
function reached(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const [, next = ""] of readFileSync(file, "utf8").matchAll(/(?:from|import) "(\.[^"]+)"/g)) {
    reached(join(file, "..", next), seen);
  }
  return seen;
}

describe("guarded agent: optional packages", () => {
  it("are loaded by the AI SDK's executor alone: the other executors take the caller's client [G14]", () => {
    const optional = loaded().filter((line) => /: (?:openai|@anthropic-ai|ai$|@ai-sdk)/.test(line));
    expect(optional).to.deep.equal(["executors/ai_sdk.js: ai"]);
  });

  it("are not loaded by the main entry, nor is any executor [G14]", () => {
    const files = [...reached(join(FOLDER, "index.js"))];
    expect(files.filter((file) => file.includes("executors"))).to.deep.equal([]);
    expect(files.length).to.be.greaterThan(10);
  });

  it("have a subpath of the package's exports each [G14]", async () => {
    const names = ["openai", "anthropic", "ai-sdk"].map(
      (name) => `agent-guild-preflight/guarded-agent/${name}`,
    );
    const modules = await Promise.all(names.map(async (name) => (await import(name)) as object));
    expect(modules.map((found) => Object.keys(found))).to.deep.equal([
      ["OpenAIChatExecutor"],
      ["AnthropicExecutor"],
      ["AiSdkExecutor"],
    ]);
  });
});
