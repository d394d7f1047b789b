import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect } from "chai";
import fc from "fast-check";

import type { DecisionRecord } from "../../../../helpers/decision/evidence.ts";
import { LAST_OBSERVATION_KEY } from "../../../../helpers/decision/evidence.ts";
import { CHECKS, STATUSES, readPreflightAnswer } from "../../../../helpers/preflight/preflight_contract.ts";
import type { ContractReading, PreflightAnswer } from "../../../../helpers/preflight/preflight_contract.ts";
import { handshakeUnknown, healthy, preflightBody, unsignedCard } from "../../../guild/preflight_bodies.ts";
import type { CheckName, CheckStatus, PreflightBody } from "../../../guild/preflight_bodies.ts";
import type { GuildAnswer } from "../../../guild/scripted_guild.ts";
import { packageRoot } from "../../../packaging/package_root.ts";
import { gatedSuite } from "../gated_suite.ts";

const TARGET = "https://pub.example.com/mcp";
const HEALTHY = JSON.stringify(healthy(TARGET));

function read(body: unknown): ContractReading {
  const text = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  return readPreflightAnswer(Buffer.from(text), TARGET);
}

function readConsistent(body: unknown): PreflightAnswer {
  const reading = read(body);
  if (reading.kind !== "consistent") throw new Error("the answer was read as inconsistent");
  return reading.answer;
}

/** A healthy answer about {@link TARGET} with some members replaced; `undefined` takes one out. */
function healthyBut(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return { ...healthy(TARGET), ...members };
}

/** A healthy answer whose entry of one check is another one; `undefined` takes it out. */
function withEntry(check: CheckName, entry: unknown): Record<string, unknown> {
  const checks = healthy(TARGET).checks.map((one) => (one.check === check ? entry : one));
  return healthyBut({ checks: checks.filter((one) => one !== undefined) });
}

/** A healthy answer with one more member, nested so deep that the innermost list is at this level. */
function nestedTo(level: number): string {
  return HEALTHY.replace("{", `{"extra":${"[".repeat(level - 1)}${"]".repeat(level - 1)},`);
}

