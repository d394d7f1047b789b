import { expect } from "chai";

import { LAST_OBSERVATION_KEY } from "../../../../helpers/decision/evidence.ts";
import type { DecisionRecord } from "../../../../helpers/decision/evidence.ts";
import { decide } from "../../../../helpers/decision/policy.ts";
import type { Evidence } from "../../../../helpers/decision/policy.ts";
import { CHECKS, STATUSES, verdictOf } from "../../../../helpers/preflight/preflight_contract.ts";
import type { CheckStatus, Statuses } from "../../../../helpers/preflight/preflight_contract.ts";
import { DEFAULT_SETTINGS } from "../../../../helpers/settings/settings.ts";
import type { Policy } from "../../../../helpers/settings/settings.ts";
import type { CallOutcome, GatedHost } from "../../../fixtures/gated_host.ts";
import { endpointDown, handshakeUnknown, healthy, unsignedCard } from "../../../guild/preflight_bodies.ts";
import type { GuildAnswer } from "../../../guild/scripted_guild.ts";
import { gatedSuite } from "../gated_suite.ts";

type Observed = Extract<Evidence, { kind: "observed" }>;

/** Evidence in which every check is proven but those named. */
function observed(statuses: Partial<Statuses> = {}): Observed {
  const all = CHECKS.map((check) => [check, statuses[check] ?? "proven"] as const);
  return { kind: "observed", verdict: verdictOf(all), statuses: Object.fromEntries(all) as Statuses };
}

function unavailable(saysDoNotDelegate = false): Evidence {
  return { kind: "unavailable", saysDoNotDelegate };
}

function policy(more: Partial<Policy> = {}): Policy {
  return { ...DEFAULT_SETTINGS.policy, ...more };
}

/** A policy that lets go whatever a policy can. */
const LENIENT = policy({
  requiredProven: [],
  tolerateUnknownRequired: true,
  onCaution: "allow",
  onUnavailable: "allow",
});

/** A policy that denies whatever a policy can. */
const STRICT = policy({ requiredProven: CHECKS, onCaution: "deny", onUnavailable: "deny" });

type Row = readonly [title: string, policy: Policy, evidence: Evidence, expected: string];

const TABLE: readonly Row[] = [
  // Rule 1: whatever the policy.
  [
    "an unreachable endpoint, leniently [P8.1]",
    LENIENT,
    observed({ endpoint_reachable: "failed" }),
    "deny do_not_delegate",
  ],
  [
    "a failed handshake, leniently [P8.1]",
    LENIENT,
    observed({ protocol_handshake: "failed" }),
    "deny do_not_delegate",
  ],
  [
    "a failed required check that blocks, by its verdict first [P8.1]",
    policy(),
    observed({ endpoint_reachable: "failed" }),
    "deny do_not_delegate",
  ],
  [
    "an unusable answer that says do_not_delegate, leniently [P8.1]",
    LENIENT,
    unavailable(true),
    "deny do_not_delegate",
  ],
  // Rule 2.
  ["no evidence, by default [P8.2]", policy(), unavailable(), "deny evidence_unavailable"],
  [
    "no evidence, where that is accepted [P8.2]",
    { ...STRICT, onUnavailable: "allow" },
    unavailable(),
    "allow evidence_unavailable",
  ],
  // Rule 3.
  [
    "an unknown handshake, by default [P8.3]",
    policy(),
    observed({ protocol_handshake: "unknown" }),
    "deny required_not_proven",
  ],
  [
    "an unknown handshake, where that is tolerated [P8.3]",
    policy({ tolerateUnknownRequired: true }),
    observed({ protocol_handshake: "unknown" }),
    "allow not_denied",
  ],
  [
    "a failed card, where it is required and unknowns are tolerated [P8.3]",
    policy({ requiredProven: ["agent_card_resolves"], tolerateUnknownRequired: true }),
    observed({ agent_card_resolves: "failed" }),
    "deny required_not_proven",
  ],
  [
    "a failed required check under caution, by the check first [P8.3]",
    policy({ requiredProven: ["agent_card_signed"], onCaution: "deny" }),
    observed({ agent_card_signed: "failed" }),
    "deny required_not_proven",
  ],
  [
    "one unknown among six required checks [P8.3]",
    policy({ requiredProven: CHECKS }),
    observed({ independent_evidence: "unknown" }),
    "deny required_not_proven",
  ],
  // Rule 4.
  ["caution, by default [P8.4]", policy(), observed({ agent_card_signed: "failed" }), "allow not_denied"],
  [
    "caution, where it is not accepted [P8.4]",
    policy({ onCaution: "deny" }),
    observed({ agent_card_signed: "failed" }),
    "deny caution",
  ],
  // Rule 5.
  ["all proven, strictly [P8.5]", STRICT, observed(), "allow not_denied"],
  [
    "all unknown, where nothing is required [P8.5]",
    { ...STRICT, requiredProven: [] },
    observed(Object.fromEntries(CHECKS.map((check) => [check, "unknown"]))),
    "allow not_denied",
  ],
];

