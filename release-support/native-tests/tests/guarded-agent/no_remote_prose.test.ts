import { expect } from "chai";
import fc from "fast-check";

import { CHECKS, STATUSES } from "../../../../helpers/preflight/preflight_contract.ts";
import { PreflightPolicy, ScriptedPromptExecutor } from "../../../guarded-agent/index.ts";
import type { GuardedMcpAgent, PreflightObservation } from "../../../guarded-agent/index.ts";
import type { McpServerFixture } from "../../../fixtures/mcp_server.ts";
import { preflightBody } from "../../../guild/preflight_bodies.ts";
import type { CheckEntry } from "../../../guild/preflight_bodies.ts";
import type { GuildAnswer, ScriptedGuild } from "../../../guild/scripted_guild.ts";
import { answering, Bench, calling, endpointOf, urlOf } from "./support.ts";

/** What a hostile Guild would like the model to read. Nothing of ours contains the mark. */
const MARK = "zq7";
const prose = fc.string({ unit: "binary", maxLength: 40 }).map((text) => `${MARK}${text}`);
const statuses = fc.record(
  Object.fromEntries(CHECKS.map((check) => [check, fc.constantFrom(...STATUSES)] as const)),
) as fc.Arbitrary<Record<(typeof CHECKS)[number], (typeof STATUSES)[number]>>;

interface Prose {
  readonly headline: string;
  readonly detail: string;
  readonly name: string;
  readonly header: string;
  readonly unlisted: boolean;
  readonly broken: "not" | "verdict" | "target" | "status" | "html" | "json";
}

const hostile: fc.Arbitrary<Prose> = fc.record({
  headline: prose,
  detail: prose,
  name: prose,
  header: fc.stringMatching(/^[a-z0-9 ]{0,20}$/).map((text) => `${MARK}${text.trim()}`),
  unlisted: fc.boolean(),
  broken: fc.constantFrom("not", "not", "verdict", "target", "status", "html", "json"),
});

describe("guarded agent: remote prose", () => {
  const bench = new Bench();
  let server: McpServerFixture;
  let guild: ScriptedGuild;
  let executor: ScriptedPromptExecutor;
  let agent: GuardedMcpAgent;
  const observations: PreflightObservation[] = [];

  before(async () => {
    [server, guild] = [await bench.server(), await bench.guild()];
    const turns = Array.from({ length: 500 }, () => [calling(["search", "x"]), answering()]).flat();
    executor = new ScriptedPromptExecutor(turns);
    agent = await bench.agent(guild, {
      endpoints: [endpointOf(server)],
      promptExecutor: executor,
      policy: PreflightPolicy.of({
        allowedVerdicts: ["no_failed_checks", "delegate_with_caution"],
        allowedUnknowns: [...CHECKS],
        allowedFailedChecks: [...CHECKS],
      }),
      onObservation: (observation) => void observations.push(observation),
    });
  });
  after(() => bench.close());

  function answerWith(found: Parameters<typeof preflightBody>[1], words: Prose): GuildAnswer {
    const target = urlOf(server);
    const body = preflightBody(
      target,
      found,
      words.unlisted ? { unlisted: { [words.name]: "unknown" } } : {},
    );
    const checks = body.checks.map((entry): CheckEntry => ({
      ...entry,
      detail: words.detail,
      declared_name: words.name,
      [words.name]: words.name,
    }));
    const whole = { ...body, checks, headline: words.headline, method: words.detail, limits: words.name };
    const headers = { "x-cache": words.header, etag: words.header };
    switch (words.broken) {
      case "verdict":
        return { kind: "json", headers, body: { ...whole, verdict: words.name } };
      case "target":
        return { kind: "json", headers, body: { ...whole, target: words.name } };
      case "status":
        return { kind: "json", headers, status: 500, body: whole };
      case "html":
        return { kind: "html", text: words.headline };
      case "json":
        return { kind: "json", headers, body: `{"${MARK}":` };
      default:
        return { kind: "json", headers, body: whole };
    }
  }

  it("of a preflight reaches no prompt, no result and no answer, whatever it says [G6]", async () => {
    await fc.assert(
      fc.asyncProperty(statuses, hostile, async (found, words) => {
        guild.answer("*", answerWith(found, words));
        const { answer } = await agent.run("go");
        const prompt = JSON.stringify(executor.prompts.at(-1));
        expect(prompt).not.to.contain(MARK);
        expect(answer).to.equal("done");
      }),
      { numRuns: 150 },
    );
    // The runs were not all of one kind.
    expect(new Set(observations.map(({ kind }) => kind))).to.have.keys("answered", "failed");
    expect(
      observations.some((one) => one.kind === "answered" && one.untrustedResponseJson.includes(MARK)),
    ).to.equal(true);
    expect(server.toolCalls.length).to.be.greaterThan(0);
  });

  it("of a preflight reaches no error, not even where a run fails after a denial [G6]", async () => {
    guild.answer(
      "*",
      answerWith(
        {},
        { headline: MARK, detail: MARK, name: MARK, header: MARK, unlisted: true, broken: "verdict" },
      ),
    );
    const failing = await bench.agent(guild, {
      endpoints: [endpointOf(server)],
      promptExecutor: new ScriptedPromptExecutor([calling(["search", "x"]), calling(["search", "x"])]),
      config: { maxIterations: 2 },
    });
    try {
      await failing.run("go");
      expect.fail("it did not reject");
    } catch (error) {
      const { message, stack, cause } = error as Error;
      expect(message).to.match(/^iteration_limit: /);
      expect(`${message} ${stack} ${JSON.stringify(error)}`).not.to.contain(MARK);
      expect(cause).to.equal(undefined);
    }
  });
});