/** What is wrong with an answer, and the answer. */
const INCONSISTENT: Readonly<Record<string, unknown>> = {
  "is a list": [healthy(TARGET)],
  "is a text": '"no_failed_checks"',
  "is null": "null",
  "is cut off": HEALTHY.slice(0, -1),
  "has something behind it": `${HEALTHY} x`,
  "has a trailing comma": HEALTHY.replace(/\}$/, ",}"),
  "begins with a byte order mark": `\uFEFF${HEALTHY}`,
  "is in UTF-16": Buffer.from(HEALTHY, "utf16le"),
  "holds a byte that is not UTF-8": Buffer.from(HEALTHY.replace("Synthetic", "\u00ff"), "latin1"),
  "holds half of a surrogate pair, encoded": Buffer.concat([
    Buffer.from('{"headline":"'),
    Buffer.from([0xed, 0xa0, 0x80]),
    Buffer.from(`",${HEALTHY.slice(1)}`),
  ]),
  "has no target": healthyBut({ target: undefined }),
  "is about another endpoint": healthyBut({ target: "https://other.example.com/mcp" }),
  "is about the same endpoint with a slash": healthyBut({ target: `${TARGET}/` }),
  "spells the host in capitals": healthyBut({ target: TARGET.replace("pub", "PUB") }),
  "states the default port": healthyBut({ target: TARGET.replace(".com", ".com:443") }),
  "names its target in a list": healthyBut({ target: [TARGET] }),
  "has no verdict": healthyBut({ verdict: undefined }),
  "has a verdict of an older contract": healthyBut({ verdict: "delegate" }),
  "has a verdict in capitals": healthyBut({ verdict: "No_Failed_Checks" }),
  "has a verdict with a space": healthyBut({ verdict: "no_failed_checks " }),
  "has a verdict that a prototype has": healthyBut({ verdict: "constructor" }),
  "has a verdict in a list": healthyBut({ verdict: ["no_failed_checks"] }),
  "has a worse verdict than its checks": healthyBut({ verdict: "delegate_with_caution" }),
  "has a better verdict than its checks": { ...unsignedCard(TARGET), verdict: "no_failed_checks" },
  "has no checks": healthyBut({ checks: undefined }),
  "has an empty list of checks": healthyBut({ checks: [], unknowns: [], scored: [] }),
  "has its checks as a map": healthyBut({
    checks: Object.fromEntries(healthy(TARGET).checks.map((entry) => [entry.check, entry])),
  }),
  "lacks a check": withEntry("endpoint_reachable", undefined),
  "has a check that is null": withEntry("endpoint_reachable", null),
  "has a check that is a text": withEntry("endpoint_reachable", "proven"),
  "has a check without a name": withEntry("endpoint_reachable", { status: "proven" }),
  "has a check with a name in capitals": withEntry("endpoint_reachable", {
    check: "Endpoint_Reachable",
    status: "proven",
  }),
  "has a check with a number for a name": withEntry("endpoint_reachable", { check: 1, status: "proven" }),
  "has a check without a status": withEntry("endpoint_reachable", { check: "endpoint_reachable" }),
  "has a check with another status": withEntry("endpoint_reachable", {
    check: "endpoint_reachable",
    status: "passed",
  }),
  "has a check with a status in capitals": withEntry("endpoint_reachable", {
    check: "endpoint_reachable",
    status: "Proven",
  }),
  "has a check twice, the second one better": healthyBut({
    checks: [{ check: "endpoint_reachable", status: "failed" }, ...healthy(TARGET).checks],
  }),
  "has a check twice, both the same": healthyBut({
    checks: [healthy(TARGET).checks[0], ...healthy(TARGET).checks],
  }),
  "has no list of the failed": healthyBut({ failed: undefined }),
  "has null for the failed": healthyBut({ failed: null }),
  "has an object with a length for the failed": healthyBut({ failed: { length: 0 } }),
  "names a failed check that did not fail": healthyBut({ failed: ["agent_card_signed"] }),
  "leaves a failed check out": { ...unsignedCard(TARGET), failed: [] },
  "names a failed check twice": {
    ...unsignedCard(TARGET),
    failed: ["agent_card_signed", "agent_card_signed"],
  },
  "names a failed check within a list": { ...unsignedCard(TARGET), failed: [["agent_card_signed"]] },
  "leaves an unknown check out": healthyBut({ unknowns: healthy(TARGET).unknowns.slice(1) }),
  "names an unknown check twice in place of another": healthyBut({
    unknowns: ["agent_card_signed", "agent_card_signed", "payment_claim_holds", "independent_evidence"],
  }),
  "counts an unknown check as scored": healthyBut({
    scored: [...healthy(TARGET).scored, "independent_evidence"],
  }),
  "leaves a scored check out": healthyBut({ scored: ["endpoint_reachable"] }),
  "has unknowns that no check has": healthyBut({ unknowns: [...healthy(TARGET).unknowns, "other"] }),
};

/** What the rules on repetition, constants and depth refuse. */
const REFUSED_JSON: Readonly<Record<string, string>> = {
  "repeats a member": HEALTHY.replace("{", '{"failed":[],'),
  "repeats a member, once escaped": HEALTHY.replace("{", '{"f\\u0061iled":[],'),
  "repeats a member within a check": HEALTHY.replace(
    '"status":"proven"',
    '"status":"proven","status":"proven"',
  ),
  "repeats a member that nobody reads": HEALTHY.replace("{", '{"extra":1,"extra":1,'),
  "holds NaN": HEALTHY.replace("{", '{"extra":NaN,'),
  "holds an infinity": HEALTHY.replace("{", '{"extra":-Infinity,'),
  "holds a number beyond every double": HEALTHY.replace("{", '{"extra":1e999,'),
  "nests to level 65": nestedTo(65),
  "nests a hundred thousand levels deep": nestedTo(100_000),
  "lists a check outside the six in no summary": JSON.stringify(
    healthyBut({ checks: [...healthy(TARGET).checks, { check: "extra_check", status: "proven" }] }),
  ),
  "lists a check outside the six twice": JSON.stringify(
    healthyBut({
      checks: [
        ...healthy(TARGET).checks,
        { check: "extra_check", status: "proven" },
        { check: "extra_check", status: "proven" },
      ],
      scored: [...healthy(TARGET).scored, "extra_check"],
    }),
  ),
};