describe("the policy", () => {
  for (const [title, rules, evidence, expected] of TABLE) {
    it(`decides: ${title}`, () => {
      const { decision, reason } = decide(rules, evidence);
      expect(`${decision} ${reason}`).to.equal(expected);
    });
  }

  it("denies do_not_delegate under every policy there is [P8.1]", () => {
    expectForAll(
      ({ verdict }) => verdict === "do_not_delegate",
      () => "deny do_not_delegate",
    );
  });

  it("denies every other observation that lacks a required proof [P8.3]", () => {
    expectForAll(
      (evidence, rules) => evidence.verdict !== "do_not_delegate" && lacksProof(evidence, rules),
      () => "deny required_not_proven",
    );
  });

  it("leaves every other caution to the choice of the policy [P8.4]", () => {
    expectForAll(
      (evidence, rules) => evidence.verdict === "delegate_with_caution" && !lacksProof(evidence, rules),
      ({ onCaution }) => (onCaution === "deny" ? "deny caution" : "allow not_denied"),
    );
  });

  it("denies nothing else [P8.5]", () => {
    expectForAll(
      (evidence, rules) => evidence.verdict === "no_failed_checks" && !lacksProof(evidence, rules),
      () => "allow not_denied",
    );
  });

  it("leaves every unusable answer to the choice of the policy, but for do_not_delegate [P8.2]", () => {
    const said = (rules: Policy, evidence: Evidence) => Object.values(decide(rules, evidence)).join(" ");
    const wrong = POLICIES.filter(
      (rules) =>
        said(rules, unavailable()) !== `${rules.onUnavailable} evidence_unavailable` ||
        said(rules, unavailable(true)) !== "deny do_not_delegate",
    );
    expect(wrong).to.deep.equal([]);
  });

  it("makes nothing of an unknown check that is not required [P7.3]", () => {
    const proven = (evidence: Observed, rules: Policy): Observed => ({
      ...evidence,
      statuses: Object.fromEntries(
        CHECKS.map((check) => {
          const status = evidence.statuses[check];
          const isIdle = status === "unknown" && !rules.requiredProven.includes(check);
          return [check, isIdle ? "proven" : status];
        }),
      ) as Statuses,
    });
    const policies = POLICIES.filter((_, index) => index % 7 === 0);
    const wrong = policies.flatMap((rules) =>
      OBSERVATIONS.filter(
        (evidence) => decide(rules, evidence).reason !== decide(rules, proven(evidence, rules)).reason,
      ),
    );
    expect(wrong).to.deep.equal([]);
  });

  it("denies evidence of a kind that it does not know [P8.2]", () => {
    const strange = { kind: "hearsay" } as unknown as Evidence;
    expect(decide(LENIENT, strange)).to.deep.equal({ decision: "deny", reason: "evidence_unavailable" });
  });
});

