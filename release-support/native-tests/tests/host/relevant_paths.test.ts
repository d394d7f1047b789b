import { expect } from "chai";
import * as fc from "fast-check";

import { filePurpose, folderPurpose } from "../../../host/extensions/relevant_paths.ts";
import type { FilePurpose, FolderPurpose } from "../../../host/extensions/relevant_paths.ts";

const POINT = "extensions/node/tool_execute_before";
const META = "usr/projects/site/.a0proj";

const FOLDERS: Readonly<Record<FolderPurpose, readonly string[]>> = {
  way: [
    "",
    "usr",
    "plugins",
    "usr/plugins",
    "agents",
    "agents/coder",
    "usr/agents/.hidden",
    "extensions",
    "usr/extensions",
    "usr/projects",
    "usr/projects/a project",
    META,
    `${META}/agents/coder`,
    `${META}/plugins`,
    "usr/plugins/p/agents/coder",
  ],
  extensions: [
    "extensions/node",
    POINT,
    `usr/${POINT}`,
    `agents/coder/${POINT}`,
    `usr/agents/coder/${POINT}`,
    `${META}/${POINT}`,
    `${META}/agents/coder/${POINT}`,
    `usr/plugins/p/${POINT}`,
    `plugins/p/agents/.hidden/${POINT}`,
    "plugins/p/agents/coder/extensions/node/_functions/agent/Agent/handle_exception/end",
  ],
  toggles: [
    "agents/coder/plugins/p",
    "usr/agents/coder/plugins/p",
    `${META}/plugins/p`,
    `${META}/agents/coder/plugins/p`,
  ],
  plugin: ["plugins/p", "usr/plugins/p", "usr/plugins/node_modules"],
  modules: ["usr/plugins/p/helpers", "plugins/p/a/b/c/d/e/f/g/h", "usr/plugins/p/extensions/python"],
};

const NO_FOLDERS = [
  "uploads",
  "usr/uploads",
  "usr/chats/1",
  "usr/extensions/python",
  "usr/projects/site/src",
  "usr/projects/site/extensions/node",
  `${META}/knowledge`,
  `${META}/plugins/p/deeper`,
  "usr/plugins/.disabled",
  "usr/plugins/p/node_modules",
  "usr/plugins/p/helpers/node_modules/zod",
  "usr/plugins/p/.git",
  "usr/plugins/p/webui",
  "plugins/p/a/b/c/d/e/f/g/h/i",
  "..",
  "../elsewhere/plugins/p",
];

const FILES: readonly (readonly [FilePurpose | null, string])[] = [
  ["extension", `${POINT}/_10_a.js`],
  ["extension", `${POINT}/_10_a.mjs`],
  ["extension", `usr/plugins/p/${POINT}/_10_a.ts`],
  ["extension", `${META}/${POINT}/.hidden.js`],
  [null, `${POINT}/_10_a.d.ts`],
  [null, `${POINT}/_10_a.cjs`],
  [null, `${POINT}/_10_a.js.tmp`],
  [null, `${POINT}/_10_a.js~`],
  [null, `${POINT}/.#_10_a.js`],
  [null, `${POINT}/._10_a.js`],
  [null, "usr/extensions/_10_a.js"],
  ["manifest", "usr/plugins/p/plugin.yaml"],
  ["manifest", "plugins/p/plugin.yaml"],
  [null, "usr/plugins/plugin.yaml"],
  [null, `${META}/plugins/p/plugin.yaml`],
  ["toggle", "plugins/p/.toggle-0"],
  ["toggle", `${META}/agents/coder/plugins/p/.toggle-1`],
  [null, `${META}/plugins/p/.toggle-2`],
  [null, `${META}/plugins/.toggle-0`],
  ["module", "usr/plugins/p/index.js"],
  ["module", "usr/plugins/p/helpers/gate.mts"],
  ["module", "usr/plugins/p/helpers/gate.cjs"],
  [null, "usr/plugins/p/helpers/gate.d.ts"],
  [null, "usr/plugins/p/helpers/data.json"],
  [null, "usr/plugins/p/config.json"],
  [null, "usr/plugins/p/node_modules/zod/index.js"],
  [null, "usr/settings.json"],
  [null, `${META}/mcp_servers.json`],
  [null, "usr/uploads/plugin.yaml"],
  [null, "index.js"],
];

describe("what a host looks at", () => {
  for (const [purpose, folders] of Object.entries(FOLDERS)) {
    it(`are folders of the kind "${purpose}" [H1, H4]`, () => {
      for (const folder of folders) expect(folderPurpose(folder), folder).to.equal(purpose);
    });
  }

  it("are no other folders, so that their files cost nothing [H4]", () => {
    for (const folder of NO_FOLDERS) expect(folderPurpose(folder), folder).to.equal(null);
  });

  it("are files by the folder they lie in and their name [H4]", () => {
    for (const [purpose, file] of FILES) expect(filePurpose(file), file).to.equal(purpose);
  });

  it("can be reached: the folders above whatever counts are folders that it looks into [H4]", () => {
    const part = fc.constantFrom(
      "usr",
      "plugins",
      "projects",
      "agents",
      "extensions",
      "node",
      ".a0proj",
      "helpers",
      "p",
      ".x",
    );
    const name = fc.constantFrom("a.js", "plugin.yaml", ".toggle-0");
    fc.assert(
      fc.property(fc.array(part, { maxLength: 9 }), name, (parts, file) => {
        if (filePurpose([...parts, file].join("/")) === null) return;
        for (let depth = 0; depth <= parts.length; depth += 1) {
          expect(folderPurpose(parts.slice(0, depth).join("/"))).to.not.equal(null);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
