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

const shown = ({ from, to }: Import) => `${from} -> ${to}`;

describe("the directions of imports", () => {
  const helpers = importsBelow("helpers");
  const extensions = importsBelow("extensions");
  const support = importsBelow("release-support").filter(({ from }) => !from.includes("native-tests"));

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

  it("keeps the MCP SDK to the host's connections, the guarded agent and the fixtures [H5]", () => {
    const allowed = /^release-support\/(?:host\/mcp|guarded-agent|fixtures)\//;
    const sdk = [...helpers, ...extensions, ...support].filter(({ to }) =>
      to.startsWith("@modelcontextprotocol"),
    );
    expect(sdk.filter(({ from }) => !allowed.test(from)).map(shown)).to.deep.equal([]);
    expect(
      new Set(sdk.filter(({ from }) => from.includes("host/mcp")).map(({ from }) => from)).size,
    ).to.be.at.most(3);
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
