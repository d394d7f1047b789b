// The application's own tests: its real code, a real MCP server behind TLS on loopback, a scripted Guild and a scripted
// model. `node --test` runs them; nothing leaves this machine.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import {
  endpointDown,
  handshakeUnknown,
  openTestBed,
  ScriptedPromptExecutor,
} from "../../fixtures/test_bed.ts";
import type { ScriptedTurn, TestBed, TestServer } from "../../fixtures/test_bed.ts";
import { Assistant } from "./assistant.ts";

interface Scene extends TestServer {
  readonly assistant: Assistant;
  readonly model: ScriptedPromptExecutor;
}

const search: ScriptedTurn = {
  kind: "tool_calls",
  calls: [{ id: "1", name: "search", arguments: { text: "passports" } }],
};
const answer = (text: string): ScriptedTurn => ({ kind: "answer", text });

void describe("the assistant", () => {
  let bed: TestBed;
  before(async () => {
    bed = await openTestBed();
  });
  after(() => bed.close());

  /** An assistant on a server of its own. */
  async function assistantWith(...turns: readonly ScriptedTurn[]): Promise<Scene> {
    const { url, server } = await bed.serve();
    const model = new ScriptedPromptExecutor(turns);
    const assistant = await Assistant.open({ model, url, create: bed.create });
    return { assistant, model, server, url };
  }

  void it("answers with what the tool found", async () => {
    const { assistant, server } = await assistantWith(search, answer("There are two."));
    assert.equal(await assistant.ask("How many passports?"), "There are two.");
    assert.equal(server.toolCalls.length, 1);
    assert.deepEqual(assistant.audit, ["search: allow (not_denied)"]);
  });

  void it("does not call a server that the Guild found down, and goes on", async () => {
    const { assistant, server, url } = await assistantWith(search, answer("I could not look it up."));
    bed.guild.answer(url, { kind: "json", body: endpointDown(url) });
    assert.equal(await assistant.ask("How many passports?"), "I could not look it up.");
    assert.equal(server.toolCalls.length, 0);
    assert.deepEqual(assistant.audit, ["search: deny (do_not_delegate)"]);
  });

  void it("insists on a proven handshake, and on evidence at all", async () => {
    const { assistant, server, url } = await assistantWith(search, answer("no"), search, answer("no"));
    bed.guild.answer(url, { kind: "json", body: handshakeUnknown(url) });
    await assistant.ask("How many passports?");
    bed.guild.answer(url, { kind: "json", status: 503 });
    await assistant.ask("And now?");
    assert.equal(server.toolCalls.length, 0);
    assert.deepEqual(assistant.audit, [
      "search: deny (required_not_proven)",
      "search: deny (evidence_unavailable)",
    ]);
  });

  void it("remembers the conversation, and offers the model the one tool that it is meant to have", async () => {
    const { assistant, model } = await assistantWith(search, answer("Two."), answer("Yes."));
    await assistant.ask("How many passports?");
    await assistant.ask("Are you sure?");
    assert.deepEqual(
      model.prompts.at(-1)?.messages.map(({ role }) => role),
      ["system", "user", "assistant", "tool", "assistant", "user"],
    );
    assert.deepEqual(
      model.prompts[0]?.tools.map(({ name }) => name),
      ["search"],
    );
  });

  void it("is not opened on a server with a certificate for another name", async () => {
    const { url } = await bed.serve({ tls: bed.authority.issue({ names: ["other.example.com"] }) });
    const model = new ScriptedPromptExecutor([]);
    await assert.rejects(Assistant.open({ model, url, create: bed.create }), { code: "tls_failed" });
  });
});