describe("the policy in the host", () => {
  const { openWith } = gatedSuite();

  /** One call under a policy, and the host that it went through. */
  async function call(
    more: Readonly<Record<string, unknown>>,
    answer: GuildAnswer,
  ): Promise<{ readonly host: GatedHost; readonly kind: CallOutcome["kind"] }> {
    const host = await openWith({ policy: more });
    host.guild.answer("*", answer);
    return { host, kind: (await host.call()).kind };
  }

  /** One call under a policy: `ran` or `denied`, the reason, and the error of the record. */
  async function callWith(
    more: Readonly<Record<string, unknown>>,
    answer: GuildAnswer,
  ): Promise<{ readonly result: string; readonly toolCalls: number }> {
    const { host, kind } = await call(more, answer);
    const { reason, observation } = lastRecord(host);
    const result = [kind, reason, observation?.error ?? []].flat().join(" ");
    return { result, toolCalls: host.server().toolCalls.length };
  }

  const lenient = {
    required_proven: [],
    tolerate_unknown_required: true,
    on_caution: "allow",
    on_unavailable: "allow",
  };

  const DO_NOT_DELEGATE: Readonly<Record<string, readonly [answer: GuildAnswer, result: string]>> = {
    "a consistent answer says so": [{ kind: "json", body: endpointDown }, "denied do_not_delegate"],
    "its summaries do not fit": [
      { kind: "json", body: (url) => ({ ...endpointDown(url), failed: [] }) },
      "denied do_not_delegate inconsistent",
    ],
    "its checks are better than that": [
      { kind: "json", body: (url) => ({ ...healthy(url), verdict: "do_not_delegate" }) },
      "denied do_not_delegate inconsistent",
    ],
    "it is about another endpoint": [
      { kind: "json", body: () => endpointDown("https://other.example.com/mcp") },
      "denied do_not_delegate inconsistent",
    ],
    "it says nothing else": [
      { kind: "json", body: { verdict: "do_not_delegate" } },
      "denied do_not_delegate inconsistent",
    ],
    "a repeated verdict says so first": [
      {
        kind: "json",
        body: (url) => JSON.stringify(healthy(url)).replace("{", '{"verdict":"do_not_delegate",'),
      },
      "denied do_not_delegate inconsistent",
    ],
    "a repeated verdict says so last": [
      {
        kind: "json",
        body: (url) => JSON.stringify(healthy(url)).replace(/\}$/, ',"verdict":"do_not_delegate"}'),
      },
      "denied do_not_delegate inconsistent",
    ],
    "a repeated verdict says so in the middle of three": [
      {
        kind: "json",
        body: (url) =>
          JSON.stringify(healthy(url)).replace(
            "{",
            '{"verdict":"no_failed_checks","verdict":"do_not_delegate",',
          ),
      },
      "denied do_not_delegate inconsistent",
    ],
    "it says so with escapes": [
      { kind: "json", body: String.raw`{"v\u0065rdict":"do\u005fnot_delegate"}` },
      "denied do_not_delegate inconsistent",
    ],
    "bytes in it are not UTF-8": [
      { kind: "json", body: Buffer.from('{"verdict":"do_not_delegate","headline":"\u00ff"}', "latin1") },
      "denied do_not_delegate inconsistent",
    ],
    "it nests too deep": [
      { kind: "json", body: `{"deep":${"[".repeat(90)}${"]".repeat(90)},"verdict":"do_not_delegate"}` },
      "denied do_not_delegate inconsistent",
    ],
    "it holds a constant that JSON does not have": [
      { kind: "json", body: '{"verdict":"do_not_delegate","limits":NaN}' },
      "denied do_not_delegate inconsistent",
    ],
  };
  for (const [when, [answer, result]] of Object.entries(DO_NOT_DELEGATE)) {
    it(`denies do_not_delegate under the most lenient policy when ${when} [P8.1]`, async () => {
      expect(await callWith(lenient, answer)).to.deep.equal({ result, toolCalls: 0 });
    });
  }

  const NO_VERDICT: Readonly<Record<string, readonly [answer: GuildAnswer, error: string]>> = {
    "an answer with status 500 says it": [{ kind: "json", status: 500, body: endpointDown }, "status"],
    "a page says it": [{ kind: "html", text: '{"verdict":"do_not_delegate"}' }, "content_type"],
    "a compressed answer says it": [{ kind: "gzip", body: endpointDown }, "encoding"],
    "a member within says it": [
      { kind: "json", body: { answer: { verdict: "do_not_delegate" } } },
      "inconsistent",
    ],
    "a member within an answer that is no strict JSON says it": [
      { kind: "json", body: '{"answer":{"verdict":"do_not_delegate"},"limits":NaN}' },
      "inconsistent",
    ],
    "a list says it": [{ kind: "json", body: [{ verdict: "do_not_delegate" }] }, "inconsistent"],
    "a text says it": [{ kind: "json", body: '"do_not_delegate"' }, "inconsistent"],
    "the headline says it": [{ kind: "json", body: { headline: "do_not_delegate" } }, "inconsistent"],
    "the verdict says it in capitals": [
      { kind: "json", body: { verdict: "DO_NOT_DELEGATE" } },
      "inconsistent",
    ],
  };
  for (const [when, [answer, error]] of Object.entries(NO_VERDICT)) {
    it(`has no verdict of a 200 JSON object when ${when} [P8.1]`, async () => {
      const result = `ran evidence_unavailable ${error}`;
      expect(await callWith(lenient, answer)).to.deep.equal({ result, toolCalls: 1 });
    });
  }

  it("lets a call go on without evidence where the policy says so, and records it [P8.2]", async () => {
    const { host, kind } = await call({ on_unavailable: "allow" }, { kind: "json", status: 503 });
    expect(kind).to.equal("ran");
    expect(lastRecord(host)).to.include({ decision: "allow", reason: "evidence_unavailable" });
    expect(lastRecord(host).observation).to.include({ error: "status" });
  });

  it("denies without evidence by default [P8.2]", async () => {
    const { result, toolCalls } = await callWith({}, { kind: "json", status: 503 });
    expect([result, toolCalls]).to.deep.equal(["denied evidence_unavailable status", 0]);
  });

  it("denies a required check that is unknown [P8.3]", async () => {
    const { result, toolCalls } = await callWith({}, { kind: "json", body: handshakeUnknown });
    expect([result, toolCalls]).to.deep.equal(["denied required_not_proven", 0]);
  });

  it("tolerates a required check that is unknown where the policy says so [P8.3]", async () => {
    const tolerant = { tolerate_unknown_required: true };
    const { result, toolCalls } = await callWith(tolerant, { kind: "json", body: handshakeUnknown });
    expect([result, toolCalls]).to.deep.equal(["ran not_denied", 1]);
  });

  it("denies a required check that failed, tolerant of unknowns or not [P8.3]", async () => {
    const tolerant = { required_proven: ["agent_card_signed"], tolerate_unknown_required: true };
    const { result, toolCalls } = await callWith(tolerant, { kind: "json", body: unsignedCard });
    expect([result, toolCalls]).to.deep.equal(["denied required_not_proven", 0]);
  });

  for (const [choice, result, toolCalls] of [
    ["allow", "ran not_denied", 1],
    ["deny", "denied caution", 0],
  ] as const) {
    it(`does with caution what the policy says: ${choice} [P8.4]`, async () => {
      const called = await callWith({ on_caution: choice }, { kind: "json", body: unsignedCard });
      expect(called).to.deep.equal({ result, toolCalls });
    });
  }

  it("does not call a call that goes on approved [P8.5]", async () => {
    const { host } = await call({}, { kind: "json" });
    const { agent } = host;
    expect(lastRecord(host).reason).to.equal("not_denied");
    expect(JSON.stringify(agent.context.log.items)).to.not.match(/approv/i);
    expect(agent.history.messages.map(({ role }) => role)).to.deep.equal(["tool_result"]);
  });
});

