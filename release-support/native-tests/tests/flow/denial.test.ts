import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { expect } from "chai";
import fc from "fast-check";

import { REASONS } from "../../../../helpers/decision/decision.ts";
import type { Decision, Reason } from "../../../../helpers/decision/decision.ts";
import {
  configurationDenialText,
  denialText,
  ERROR_WORDS,
  redactEndpoint,
} from "../../../../helpers/decision/denial.ts";
import { DECISIONS_KEY, LAST_OBSERVATION_KEY } from "../../../../helpers/decision/evidence.ts";
import type { DecisionRecord } from "../../../../helpers/decision/evidence.ts";
import type { PreflightError, PreflightOutcome } from "../../../../helpers/preflight/guild_preflight.ts";
import { CHECKS, readPreflightAnswer } from "../../../../helpers/preflight/preflight_contract.ts";
import { DEFAULT_SETTINGS } from "../../../../helpers/settings/settings.ts";
import { protecting } from "../../../fixtures/gated_host.ts";
import type { GatedHost, Addresses, CallOutcome, GatedHostOptions } from "../../../fixtures/gated_host.ts";
import type { HostRoot } from "../../../fixtures/host_root.ts";
import { monologue } from "../../../host/agents/monologue.ts";
import {
  endpointDown,
  handshakeUnknown,
  healthy,
  preflightBody,
  unsignedCard,
} from "../../../guild/preflight_bodies.ts";
import type { PreflightBody } from "../../../guild/preflight_bodies.ts";
import type { AnswerBody, GuildAnswer } from "../../../guild/scripted_guild.ts";
import { packageRoot } from "../../../packaging/package_root.ts";
import { gatedSuite } from "../gated_suite.ts";

const STDIO_SERVER = fileURLToPath(new URL("../../../fixtures/stdio_server.js", import.meta.url));

/** What no text of ours says of an endpoint. */
const PRAISE = /\b(?:safe|trusted|verified|secure|approved by the guild)\b/i;

/** The texts of a value, at any depth; the names of its members are ours. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** How a reason comes about. */
interface Scenario {
  readonly options?: GatedHostOptions;
  readonly answer?: GuildAnswer;
  /** What the MCP servers become after the host has found the tool and before the gate looks. */
  readonly serversBeforeGate?: (world: Addresses) => unknown;
  /** What happens while the preflight is under way. */
  readonly meanwhile?: (host: GatedHost) => void;
}

const SCENARIOS: Readonly<Record<Reason, Scenario>> = {
  do_not_delegate: { answer: { kind: "json", body: endpointDown } },
  evidence_unavailable: { answer: { kind: "html" } },
  required_not_proven: { answer: { kind: "json", body: handshakeUnknown } },
  caution: {
    options: { config: (world) => protecting(world, "pub_server", { policy: { on_caution: "deny" } }) },
    answer: { kind: "json", body: unsignedCard },
  },
  not_denied: {},
  configuration_invalid: { options: { config: () => ({ polcy: {} }) } },
  ineligible_endpoint: {
    options: { config: (world) => protecting(world, "pub_server", { allow_private_hosts: false }) },
  },
  server_not_configured: { serversBeforeGate: () => ({}) },
  ambiguous_server: {
    options: {
      mcpServers: ({ urls }) => ({
        mcpServers: {
          "Pub-Server": { url: urls["pub_server"], type: "streamable-http" },
          "pub server": { url: urls["pub_server"], type: "streamable-http" },
        },
      }),
    },
  },
  local_server: {
    options: {
      mcpServers: () => ({
        mcpServers: { pub_server: { command: process.execPath, args: [STDIO_SERVER] } },
      }),
    },
  },
  url_mismatch: {
    options: {
      config: (world) => ({
        ...protecting(world, []),
        protected_servers: { pub_server: `${world.urls["pub_server"]}/` },
      }),
    },
  },
  tool_not_exposed: {
    serversBeforeGate: ({ urls }) => ({
      pub_server: { url: urls["pub_server"], type: "streamable-http", disabled_tools: ["search"] },
    }),
  },
  binding_changed: { meanwhile: ({ root }) => root.writeMcpServers({ mcpServers: {} }) },
};

