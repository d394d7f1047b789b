import { expect } from "chai";

import { ScriptedPromptExecutor } from "../../../guarded-agent/index.ts";
import type { PreflightObservation } from "../../../guarded-agent/index.ts";
import { endpointDown } from "../../../guild/preflight_bodies.ts";
import type { GuildAnswer } from "../../../guild/scripted_guild.ts";
import { answering, Bench, calling, endpointOf, resultsSeen } from "./support.ts";

describe("guarded agent: observations", () => {
  const bench = new Bench();
  afterEach(() => bench.close());

  async function observed(
    onObservation: (observation: PreflightObservation) => void | Promise<void>,
    answer: GuildAnswer,
  ): Promise<string | undefined> {
    const [server, guild] = [await bench.server(), await bench.guild()];
    guild.answer("*", answer);
    const executor = new ScriptedPromptExecutor([calling(["search", "x"]), answering()]);
    const agent = await bench.agent(guild, {
      endpoints: [endpointOf(server)],
      promptExecutor: executor,
      onObservation,
    });
    await agent.run("go");
    const end = resultsSeen(executor)[0]?.[0];
    expect(server.toolCalls).to.have.length(end === "result" ? 1 : 0);
    return end;
  }

  const bad: GuildAnswer = { kind: "json", body: (target) => endpointDown(target) };
  const good: GuildAnswer = { kind: "json" };

  it("reach the callback, one for each call, failed ones too [G6]", async () => {
    const seen: PreflightObservation[] = [];
    const record = (observation: PreflightObservation) => void seen.push(observation);
    expect(await observed(record, good)).to.equal("result");
    expect(await observed(record, bad)).to.equal("denied");
    expect(await observed(record, { kind: "html" })).to.equal("denied");
    expect(
      seen.map((observation) =>
        observation.kind === "answered" ? observation.verdict : `failed ${observation.error}`,
      ),
    ).to.deep.equal(["no_failed_checks", "do_not_delegate", "failed content_type"]);
  });

  it("let a callback that throws or rejects neither allow nor deny [G6]", async () => {
    const throwing = () => {
      throw new Error("the audit is down");
    };
    const rejecting = () => Promise.reject(new Error("the audit is down"));
    for (const callback of [throwing, rejecting]) {
      expect(await observed(callback, bad)).to.equal("denied");
      expect(await observed(callback, good)).to.equal("result");
    }
  });

  it("do not wait for a callback [G6]", async () => {
    const endless = () => new Promise<void>(() => undefined);
    expect(await observed(endless, bad)).to.equal("denied");
    expect(await observed(endless, good)).to.equal("result");
  });
});
