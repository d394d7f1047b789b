import { expect } from "chai";
import * as fc from "fast-check";

import { validateProjectName } from "../../../host/agents/projects.ts";

describe("project names", () => {
  it("are trimmed as Python trims [vectors project_names]", () => {
    expect(validateProjectName("\x1f\u00a0My Site.v2\n")).to.deep.equal({
      kind: "valid",
      name: "My Site.v2",
    });
    expect(validateProjectName("\ufeffdemo")).to.deep.equal({ kind: "valid", name: "\ufeffdemo" });
  });

  it("are refused when they are empty, a step or a path [vectors project_names]", () => {
    for (const name of ["", " \t", ".", " .. ", "/", "a/b", "demo/", "../demo"]) {
      expect(validateProjectName(name), JSON.stringify(name)).to.deep.equal({
        kind: "invalid",
        problem: "Invalid project name",
      });
    }
  });

  it("never name anything outside the folder of projects [vectors project_names]", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(".", "/", " ", "a", "\u3000", "\0") }), (candidate) => {
        const checked = validateProjectName(candidate);
        if (checked.kind === "valid") expect(checked.name).to.match(/^(?!\.{1,2}$)[^/]+$/);
      }),
    );
  });
});