/** An extension that runs ahead of the gate and replaces the MCP servers. */
function writeEditor(root: HostRoot, mcpServers: unknown): void {
  const settings = JSON.stringify({ mcp_servers: { mcpServers } });
  const path = join(root.path, "usr", "settings.json");
  root.write(
    "usr/extensions/node/tool_execute_before/_20_edit.mjs",
    `import { writeFileSync } from "node:fs";
     export default class {
       execute() { writeFileSync(${JSON.stringify(path)}, ${JSON.stringify(settings)}); }
     }`,
  );
}

describe("a denial", () => {
  const { open, openWith } = gatedSuite();

  /** Lets a reason come about through the host, with an argument that no text may hold. */
  async function reach(scenario: Scenario): Promise<{ host: GatedHost; outcome: CallOutcome }> {
    const { options, answer, serversBeforeGate, meanwhile } = scenario;
    const prepare = (root: HostRoot, world: Addresses) => {
      if (serversBeforeGate !== undefined) writeEditor(root, serversBeforeGate(world));
    };
    const host = await open({ prepare, ...options });
    if (answer !== undefined) host.guild.answer("*", answer);
    const hold = meanwhile === undefined ? null : host.guild.hold("*");
    const call = host.call("pub_server.search", { text: "MARK-argument" });
    await hold?.arrived;
    meanwhile?.(host);
    hold?.release();
    return { host, outcome: await call };
  }

  describe("for every reason of the closed list", () => {
    for (const reason of REASONS.filter((one) => one !== "not_denied")) {
      it(`names ${reason}, as the record does, and nothing of the call [P10.1, P10.2]`, async () => {
        const { host, outcome } = await reach(SCENARIOS[reason]);
        if (outcome.kind !== "denied") throw new Error(`the call was not denied but ${outcome.kind}`);
        expect(outcome.message).to.include(`(${reason})`);
        expect(outcome.message).to.not.match(/MARK|pub.server|search|\/mcp|\n\s*at |\.json:|\.[jt]s\b/i);
        expect(outcome.message).to.not.include(host.root.path);
        expect(outcome.message).to.not.match(PRAISE);
        expect(Buffer.byteLength(outcome.message)).to.be.at.most(2048);
        const decisions = (host.agent.getData(DECISIONS_KEY) ?? []) as readonly DecisionRecord[];
        expect(decisions.map((record) => record.reason)).to.deep.equal(
          reason === "configuration_invalid" ? [] : [reason],
        );
        expect(textsIn(host.agent.context.log.items).join("\n")).to.not.match(PRAISE);
        const calls = Object.values(host.servers).flatMap(({ toolCalls }) => toolCalls);
        expect(calls).to.deep.equal([]);
      });
    }

    it("is none when the reason is not_denied [P8.5]", async () => {
      const { host, outcome } = await reach(SCENARIOS.not_denied);
      expect(outcome.kind).to.equal("ran");
      expect(host.server().toolCalls).to.have.lengthOf(1);
    });

    it("has words of its own for each reason [P10.1]", () => {
      const words = REASONS.map((reason) => denialText(decision({ reason })).split("): ")[1]);
      expect(new Set(words).size).to.equal(REASONS.length);
    });

    it("has words of its own for each error of a failed preflight [P10.1]", () => {
      const lines = (Object.keys(ERROR_WORDS) as PreflightError[]).map((error) => {
        const text = denialText(decision({ reason: "evidence_unavailable", outcome: failed(error) }));
        const line = text.split("\n").find((one) => one.includes(`(${error})`));
        expect(line).to.be.a("string");
        return line?.replace(`(${error})`, "");
      });
      expect(new Set(lines).size).to.equal(lines.length);
    });
  });

  describe("in what it says", () => {
    it("dates itself as the record does [P10.1]", async () => {
      const { host, outcome } = await reach(SCENARIOS.caution);
      const record = host.agent.getData(LAST_OBSERVATION_KEY) as DecisionRecord;
      expect(outcome.kind === "denied" && outcome.message).to.include(record.decided_at);
    });

    it("states the verdict and every one of the six checks under its status [P10.1]", async () => {
      const host = await openWith({ policy: { on_caution: "deny" } });
      host.guild.answer("*", { kind: "json", body: unsignedCard });
      const outcome = await host.call();
      const lines = outcome.kind === "denied" ? outcome.message.split("\n") : [];
      expect(lines.find((line) => line.startsWith("Verdict: "))).to.include("delegate_with_caution");
      expect(lines).to.include.members([
        "Checks proven: endpoint_reachable, protocol_handshake, agent_card_resolves",
        "Checks failed: agent_card_signed",
        "Checks unknown: payment_claim_holds, independent_evidence",
      ]);
    });

    it("names the required checks that are not proven, with their status [P10.1]", async () => {
      const required = {
        required_proven: ["independent_evidence", "agent_card_signed", "endpoint_reachable"],
      };
      const host = await openWith({ policy: required });
      host.guild.answer("*", { kind: "json", body: unsignedCard });
      const outcome = await host.call();
      expect(outcome.kind === "denied" && outcome.message.split("\n")).to.include(
        "Required but not proven: independent_evidence (unknown), agent_card_signed (failed)",
      );
    });

    it("labels an observation that is not of this moment [P10.1]", async () => {
      const host = await openWith({ policy: { on_caution: "deny" } });
      host.guild.answer("*", { kind: "json", body: unsignedCard });
      const first = await host.call();
      const second = await host.call();
      const observed = (host.agent.getData(LAST_OBSERVATION_KEY) as DecisionRecord).observation?.observed_at;
      expect(first.kind === "denied" && first.message).to.not.include("cached");
      expect(second.kind === "denied" && second.message)
        .to.match(/, cached, \d+ s old/)
        .and.include(observed);
    });

    it("counts checks outside the six and does not name them [P10.2]", async () => {
      const host = await openWith({ policy: { required_proven: ["agent_card_signed"] } });
      const unlisted = { "MARK-1": "proven", "MARK-2": "unknown", "MARK-3": "unknown" } as const;
      host.guild.answer("*", { kind: "json", body: (url) => preflightBody(url, {}, { unlisted }) });
      const outcome = await host.call();
      expect(outcome.kind === "denied" && outcome.message)
        .to.include("+3 unlisted")
        .and.not.include("MARK");
    });

    it("does not speak of unlisted checks when there are none [P10.2]", async () => {
      const { outcome } = await reach(SCENARIOS.required_not_proven);
      expect(outcome.kind === "denied" && outcome.message).to.not.include("unlisted");
    });

    it("tells the agent and the operator what to do [P10.3]", async () => {
      const { outcome } = await reach(SCENARIOS.caution);
      expect(outcome.kind === "denied" && outcome.message)
        .to.include("choose another tool")
        .and.include("tell the operator")
        .and.include(LAST_OBSERVATION_KEY);
    });

    it("tells both what to do about an invalid configuration too [P10.3]", async () => {
      const { outcome } = await reach(SCENARIOS.configuration_invalid);
      expect(outcome.kind === "denied" && outcome.message)
        .to.include("choose another tool")
        .and.include("tell the operator")
        .and.include("configuration of agent_guild_preflight");
    });

    const redacted: Readonly<Record<string, string>> = {
      "https://mcp.example.com/mcp": "https://mcp.example.com/...",
      "https://mcp.example.com/": "https://mcp.example.com/",
      "https://mcp.example.com": "https://mcp.example.com/",
      "https://mcp.example.com//": "https://mcp.example.com/...",
      "https://mcp.example.com/MARK/mcp": "https://mcp.example.com/...",
      "https://mcp.example.com:8443/mcp": "https://mcp.example.com:8443/...",
      "http://[2606:4700::1111]:8080/mcp": "http://[2606:4700::1111]:8080/...",
    };
    for (const [url, text] of Object.entries(redacted)) {
      it(`shows ${url} as ${text} [P10.1]`, () => {
        expect(redactEndpoint(url)).to.equal(text);
        expect(denialText(decision({ endpoint: url })).split("\n")).to.include(`Endpoint: ${text}`);
      });
    }
  });

  describe("against remote prose", () => {
    it("holds nothing that case G-23 plants, nor do history and log [P10.2]", async () => {
      const { policy, response, forbidden } = plantedCase();
      const host = await openWith({ policy });
      host.guild.answer("*", {
        kind: "json",
        body: (url) => ({ ...response, target: url }),
      });
      await monologue(host.agent, [{ toolCalls: [{ name: "pub_server.search", args: {} }] }]);
      const visible = textsIn([host.agent.history.messages, host.agent.context.log.items]).join("\n");
      expect(visible).to.include("(do_not_delegate)");
      for (const text of forbidden) expect(visible).to.not.include(text);
      expect(host.guild.requests).to.have.lengthOf(1);
      expect(host.server().toolCalls).to.have.lengthOf(0);
    });

    it("is in our own words, whatever the Guild writes [P10.1, P10.2]", async () => {
      const host = await openWith({
        cache_ttl_seconds: 0,
        policy: { on_caution: "deny", required_proven: ["agent_card_signed"] },
      });
      await fc.assert(
        fc.asyncProperty(hostileBodies, async (body) => {
          host.guild.answer("*", { kind: "json", body });
          await monologue(host.agent, [{ toolCalls: [{ name: "pub_server.search", args: {} }] }]);
          const denial = host.agent.history.messages.at(-1);
          expect(denial?.role).to.equal("warning");
          expect(Buffer.byteLength(denial?.content ?? "")).to.be.at.most(2048);
          const visible = textsIn([denial, host.agent.context.log.items.slice(-2)]).join("\n");
          // Every word of ours is plain ASCII, and the prose is anything but.
          expect(visible)
            .to.match(/^[\n\x20-\x7e]*$/)
            .and.not.include("MARK");
        }),
        { numRuns: 80 },
      );
    });
  });

  describe("in its length", () => {
    it("is at most 2,048 bytes with the longest of everything [P10.4]", () => {
      const label = "a".repeat(61);
      const endpoint = `https://${label}.${label}.${label}.${label}.example.com:65535/mcp`;
      const statuses = Object.fromEntries(CHECKS.map((check) => [check, "unknown" as const]));
      const names = Array.from({ length: 3000 }, (_, index) => [`unlisted_${index}`, "unknown"] as const);
      const body = preflightBody(endpoint, statuses, { unlisted: Object.fromEntries(names) });
      for (const reason of REASONS) {
        const text = denialText(
          decision({
            reason,
            endpoint,
            policy: { ...DEFAULT_SETTINGS.policy, requiredProven: CHECKS },
            outcome: observation(body, endpoint),
          }),
        );
        expect(Buffer.byteLength(text)).to.be.at.most(2048);
      }
    });

    it("is at most 2,048 bytes with hundreds of setting errors, the rest counted [P10.4]", async () => {
      const keys = Array.from({ length: 300 }, (_, index) => `${"k".repeat(58)}_${1000 + index}`);
      const host = await open({ config: () => Object.fromEntries(keys.map((key) => [key, "MARK"])) });
      const outcome = await host.call();
      const text = outcome.kind === "denied" ? outcome.message : "";
      const shown = keys.filter((key) => text.includes(key));
      expect(Buffer.byteLength(text)).to.be.within(1, 2048);
      expect(shown).to.deep.equal(keys.slice(0, shown.length)).and.not.empty;
      expect(text.split("\n")).to.include(`- +${300 - shown.length} more`);
      expect(text).to.include("tell the operator").and.not.include("MARK");
    });

    it("counts nothing when every setting error is shown [P10.4]", async () => {
      const host = await open({ config: () => ({ one: 1, two: 2 }) });
      const outcome = await host.call();
      expect(outcome.kind === "denied" && outcome.message)
        .to.include("- one: ")
        .and.include("- two: ")
        .and.not.include("more");
    });

    it("is at most 2,048 bytes, however long and many the setting errors are [P10.4]", () => {
      fc.assert(
        fc.property(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 2000 }), (count, length) => {
          const errors = Array.from({ length: count }, (_, index) => ({
            path: `p${index}`,
            expected: "x".repeat(length),
          }));
          const text = configurationDenialText("config.json", errors);
          const shown = errors.filter(({ path }) => text.includes(`- ${path}: `)).length;
          expect(Buffer.byteLength(text)).to.be.at.most(2048);
          expect(text.includes(`- +${count - shown} more`)).to.equal(shown < count);
        }),
      );
    });
  });
});

