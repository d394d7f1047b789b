import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

import { expect } from "chai";

import { packageRoot } from "../../../packaging/package_root.ts";

const example = join(
  packageRoot,
  "dist",
  "release-support",
  "examples",
  "guarded-agent",
  "offline_example.js",
);

const application = join(example, "..", "..", "guarded-application", "assistant.test.js");

describe("guarded agent: example application", () => {
  it("tests itself through the door for tests, in a process of its own [G15]", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ["--test", application]);
    expect(stdout).to.match(/^[#ℹ] pass 5$/m);
    expect(stdout).to.match(/^[#ℹ] fail 0$/m);
  });
});

describe("guarded agent: offline example", () => {
  it("runs in a process of its own, says what is synthetic, and makes exactly one invocation [G10]", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [example]);
    expect(stdout).to.contain("SYNTHETIC");
    expect(stdout).to.match(/^invocations of the tool: 1$/m);
  });
});
