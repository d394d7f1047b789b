import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

import { expect } from "chai";

import { packageRoot } from "../../../packaging/package_root.ts";

interface Import {
  /** Relative to the package. */
  readonly from: string;
  /** A path relative to the package, or the name of a package. */
  readonly to: string;
  readonly isType: boolean;
  readonly isLazy: boolean;
}

const STATEMENT =
  /^(?:import|export) (type )?[^;]*?from "([^"]+)";|^import "([^"]+)";|\bimport\("([^"]+)"\)/gm;

function importsBelow(folder: string): Import[] {
  return readdirSync(join(packageRoot, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) => {
      const path = join(packageRoot, folder, file);
      const text = readFileSync(path, "utf8");
      return [...text.matchAll(STATEMENT)].map(([, type, from, bare, lazy]) => {
        const target = from ?? bare ?? lazy ?? "";
        const to = target.startsWith(".") ? relative(packageRoot, join(dirname(path), target)) : target;
        return { from: join(folder, file), to, isType: type !== undefined, isLazy: lazy !== undefined };
      });
    });
}

/**
 * The rooms of the project, high to low: a file may import from its own room and from those below it. The longest
 * beginning of a path tells the room.
 */
const ROOMS: readonly string[] = [
  "release-support/native-tests/",
  "release-support/bench/",
  "release-support/test-hosts/",
  "release-support/examples/",
  "release-support/cli/",
  "release-support/demo/",
  "release-support/conformance/",
  "release-support/fixtures/",
  "release-support/adapters/",
  "release-support/guarded-agent/",
  "release-support/guild/",
  "release-support/terminal/",
  "release-support/host/",
  "release-support/packaging/",
  "release-support/host/builtin/",
  "release-support/host/mcp/",
  "release-support/host/extensions/",
  "release-support/host/agents/",
  "release-support/host/text/",
  "release-support/mcp/",
  "release-support/",
  "extensions/",
  "helpers/index.ts",
  "helpers/gate.ts",
  "helpers/decision/",
  "helpers/settings/",
  "helpers/preflight/",
  "helpers/binding/",
  "helpers/config/",
  "helpers/formats/",
  "helpers/",
];

function roomOf(path: string): number {
  const rooms = ROOMS.filter((room) => path.startsWith(room)).toSorted((a, b) => b.length - a.length);
  return rooms[0] === undefined ? -1 : ROOMS.indexOf(rooms[0]);
}

/** Walks along imports from each file; gives the first circle that it meets. */
function circleIn(imports: readonly Import[]): readonly string[] | null {
  const targets = new Map<string, string[]>();
  for (const { from, to } of imports) targets.set(from, [...(targets.get(from) ?? []), to]);
  const done = new Set<string>();
  const walk = (file: string, path: readonly string[]): readonly string[] | null => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return null;
    for (const to of targets.get(file) ?? []) {
      const circle = walk(to, [...path, file]);
      if (circle !== null) return circle;
    }
    done.add(file);
    return null;
  };
  for (const file of targets.keys()) {
    const circle = walk(file, []);
    if (circle !== null) return circle;
  }
  return null;
}

const shown = ({ from, to }: Import) => `${from} -> ${to}`;

describe("the directions of imports", () => {
  const helpers = importsBelow("helpers");
  const extensions = importsBelow("extensions");
  const support = importsBelow("release-support").filter(({ from }) => !from.includes("native-tests"));

  const all = [...helpers, ...extensions, ...importsBelow("release-support")].filter(({ to }) =>
    /^(?:helpers|extensions|release-support)\//.test(to),
  );

  it("has no circle of files, imports of types included [H10]", () => {
    expect(circleIn(all)).to.equal(null);
  });

  it("would notice a circle of two files of the plugin [H10]", () => {
    const back = { from: "helpers/host.ts", to: "helpers/index.ts", isType: true, isLazy: false };
    expect(circleIn([...all, back])).to.include(back.to);
  });

  it("lets no room import from one above it [H10]", () => {
    expect(all.filter(({ from, to }) => roomOf(to) < roomOf(from)).map(shown)).to.deep.equal([]);
  });

  it("lets the plugin import nothing from release-support [P1.6]", () => {
    const outside = [...helpers, ...extensions].filter(({ to }) => to.startsWith("release-support"));
    expect(outside.map(shown)).to.deep.equal([]);
  });

  it("lets extensions import helpers and nothing else [P1.1]", () => {
    expect(extensions.filter(({ to }) => !to.startsWith("helpers/")).map(shown)).to.deep.equal([]);
  });

  it("lets the plugin need undici, yaml and zod, and these only where they are loaded late [P1.4]", () => {
    const late: Readonly<Record<string, readonly string[]>> = {
      undici: ["helpers/preflight/guild_request.ts"],
      "zod/mini": ["helpers/settings/settings_schema.ts"],
      yaml: [
        "helpers/config/scoped_config.ts",
        "helpers/formats/yaml_11.ts",
        "helpers/formats/yaml_11_scalars.ts",
      ],
    };
    const packages = helpers.filter(({ to }) => !to.startsWith("node:") && !to.startsWith("helpers/"));
    expect(packages.filter(({ from, to }) => !(late[to] ?? []).includes(from)).map(shown)).to.deep.equal([]);
    const lateFiles = [
      "helpers/preflight/guild_request.ts",
      "helpers/settings/settings_schema.ts",
      "helpers/formats/yaml_11.ts",
    ];
    const eager = helpers.filter(
      ({ from, to, isType, isLazy }) =>
        lateFiles.includes(to) && !isType && !isLazy && !lateFiles.includes(from),
    );
    expect(eager.map(shown)).to.deep.equal([]);
  });

  it("keeps the MCP SDK to two files of the one MCP client, to pi's adapter and the fixtures [H5, H11]", () => {
    const sdk = [...helpers, ...extensions, ...support].filter(({ to }) =>
      to.startsWith("@modelcontextprotocol"),
    );
    const importers = new Set(sdk.map(({ from }) => from));
    const others = /^release-support\/(?:fixtures|test-hosts|adapters\/pi)\//;
    expect([...importers].filter((from) => !others.test(from))).to.have.members([
      "release-support/mcp/connection.ts",
      "release-support/mcp/stdio.ts",
    ]);
  });

  it("lets no adapter decide anything, and the plugin know no host [A1, A2]", () => {
    const adapters = support.filter(({ from }) => from.startsWith("release-support/adapters/"));
    const deciding = /^helpers\/(?:decision\/(?!evidence)|preflight\/|binding\/(?!names))/;
    expect(adapters.filter(({ to }) => deciding.test(to)).map(shown)).to.deep.equal([]);
    const hosts = /\b(?:opencode|gemini|claude|openclaw|mariozechner)\b/i;
    const plugin = ["helpers", "extensions"].flatMap((folder) =>
      readdirSync(join(packageRoot, folder), { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".ts"))
        .map((file) => join(folder, file)),
    );
    expect(plugin.filter((file) => hosts.test(readFileSync(join(packageRoot, file), "utf8")))).to.deep.equal(
      [],
    );
  });

  it("lets the host and the guarded agent know neither tests nor commands [H10]", () => {
    const inner = support.filter(({ from }) => /^release-support\/(?:host|guarded-agent)\//.test(from));
    const outward = inner.filter(
      ({ from, to }) =>
        /^release-support\/(?:cli|demo|native-tests|bench)\//.test(to) ||
        (to.includes("/fixtures/") && !/(?:example|check|testing)\.ts$/.test(from)),
    );
    expect(outward.map(shown)).to.deep.equal([]);
  });
});