function decision(more: Partial<Decision>): Decision {
  return {
    decision: "deny",
    reason: "url_mismatch",
    call: { server: "pub_server", tool: "search" },
    endpoint: "https://mcp.example.com/mcp",
    policy: DEFAULT_SETTINGS.policy,
    outcome: null,
    decidedAt: new Date(),
    ...more,
  };
}

function failed(error: PreflightError): PreflightOutcome {
  return { kind: "failure", error, guildOrigin: "http://127.0.0.1:1", saysDoNotDelegate: false };
}

/** The oldest observation that a denial can rest on. */
function observation(body: PreflightBody, target: string): PreflightOutcome {
  const reading = readPreflightAnswer(Buffer.from(JSON.stringify(body)), target);
  if (reading.kind !== "consistent") throw new Error("the body of the test is inconsistent");
  const { answer } = reading;
  const guildOrigin = "http://127.0.0.1:1";
  return {
    kind: "observation",
    observation: { answer, guildOrigin, observedAt: new Date(), cached: true, ageSeconds: 86_400 },
  };
}

/** Letters, pictures and controls, none of which any text of ours holds, and now and then a mark. */
const prose = fc.string({
  unit: fc.constantFrom(
    ..."\u0430 \u0431 \u03b1 \u4e2d \u6587 \u00e9 \u{1f512} \u202e \u200b \u001b \u0007 \u0000 \u0085".split(
      " ",
    ),
    "\r",
    "\t",
    "\u2028",
    "MARK",
  ),
  minLength: 1,
  maxLength: 40,
});