describe("the contract of a preflight answer", () => {
  for (const [fault, body] of Object.entries(INCONSISTENT)) {
    it(`does not hold when the answer ${fault} [P7.1]`, () => {
      expect(read(body)).to.deep.equal({ kind: "inconsistent", saysDoNotDelegate: false });
    });
  }

  for (const [fault, body] of Object.entries(REFUSED_JSON)) {
    it(`does not hold when the answer ${fault} [P7.2]`, () => {
      expect(read(body)).to.deep.equal({ kind: "inconsistent", saysDoNotDelegate: false });
    });
  }

  it("does not take members from a prototype [P7.1]", () => {
    expect(read(`{"__proto__":${HEALTHY}}`).kind).to.equal("inconsistent");
  });

  it("holds whatever the statuses and the order of the lists, if all of it fits [P7.1]", () => {
    fc.assert(
      fc.property(consistentBodies, ({ body, statuses }) => {
        const answer = readConsistent(body);
        expect(answer.verdict).to.equal(body.verdict);
        expect(answer.statuses).to.deep.equal(statuses);
      }),
    );
  });

  it("never throws, whatever the bytes [P7.1]", () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.json()), (body) => {
        expect(read(body).kind).to.equal("inconsistent");
      }),
    );
  });

  it("allows members that it does not know [P7.1]", () => {
    const body = { extra: [1], ...healthy(TARGET), declared_name: "x" };
    expect(readConsistent(body).verdict).to.equal("no_failed_checks");
  });

  it("takes a prose member of almost 1 MiB [P7.1]", () => {
    const body = healthyBut({ headline: "x".repeat(1_000_000) });
    expect(readConsistent(body).verdict).to.equal("no_failed_checks");
  });

  it("allows checks outside the six that the summaries carry, and only counts them [P7.2]", () => {
    const unlisted = { extra_check: "proven", "another one": "unknown" } as const;
    const answer = readConsistent(preflightBody(TARGET, {}, { unlisted }));
    expect(answer.unlisted).to.equal(2);
    expect(Object.keys(answer.statuses)).to.have.members([...CHECKS]);
  });

  it("allows a check named like a member of a prototype [P7.2]", () => {
    const unlisted = { constructor: "unknown", toString: "proven" } as const;
    expect(readConsistent(preflightBody(TARGET, {}, { unlisted })).unlisted).to.equal(2);
  });

  it("lets a failed check outside the six lead to caution [P7.2]", () => {
    const body = preflightBody(TARGET, {}, { unlisted: { extra_check: "failed" } });
    expect(readConsistent(body).verdict).to.equal("delegate_with_caution");
  });

  it("allows nesting to level 64 [P7.2]", () => {
    expect(readConsistent(nestedTo(64)).verdict).to.equal("no_failed_checks");
  });

  it("leaves an unknown check unknown: neither failed nor proven [P7.3]", () => {
    const answer = readConsistent(allUnknown(TARGET));
    expect(answer.verdict).to.equal("no_failed_checks");
    expect(new Set(Object.values(answer.statuses))).to.deep.equal(new Set(["unknown"]));
  });

  describe("through the host", () => {
    const { openWith } = gatedSuite();

    /** One call under a policy, and what became of it. */
    async function callWith(policy: unknown, answer: (url: string) => GuildAnswer) {
      const host = await openWith({ policy });
      const { url } = host.server();
      host.guild.answer("*", answer(url));
      const outcome = await host.call();
      const record = host.agent.getData(LAST_OBSERVATION_KEY) as DecisionRecord;
      return { host, outcome, record };
    }

    const REASONS_OF_DENIALS: Readonly<Record<string, string>> = {
      "G-11 d": "evidence_unavailable content_type",
      "G-11 g": "do_not_delegate inconsistent",
      "G-11 i": "do_not_delegate inconsistent",
    };

    for (const id of ["G-10", "G-11"]) {
      const { input, expected } = caseOf(id);
      for (const [variant, body] of Object.entries(input.bodies)) {
        it(`comes to what case ${id} ${variant} expects [P7.1]`, async () => {
          const wanted = expectedFor(expected, variant);
          const {
            host: asked,
            outcome,
            record,
          } = await callWith(input.config.policy, (url) => answerOf(variant, body, url));
          const allowed = wanted.decision === "allow";
          const denial = REASONS_OF_DENIALS[`${id} ${variant}`] ?? "evidence_unavailable inconsistent";
          expect(outcome.kind).to.equal(allowed ? "ran" : "denied");
          expect(`${record.reason} ${record.observation?.error ?? "none"}`).to.equal(
            allowed ? "not_denied none" : denial,
          );
          expect(asked.guild.requests).to.have.lengthOf(wanted.guild_requests);
          expect(asked.server().toolCalls).to.have.lengthOf(wanted.mcp_tool_calls);
        });
      }
    }

    it("says nothing good of an endpoint about which all is unknown [P7.3]", async () => {
      const { host: asked, record } = await callWith({ required_proven: [] }, () => ({
        kind: "json",
        body: allUnknown,
      }));
      expect(record).to.include({ decision: "allow", reason: "not_denied" });
      expect(record.observation?.unknowns).to.have.members([...CHECKS]);
      expect(record.observation?.scored).to.deep.equal([]);
      expect(JSON.stringify(asked.agent.context.log.items)).to.not.match(/proven|safe|trusted|approved/i);
    });

    it("keeps an unknown status in the record as it was received [P7.3]", async () => {
      const policy = { tolerate_unknown_required: true };
      const { record } = await callWith(policy, () => ({ kind: "json", body: handshakeUnknown }));
      expect(record.decision).to.equal("allow");
      const checks = record.observation?.checks as { readonly check: string; readonly status: string }[];
      expect(checks.find(({ check }) => check === "protocol_handshake")?.status).to.equal("unknown");
      expect(record.observation?.failed).to.deep.equal([]);
    });

    it("takes no check outside the six for the proof of one of them [P7.2]", async () => {
      const { record } = await callWith({}, () => ({
        kind: "json",
        body: (url) =>
          preflightBody(
            url,
            { protocol_handshake: "unknown" },
            { unlisted: { "protocol_handshake ": "proven", Protocol_Handshake: "proven" } },
          ),
      }));
      expect(record).to.include({ decision: "deny", reason: "required_not_proven" });
    });
  });
});

