import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect } from "chai";

import { readRegistry } from "../../../guild/guild_registry.ts";

const DID = "did:web:agents.example.com:one";
const ENTRY = { agent_id: "agent-1", attestations_received: 3 };

async function failureOf(reading: Promise<unknown>): Promise<Error> {
  const outcome = await reading.then(
    () => null,
    (error: unknown) => error,
  );
  expect(outcome).to.be.instanceOf(TypeError);
  return outcome as Error;
}

describe("the live Guild's registry", () => {
  let folder = "";

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "guild-registry-"));
  });

  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  async function fileWith(text: string): Promise<string> {
    const path = join(folder, "registry.json");
    await writeFile(path, text);
    return path;
  }

  it("knows nobody unless it is told [S2]", async () => {
    expect((await readRegistry()).size).to.equal(0);
  });

  it("is the same from a file and from an object [S2]", async () => {
    const registry = await readRegistry(await fileWith(JSON.stringify({ [DID]: ENTRY })));
    expect([...registry]).to.deep.equal([[DID, ENTRY]]);
    expect([...(await readRegistry({ [DID]: ENTRY }))]).to.deep.equal([[DID, ENTRY]]);
  });

  it("is read once: later changes of the object have no effect [S2]", async () => {
    const source: Record<string, typeof ENTRY> = { [DID]: { ...ENTRY } };
    const registry = await readRegistry(source);
    (source[DID] as { agent_id: string }).agent_id = "changed";
    expect(registry.get(DID)).to.deep.equal(ENTRY);
  });

  it("refuses a file that cannot be read, without its path in the message [S2]", async () => {
    const error = await failureOf(readRegistry(join(folder, "none.json")));
    expect(error.message)
      .to.match(/cannot be read/)
      .and.not.include(folder);
  });

  for (const text of ["", "{", `{"${DID}":1,"${DID}":2}`, "[]", "null", "3"]) {
    it(`refuses a file that holds ${text === "" ? "nothing" : text} [S2]`, async () => {
      const error = await failureOf(readRegistry(await fileWith(text)));
      expect(error.message)
        .to.match(/^registry: /)
        .and.not.include(DID);
    });
  }

  const entries: readonly unknown[] = [
    null,
    {},
    { agent_id: "a" },
    { attestations_received: 1 },
    { ...ENTRY, agent_id: "" },
    { ...ENTRY, attestations_received: -1 },
    { ...ENTRY, attestations_received: 1.5 },
    { ...ENTRY, attestations_received: "3" },
    { ...ENTRY, more: true },
  ];
  for (const entry of entries) {
    it(`refuses the entry ${JSON.stringify(entry)}, by its number [S2]`, async () => {
      const error = await failureOf(readRegistry({ [DID]: ENTRY, "did:key:z6Mk": entry as typeof ENTRY }));
      expect(error.message).to.include("entry 2").and.not.include("z6Mk");
    });
  }

  for (const did of ["", "agent", "did:", "did:web", "did:web:", "did:WEB:a", "did:web:a b", "__proto__"]) {
    it(`refuses ${JSON.stringify(did)} for a DID [S2]`, async () => {
      const path = await fileWith(`{${JSON.stringify(did)}:${JSON.stringify(ENTRY)}}`);
      expect((await failureOf(readRegistry(path))).message).to.equal(
        "registry: the name of entry 1 is not a DID",
      );
    });
  }
});