/** Answers of a call that is denied, with hostile prose wherever the Guild may write some, or where it may not. */
const hostileBodies: fc.Arbitrary<AnswerBody> = fc
  .record({
    base: fc.constantFrom(healthy, unsignedCard, endpointDown, handshakeUnknown),
    unlisted: fc.dictionary(prose, fc.constantFrom("proven", "failed", "unknown"), { maxKeys: 3 }),
    members: fc.dictionary(prose, prose, { maxKeys: 3 }),
    texts: fc.tuple(prose, prose, prose, prose, prose),
    wrong: fc.constantFrom(
      "nothing",
      "nothing",
      "nothing",
      "target",
      "verdict",
      "status",
      "failed",
      "everything",
    ),
  })
  .map(({ base, unlisted, members, texts, wrong }) => {
    const [headline, method, limits, detail, declared] = texts;
    return (url: string) => {
      const statuses = Object.fromEntries(base(url).checks.map(({ check, status }) => [check, status]));
      const body = preflightBody(url, statuses, { unlisted });
      const checks = body.checks.map((check) => ({ ...members, ...check, detail, declared_name: declared }));
      const answer: Record<string, unknown> = { ...members, ...body, checks, headline, method, limits };
      if (wrong === "everything") return headline;
      if (wrong === "status") return { ...answer, checks: [{ ...checks[0], status: detail }] };
      return wrong === "nothing" ? answer : { ...answer, [wrong]: detail };
    };
  });

/** The case that plants instructions in every text of an answer. */
function plantedCase() {
  const path = join(packageRoot, "release-support", "native-tests", "cases", "cases.json");
  const cases = JSON.parse(readFileSync(path, "utf8")) as readonly {
    readonly id: string;
    readonly input: {
      readonly config: { readonly policy: unknown };
      readonly guild_response: Readonly<Record<string, unknown>>;
    };
    readonly expected: { readonly must_not_contain_in_denial_history_or_chat_log: readonly string[] };
  }[];
  const found = cases.find(({ id }) => id === "G-23");
  if (found === undefined) throw new Error("the case G-23 is missing");
  const { input, expected } = found;
  return {
    policy: input.config.policy,
    response: input.guild_response,
    forbidden: expected.must_not_contain_in_denial_history_or_chat_log.map((text) =>
      text.replace(/^U\+([0-9A-F]{4})$/, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
    ),
  };
}