function allUnknown(target: string): PreflightBody {
  return preflightBody(target, Object.fromEntries(CHECKS.map((check) => [check, "unknown" as const])));
}

/** The parts of a case that are read here. */
interface ContractCase {
  readonly id: string;
  readonly input: {
    readonly config: { readonly policy: unknown };
    readonly bodies: Readonly<Record<string, unknown>>;
  };
  readonly expected: Readonly<Record<string, ExpectedOutcome>>;
}

interface ExpectedOutcome {
  readonly decision: string;
  readonly guild_requests: number;
  readonly mcp_tool_calls: number;
}

function caseOf(id: string): ContractCase {
  const path = join(packageRoot, "release-support", "native-tests", "cases", "cases.json");
  const cases = JSON.parse(readFileSync(path, "utf8")) as readonly ContractCase[];
  const found = cases.find((one) => one.id === id);
  if (found === undefined) throw new Error(`the case ${id} is missing`);
  return found;
}

/** What is expected of one variant; a key such as `b_to_h` stands for several. */
function expectedFor(expected: ContractCase["expected"], variant: string): ExpectedOutcome {
  for (const [key, outcome] of Object.entries(expected)) {
    const [first = "", last = first] = key.split("_to_");
    if (first <= variant && variant <= last) return outcome;
  }
  throw new Error(`nothing is expected of the variant ${variant}`);
}

/** The body of a variant, about the loopback server in place of the public one. */
function answerOf(variant: string, body: unknown, url: string): GuildAnswer {
  if (typeof body !== "string") {
    return { kind: "json", body: JSON.stringify(body).replaceAll(TARGET, url) };
  }
  if (body.startsWith("<")) return { kind: "html", text: body };
  // This one is described in words: a healthy answer with one more member in front.
  if (variant !== "g") throw new Error(`the variant ${variant} has no body`);
  return {
    kind: "json",
    body: JSON.stringify(healthy(url)).replace("{", '{"verdict":"do_not_delegate",'),
  };
}

/** Answers that fit: any statuses, with checks outside the six, every list in any order. */
const consistentBodies = fc
  .record({
    statuses: fc.record(
      Object.fromEntries(CHECKS.map((check) => [check, fc.constantFrom(...STATUSES)])) as Record<
        CheckName,
        fc.Arbitrary<CheckStatus>
      >,
    ),
    unlisted: fc.dictionary(fc.string({ minLength: 1 }), fc.constantFrom(...STATUSES), { maxKeys: 3 }),
  })
  .chain(({ statuses, unlisted }) => {
    const body = preflightBody(TARGET, statuses, { unlisted });
    const shuffled = <Item>(items: readonly Item[]) =>
      fc.shuffledSubarray([...items], { minLength: items.length });
    return fc.record({
      statuses: fc.constant(statuses),
      body: fc
        .record({
          checks: shuffled(body.checks),
          failed: shuffled(body.failed),
          unknowns: shuffled(body.unknowns),
          scored: shuffled(body.scored),
        })
        .map((lists) => ({ ...body, ...lists })),
    });
  });
