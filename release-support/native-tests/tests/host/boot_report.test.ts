import { expect } from "chai";

import { formatBootReport } from "../../../host/extensions/boot_report.ts";
import type { BootReport, ReportedExtension } from "../../../host/extensions/boot_report.ts";
import type { Host } from "../../../host/host.ts";
import { FOLDER, HostRoots, META, nextReload, noting, POINT } from "./extension_support.ts";

const POLICY = `plugins/_tool_access/${FOLDER}/_10_enforce_tool_policy.js`;
const PLUGIN = "usr/plugins/p";
const BROKEN = "export default class {\n";

/** The extensions of the point without how long each took. */
function extensionsIn(report: BootReport): Omit<ReportedExtension, "ms">[] {
  const point = report.points.find((one) => one.point === POINT);
  if (point?.kind !== "loaded") expect.fail("nothing was loaded at the point");
  return point.extensions.map(({ path, scope, plugin, shadows }) => ({ path, scope, plugin, shadows }));
}

describe("the boot report", () => {
  const roots = new HostRoots();
  afterEach(() => roots.close());

  async function open(files: Readonly<Record<string, string>>): Promise<Host> {
    return roots.open(roots.make(files), { watch: false });
  }

  it("tells what was loaded, from where, in which order, and what it shadows [H3]", async () => {
    const host = await open({
      [`${PLUGIN}/plugin.yaml`]: "",
      [`${PLUGIN}/${FOLDER}/_45_gate.js`]: noting("gate"),
      [`${PLUGIN}/${FOLDER}/_45_gate.ts`]: "",
      [`${META}/${FOLDER}/_45_gate.js`]: noting("the project's"),
      [`${FOLDER}/_05_first.mjs`]: noting("first"),
    });
    const policy = { path: POLICY, scope: "plugin", plugin: "_tool_access", shadows: [] };
    const first = { path: `${FOLDER}/_05_first.mjs`, scope: "framework", plugin: null, shadows: [] };
    expect(extensionsIn(host.bootReport())).to.deep.equal([
      first,
      policy,
      {
        path: `${PLUGIN}/${FOLDER}/_45_gate.js`,
        scope: "plugin",
        plugin: "p",
        shadows: [`${PLUGIN}/${FOLDER}/_45_gate.ts`],
      },
    ]);
    expect(extensionsIn(host.bootReport({ project: "site" }))).to.deep.equal([
      first,
      policy,
      {
        path: `${META}/${FOLDER}/_45_gate.js`,
        scope: "project",
        plugin: null,
        shadows: [`${PLUGIN}/${FOLDER}/_45_gate.js`],
      },
    ]);
  });

  it("tells how long opening and each extension took, and whose report it is [H3]", async () => {
    const host = await open({ [`${FOLDER}/_05_first.js`]: noting("first") });
    const report = host.bootReport({ project: "site", profile: "coder" });
    expect(report).to.include({ root: host.root, project: "site", profile: "coder" });
    expect(report.ms).to.be.within(0.1, 20_000);
    const times = report.points.flatMap((point) => (point.kind === "loaded" ? point.extensions : []));
    expect(times.map(({ ms }) => ms > 0 && ms < report.ms)).to.deep.equal([true, true]);
  });

  it("names every point for which there are extensions, also where none is in force [H3]", async () => {
    const host = await open({
      "usr/extensions/node/monologue_start/_10_x.js": noting("x"),
      [`${META}/extensions/node/_functions/agent/Agent/end/_10_y.js`]: noting("y"),
    });
    const counts = (report: BootReport) =>
      report.points.map((one) => [one.point, one.kind === "loaded" ? one.extensions.length : one.problem]);
    expect(counts(host.bootReport())).to.deep.equal([
      ["_functions/agent/Agent/end", 0],
      ["monologue_start", 1],
      [POINT, 1],
    ]);
    expect(counts(host.bootReport({ project: "site" }))[0]).to.deep.equal(["_functions/agent/Agent/end", 1]);
  });

  it("tells what was refused and why, and what does not run because of it [H3]", async () => {
    const host = await open({
      [`${FOLDER}/_50_x.js`]: BROKEN,
      [`${FOLDER}/_60_y.js`]: 'throw new Error("a secret");\n',
      [`${FOLDER}/_70_z.js`]: "export const z = 1;\n",
    });
    const report = host.bootReport();
    expect(report.refused).to.deep.equal([
      {
        path: `${FOLDER}/_50_x.js`,
        why: "it cannot be loaded (it, or a module that it imports, is not valid JavaScript): nothing runs at its extension point",
      },
      {
        path: `${FOLDER}/_60_y.js`,
        why: "it cannot be loaded (it fails while it is loaded): nothing runs at its extension point",
      },
      { path: `${FOLDER}/_70_z.js`, why: "it holds no extension: it overrides nothing" },
    ]);
    const [point] = report.points;
    expect(point).to.include({ kind: "broken", point: POINT });
    expect(JSON.stringify(report)).to.not.include("a secret");
  });

  it("tells of the MCP servers that cannot be used [H5]", async () => {
    const root = roots.make();
    root.writeMcpServers({ mcpServers: { off: { url: "http://127.0.0.1:9/mcp", disabled: true } } });
    const host = await roots.open(root, { watch: false });
    expect(host.bootReport().mcpProblems.map(({ name }) => name)).to.deep.equal(["off"]);
  });

  it("tells of what is in force and not of what is on disk by now [H4]", async () => {
    const root = roots.make({ [`${PLUGIN}/plugin.yaml`]: "" });
    const host = await roots.open(root, { watch: false });
    root.delete(PLUGIN);
    root.write("usr/plugins/q/plugin.yaml", "");
    expect(host.bootReport().plugins.map(({ name }) => name)).to.deep.equal(["_tool_access", "p"]);
    await host.extensions.reload();
    expect(host.bootReport().plugins.map(({ name }) => name)).to.deep.equal(["_tool_access", "q"]);
  });

  it("is plain data: it survives JSON [H3]", async () => {
    const host = await open({ [`${FOLDER}/_50_x.js`]: BROKEN, [`${PLUGIN}/plugin.yaml`]: "[" });
    const report = host.bootReport();
    expect(JSON.parse(JSON.stringify(report))).to.deep.equal(report);
  });

  it("reads well as text [H3, H4]", async () => {
    const gate = `${PLUGIN}/${FOLDER}/_45_gate.js`;
    const helper = `${PLUGIN}/helpers/gate.js`;
    const root = roots.make({
      [`${PLUGIN}/plugin.yaml`]: "name: [",
      [`${PLUGIN}/package.json`]: '{"type": "module"}',
      [gate]: `import "../../../helpers/gate.js";\n${noting("gate")}`,
      [helper]: "export const answer = 1;\n",
      [`${META}/${FOLDER}/_45_gate.js`]: noting("gate"),
      "usr/plugins/q/plugin.yaml": "",
      "usr/plugins/q/.toggle-0": "",
    });
    const host = await roots.open(root);
    const reload = nextReload(host);
    root.write(helper, "export const answer = 2;\n");
    root.write(gate, BROKEN);
    await reload;
    const text = formatBootReport(host.bootReport({ project: "site" })).replaceAll(
      /\d+(?:\.\d+)? ms/g,
      "N ms",
    );
    expect(text.split("\n")).to.deep.equal([
      `Host root ${root.path}, opened in N ms (project site, profile (none))`,
      "Plugins",
      "  on   _tool_access  plugins/_tool_access",
      `  on   p  ${PLUGIN}  ! plugin.yaml cannot be read as YAML`,
      "  off  q  usr/plugins/q",
      `Extension point ${POINT}`,
      `  1. ${POLICY}  (plugin, N ms)`,
      `  2. ${META}/${FOLDER}/_45_gate.js  (project, N ms)`,
      `     shadows ${gate}`,
      "Refused",
      `  ${gate}: it cannot be loaded (it, or a module that it imports, is not valid JavaScript); the extension loaded before stays in force`,
      "A restart is needed for",
      `  ${helper}`,
    ]);
  });

  it("says in the text why nothing runs at a point, and what else is wrong [H3, H4]", async () => {
    const host = await open({ [`${FOLDER}/_50_x.js`]: BROKEN });
    const text = formatBootReport({
      ...host.bootReport(),
      mcpProblems: [{ name: "docs", problem: "it does not answer" }],
      mcpWarnings: [{ name: "shop", warning: "its type is not known" }],
      reloadProblem: "the root changes",
      watchProblem: "no watches are left",
    });
    expect(text).to.match(
      /Extension point tool_execute_before\n {2}! The extension \S+_50_x\.js cannot be loaded/,
    );
    expect(text).to.include("MCP servers that cannot be used\n  docs: it does not answer\n");
    expect(text).to.include("MCP servers to look at\n  shop: its type is not known\n");
    expect(text).to.include("Not in force as it is on disk\n  the root changes\n");
    expect(text).to.match(/Watching\n {2}no watches are left$/);
  });
});
