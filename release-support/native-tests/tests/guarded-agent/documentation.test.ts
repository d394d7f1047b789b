import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect } from "chai";

import { AGENT_ERRORS } from "../../../guarded-agent/errors.ts";
import { PREFLIGHT_ERRORS } from "../../../guarded-agent/preflight_errors.ts";
import { packageRoot } from "../../../packaging/package_root.ts";

/** What the section must say, each as the texts that say it. */
const STATEMENTS: Readonly<Record<string, readonly RegExp[]>> = {
  "a preflight verifies no identity, passport signature, conformance, task completion or payment": [
    /does not verify/i,
    /identity/i,
    /passport signature/i,
    /protocol conformance/i,
    /task is completed/i,
    /payment/i,
  ],
  "the presence of a signature or a card is not verification": [
    /signature is present/i,
    /card resolves/i,
    /presence is not verification/i,
  ],
  "the Guild probes the endpoint, and disclosing it authorises that traffic": [
    /Guild [^.]*probes the endpoint/i,
    /authori[sz]es? that traffic/i,
  ],
  "times are the client's request window": [/times [^.]*window of this client's request/i],
  "the report is bound to neither the IP address nor the TLS session of the connection": [
    /not bound to the IP address or the TLS session/i,
  ],
  "the agent needs an executor of its own": [/executor of its own/i],
  "requests that the application or the provider makes are not mediated": [
    /requests that your application or your model provider makes by itself/i,
  ],
  "it is no sandbox against code in the same process": [/no sandbox against code in the same process/i],
  "test-only doors are not public API": [/test-only doors?\b[^.]* (?:is|are) not public API/i],
  "only the endpoint's URL is disclosed": [/only the endpoint's URL/i],
  "resolution, connection and discovery precede the guard": [/precedes? the guard/i],
  "a path must hold no credential": [/never [^.]*credential in its path/i],
};

/** The text below a heading, up to the next one of its level or above, in one line. */
function section(heading: string): string {
  const readme = readFileSync(join(packageRoot, "README.md"), "utf8");
  const [, level = "", body = ""] =
    new RegExp(`^(#+) ${heading}$([\\s\\S]*)`, "m").exec(readme)?.map((text) => text) ?? [];
  expect(level, `README.md has no section "${heading}"`).not.to.equal("");
  const end = new RegExp(`^#{1,${level.length}} `, "m").exec(body)?.index;
  return body.slice(0, end).replaceAll(/\s+/g, " ");
}

describe("guarded agent: README", () => {
  for (const [statement, texts] of Object.entries(STATEMENTS)) {
    it(`says that ${statement} [G11]`, () => {
      const text = section("The guarded agent");
      for (const expected of texts) expect(text).to.match(expected);
    });
  }

  it("lists every error code, and no other [G5, G11]", () => {
    const codes = [...Object.keys(PREFLIGHT_ERRORS), ...Object.keys(AGENT_ERRORS)];
    const listed = [...section("The guarded agent").matchAll(/fixed codes?: ([^.]*)\./g)].flatMap(
      ([, list = ""]) => [...list.matchAll(/`([a-z0-9_]+)`/g)].map(([, code]) => code),
    );
    expect(listed).to.have.members(codes);
  });
});