/** Every policy there is: each subset of the checks required, each choice made either way. */
const POLICIES: readonly Policy[] = combinations([false, true], CHECKS.length + 3).map((choices) => {
  const [tolerateUnknownRequired = false, caution, unavailability] = choices.slice(CHECKS.length);
  return {
    requiredProven: CHECKS.filter((_, index) => choices[index]),
    tolerateUnknownRequired,
    onCaution: caution ? "allow" : "deny",
    onUnavailable: unavailability ? "allow" : "deny",
  };
});

/** Every observation there is: each check with each status. */
const OBSERVATIONS: readonly Observed[] = combinations(STATUSES, CHECKS.length).map((statuses) =>
  observed(Object.fromEntries(CHECKS.map((check, index) => [check, statuses[index]]))),
);

/** Every list of so many of the items, repetitions included. */
function combinations<Item>(items: readonly Item[], length: number): Item[][] {
  if (length === 0) return [[]];
  return combinations(items, length - 1).flatMap((list) => items.map((item) => [...list, item]));
}

/** Tries every policy on every observation; where the two are `such`, the decision must be the expected one. */
function expectForAll(
  such: (evidence: Observed, rules: Policy) => boolean,
  expected: (rules: Policy) => string,
): void {
  let tried = 0;
  const wrong: unknown[] = [];
  for (const rules of POLICIES) {
    for (const evidence of OBSERVATIONS) {
      if (!such(evidence, rules)) continue;
      tried += 1;
      const { decision, reason } = decide(rules, evidence);
      if (`${decision} ${reason}` !== expected(rules)) wrong.push({ rules, evidence, decision, reason });
    }
  }
  expect(wrong).to.deep.equal([]);
  expect(tried).to.be.greaterThan(1000);
}

function lacksProof({ statuses }: Observed, { requiredProven, tolerateUnknownRequired }: Policy): boolean {
  const enough: readonly CheckStatus[] = tolerateUnknownRequired ? ["proven", "unknown"] : ["proven"];
  return requiredProven.some((check) => !enough.includes(statuses[check]));
}

function lastRecord({ agent }: GatedHost): DecisionRecord {
  return agent.getData(LAST_OBSERVATION_KEY) as DecisionRecord;
}
