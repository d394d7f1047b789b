import { readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join, relative } from "node:path";

import { expect } from "chai";

import type { HostRoot } from "../../../fixtures/host_root.ts";
import { Host } from "../../../host/host.ts";
import { layOutRoot } from "../../../host/root.ts";
import { FOLDER, HostRoots, noting, notesOf } from "./extension_support.ts";

const POLICY = "plugins/_tool_access";

/** Every file below a root, and its text. */
function filesOf(root: HostRoot): Record<string, string> {
  const entries = readdirSync(root.path, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .map((path) => [relative(root.path, path), readFileSync(path, "utf8")]),
  );
}

describe("a host root", () => {
  const roots = new HostRoots();
  afterEach(() => roots.close());

  it("gets the plugin roots that are missing when a host opens, and runs [H1]", async () => {
    for (const present of [{}, { "usr/plugins/": "" }, { "plugins/": "" }, { "usr/settings.json": "{}" }]) {
      const root = roots.make(present);
      const host = await roots.open(root, { watch: false });
      expect(readdirSync(join(root.path, "usr/plugins"))).to.deep.equal([]);
      expect(readdirSync(join(root.path, "plugins"))).to.deep.equal(["_tool_access"]);
      expect(await notesOf(host)).to.deep.equal([]);
    }
  });

  it("is made when it does not exist [H1]", async () => {
    const root = roots.make();
    const host = await Host.open({ root: join(root.path, "deeper/root"), watch: false });
    await host.close();
    expect(readdirSync(join(root.path, "deeper/root")).toSorted()).to.deep.equal(["plugins", "usr"]);
  });

  it("stays as it is where it is complete: a second host writes nothing [H1]", async () => {
    const root = roots.make();
    await roots.open(root, { watch: false });
    root.write(`${POLICY}/${FOLDER}/_10_enforce_tool_policy.js`, noting("the operator's own"));
    const before = filesOf(root);
    const host = await roots.open(root, { watch: false });
    expect(filesOf(root)).to.deep.equal(before);
    expect(await notesOf(host)).to.deep.equal(["the operator's own"]);
  });

  it("gets the rest of a built-in plugin that is there in part, and keeps what lies in its folder [H1, H8]", () => {
    const whole = roots.make();
    layOutRoot(whole.path);
    const part = roots.make({ [`${POLICY}/config.json`]: "{}", [`${POLICY}/.toggle-1`]: "" });
    layOutRoot(part.path);
    expect(filesOf(part)).to.deep.equal({
      ...filesOf(whole),
      [`${POLICY}/config.json`]: "{}",
      [`${POLICY}/.toggle-1`]: "",
    });
  });

  it("gets the manifest of a built-in plugin last, so that half a plugin is not taken for a whole one [H1]", () => {
    const root = roots.make();
    // What lies in the way of the plugin's code breaks the copying off.
    root.write(`${POLICY}/extensions`, "a file");
    expect(() => layOutRoot(root.path)).to.throw();
    expect(readdirSync(join(root.path, POLICY))).to.deep.equal(["extensions"]);
  });

  it("that cannot be laid out keeps the host from opening [H1]", async () => {
    const root = roots.make({ usr: "a file" });
    let failure: unknown;
    await Host.open({ root: root.path }).catch((error: unknown) => {
      failure = error;
    });
    expect(failure).to.be.instanceOf(Error);
  });

  it("may be a link to a folder, or lie below a dot folder [H1]", async () => {
    const root = roots.make({ [`.agents/host/${FOLDER}/_50_x.js`]: noting("x") });
    symlinkSync(join(root.path, ".agents/host"), join(root.path, "link"));
    for (const place of [".agents/host", "link"]) {
      const host = await Host.open({ root: join(root.path, place), watch: false });
      expect(await notesOf(host)).to.deep.equal(["x"]);
      await host.close();
    }
  });
});
