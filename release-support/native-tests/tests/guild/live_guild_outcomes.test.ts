import { expect } from "chai";

import { startMcpServer } from "../../../fixtures/mcp_server.ts";
import type { McpServerOptions } from "../../../fixtures/mcp_server.ts";
import type { Verdict } from "../../../guild/preflight_bodies.ts";
import { MAX_ANSWER_BYTES } from "../../../guild/probe_request.ts";
import {
  answer,
  CARD_LINE,
  checkOf,
  event,
  eventStream,
  hangUp,
  initializeResponse,
  json,
  LiveBench,
  redirect,
  silence,
  summary,
  torn,
  unfinished,
} from "./live_support.ts";
import type { Routes } from "./live_support.ts";

/** What an endpoint does, and what the live Guild makes of it. */
interface Outcome {
  readonly title: string;
  /** Of the target; `/mcp` unless it says otherwise. */
  readonly path?: string;
  readonly routes: Routes;
  /** Whether it lets a request run into its deadline, which is shortened then. */
  readonly stalls?: boolean;
  /** The statuses of the six checks in order, by first letter. */
  readonly statuses: string;
  readonly verdict: Verdict;
  /** The requests that it must cost, in order, where that is of interest. */
  readonly requests?: readonly string[];
}

const GOOD = initializeResponse();
const HEALTHY: Routes = { "POST /mcp": json(GOOD) };
const NOTIFICATION = { jsonrpc: "2.0", method: "notifications/message", params: { data: "starting" } };
const CARD = { name: "A synthetic agent", skills: [] };
const PADDING = " ".repeat(MAX_ANSWER_BYTES);
const ANY_CARD = { [CARD_LINE]: json({ name: "no agent" }) };

const withCard = (members: object): Routes => ({ ...HEALTHY, [CARD_LINE]: json({ ...CARD, ...members }) });

const MCP_OUTCOMES: readonly Outcome[] = [
  {
    title: "an initialize answer in plain JSON is a handshake",
    routes: HEALTHY,
    statuses: "ppuuuu",
    verdict: "no_failed_checks",
    requests: ["POST /mcp", CARD_LINE],
  },
  {
    title: "an initialize answer in an event stream is a handshake",
    routes: { "POST /mcp": eventStream(event(GOOD)) },
    statuses: "ppuuuu",
    verdict: "no_failed_checks",
  },
  {
    title: "a notification before the answer does not matter",
    routes: { "POST /mcp": eventStream(event(NOTIFICATION) + event(GOOD)) },
    statuses: "ppuuuu",
    verdict: "no_failed_checks",
  },
  {
    title: "a stream that stays open behind the answer does not matter",
    routes: { "POST /mcp": unfinished(event(GOOD), "text/event-stream") },
    statuses: "ppuuuu",
    verdict: "no_failed_checks",
  },
  {
    title: "a stream that ends in the middle of the answer is no handshake",
    routes: { "POST /mcp": eventStream(event(GOOD).slice(0, -1)) },
    statuses: "pffuuu",
    verdict: "do_not_delegate",
  },
  {
    title: "a stream that stalls in the middle of the answer is inconclusive",
    stalls: true,
    routes: { "POST /mcp": unfinished(event(GOOD).slice(0, -1), "text/event-stream"), ...ANY_CARD },
    statuses: "pupfuu",
    verdict: "delegate_with_caution",
    requests: ["POST /mcp", CARD_LINE],
  },
  {
    title: "plain JSON that stalls is inconclusive",
    stalls: true,
    routes: { "POST /mcp": unfinished(JSON.stringify(GOOD)), ...ANY_CARD },
    statuses: "pupfuu",
    verdict: "delegate_with_caution",
  },
  {
    title: "plain JSON that breaks off is inconclusive",
    routes: { "POST /mcp": torn(JSON.stringify(GOOD)), ...ANY_CARD },
    statuses: "pupfuu",
    verdict: "delegate_with_caution",
  },
  {
    title: "an answer beyond 8 KiB is inconclusive",
    routes: { "POST /mcp": answer(200, JSON.stringify(GOOD) + PADDING), ...ANY_CARD },
    statuses: "pupfuu",
    verdict: "delegate_with_caution",
  },
  ...[401, 402, 403].map((status) => ({
    title: `${status} leaves the handshake unknown`,
    routes: { "POST /mcp": answer(status), ...ANY_CARD },
    statuses: "pupfuu",
    verdict: "delegate_with_caution" as const,
    requests: ["POST /mcp", CARD_LINE],
  })),
  {
    title: "401 without an agent card fails only that check",
    routes: { "POST /mcp": answer(401) },
    statuses: "pufuuu",
    verdict: "delegate_with_caution",
  },
  {
    title: "an answer with another id is no handshake",
    routes: { "POST /mcp": json(initializeResponse({ response: { id: 2 } })) },
    statuses: "pffuuu",
    verdict: "do_not_delegate",
    requests: ["POST /mcp", CARD_LINE],
  },
  {
    title: "a protocol version that is no date of the calendar is no handshake",
    routes: { "POST /mcp": json(initializeResponse({ result: { protocolVersion: "2025-02-30" } })) },
    statuses: "pffuuu",
    verdict: "do_not_delegate",
  },
  {
    title: "a page is no handshake",
    routes: { "POST /mcp": answer(200, "<html></html>", "text/html") },
    statuses: "pffuuu",
    verdict: "do_not_delegate",
  },
  {
    title: "404 for initialize and for the path is reachable, without a handshake",
    routes: {},
    statuses: "pffuuu",
    verdict: "do_not_delegate",
    requests: ["POST /mcp", "HEAD /mcp", CARD_LINE],
  },
  {
    title: "a server that knows no POST is reachable, without a handshake",
    routes: { "POST /mcp": answer(501), "HEAD /mcp": answer(200) },
    statuses: "pffuuu",
    verdict: "do_not_delegate",
  },
  {
    title: "405 for HEAD leads to GET",
    routes: { "POST /mcp": answer(405), "HEAD /mcp": answer(405), "GET /mcp": answer(200) },
    statuses: "pffuuu",
    verdict: "do_not_delegate",
    requests: ["POST /mcp", "HEAD /mcp", "GET /mcp", CARD_LINE],
  },
  {
    title: "405 for HEAD and a server error for GET is not reachable",
    routes: { "POST /mcp": answer(405), "HEAD /mcp": answer(405), "GET /mcp": answer(500) },
    statuses: "fufuuu",
    verdict: "do_not_delegate",
  },
  {
    title: "a redirect is not followed and not reachable",
    routes: {
      "POST /mcp": redirect("/there", 308),
      "HEAD /mcp": redirect("/there"),
      "POST /there": json(GOOD),
      "HEAD /there": answer(200),
    },
    statuses: "fufuuu",
    verdict: "do_not_delegate",
    requests: ["POST /mcp", "HEAD /mcp", CARD_LINE],
  },
  {
    title: "a server error is not reachable",
    routes: { "POST /mcp": answer(503), "HEAD /mcp": answer(503), [CARD_LINE]: answer(503) },
    statuses: "fufuuu",
    verdict: "do_not_delegate",
  },
  {
    title: "silence is not reachable",
    stalls: true,
    routes: { "POST /mcp": silence, "HEAD /mcp": silence, [CARD_LINE]: silence },
    statuses: "fufuuu",
    verdict: "do_not_delegate",
    requests: ["POST /mcp", "HEAD /mcp", CARD_LINE],
  },
  {
    title: "a connection that is closed without an answer is not reachable",
    routes: { "POST /mcp": hangUp, "HEAD /mcp": hangUp, [CARD_LINE]: hangUp },
    statuses: "fufuuu",
    verdict: "do_not_delegate",
  },
  {
    title: "an unanswered initialize leaves the handshake unknown when the path answers",
    stalls: true,
    routes: { "POST /mcp": silence, "HEAD /mcp": answer(200), ...ANY_CARD },
    statuses: "pupfuu",
    verdict: "delegate_with_caution",
  },
];

const A2A_OUTCOMES: readonly Outcome[] = [
  ...["/", "/a2a", "/v1/a2a/agent"].map((path) => ({
    title: `a card with skills is a handshake for ${path}`,
    path,
    routes: { [CARD_LINE]: json({ ...CARD, signatures: [{}] }) },
    statuses: "ppppuu",
    verdict: "no_failed_checks" as const,
    requests: [CARD_LINE],
  })),
  {
    title: "a card with a protocol version is a handshake",
    path: "/",
    routes: { [CARD_LINE]: json({ protocolVersion: "0.3.0" }) },
    statuses: "pppfuu",
    verdict: "delegate_with_caution",
  },
  {
    title: "a card cut off by the read cap is one when it names its skills",
    path: "/",
    routes: { [CARD_LINE]: answer(200, JSON.stringify(CARD) + PADDING) },
    statuses: "pppuuu",
    verdict: "no_failed_checks",
    requests: [CARD_LINE],
  },
  {
    title: "a card that names its skills behind the read cap is none",
    path: "/",
    routes: { [CARD_LINE]: answer(200, `{"about":"${PADDING}","skills":[]}`), "HEAD /": answer(200) },
    statuses: "pfpuuu",
    verdict: "do_not_delegate",
  },
  {
    title: "a card of exactly 8 KiB is read whole",
    path: "/",
    routes: {
      [CARD_LINE]: answer(200, JSON.stringify({ ...CARD, proof: { a: 1 } }).padEnd(MAX_ANSWER_BYTES)),
    },
    statuses: "ppppuu",
    verdict: "no_failed_checks",
  },
  {
    title: "a card of one byte more is not",
    path: "/",
    routes: {
      [CARD_LINE]: answer(200, JSON.stringify({ ...CARD, proof: { a: 1 } }).padEnd(MAX_ANSWER_BYTES + 1)),
    },
    statuses: "pppuuu",
    verdict: "no_failed_checks",
  },
  {
    title: "an object that is no agent's card is no handshake",
    path: "/",
    routes: { ...ANY_CARD, "HEAD /": answer(200) },
    statuses: "pfpfuu",
    verdict: "do_not_delegate",
    requests: [CARD_LINE, "HEAD /"],
  },
  {
    title: "a plain site is reachable, without a handshake",
    path: "/",
    routes: { "HEAD /": answer(200, "", "text/html") },
    statuses: "pffuuu",
    verdict: "do_not_delegate",
  },
  {
    title: "a card that does not come leaves the handshake unknown when the path answers",
    stalls: true,
    path: "/a2a",
    routes: { [CARD_LINE]: silence },
    statuses: "pufuuu",
    verdict: "delegate_with_caution",
    requests: [CARD_LINE, "HEAD /a2a"],
  },
  {
    title: "a card that breaks off is no handshake and does not resolve",
    path: "/a2a",
    routes: { [CARD_LINE]: torn(JSON.stringify(CARD)) },
    statuses: "pufuuu",
    verdict: "delegate_with_caution",
  },
  {
    title: "MCP is tried where a path names both and there is no card",
    path: "/a2a/mcp",
    routes: { "POST /a2a/mcp": json(GOOD) },
    statuses: "ppuuuu",
    verdict: "no_failed_checks",
    requests: [CARD_LINE, "POST /a2a/mcp"],
  },
  {
    title: "MCP is not tried where a path names both and the card is a handshake",
    path: "/a2a/mcp",
    routes: { [CARD_LINE]: json({ ...CARD, signatures: [1] }), "POST /a2a/mcp": json(GOOD) },
    statuses: "ppppuu",
    verdict: "no_failed_checks",
    requests: [CARD_LINE],
  },
  {
    title: "MCP's answer counts where a path names both and only initialize wants authorization",
    path: "/a2a/mcp",
    routes: { "POST /a2a/mcp": answer(401) },
    statuses: "pufuuu",
    verdict: "delegate_with_caution",
  },
];

const PLAIN_OUTCOMES: readonly Outcome[] = [
  ...[200, 204, 400, 401, 404, 429].map((status) => ({
    title: `${status} is reachable, the handshake unknown`,
    path: "/api",
    routes: { "HEAD /api": answer(status) },
    statuses: "pufuuu",
    verdict: "delegate_with_caution" as const,
    requests: ["HEAD /api", CARD_LINE],
  })),
  ...[301, 304, 307, 500, 503].map((status) => ({
    title: `${status} is not reachable`,
    path: "/api",
    routes: { "HEAD /api": redirect("/elsewhere", status) },
    statuses: "fufuuu",
    verdict: "do_not_delegate" as const,
  })),
  {
    title: "405 for HEAD leads to GET, whose body does not matter",
    path: "/api",
    routes: { "HEAD /api": answer(405), "GET /api": unfinished("a body without an end") },
    statuses: "pufuuu",
    verdict: "delegate_with_caution",
    requests: ["HEAD /api", "GET /api", CARD_LINE],
  },
  {
    title: "405 for both is reachable",
    path: "/api",
    routes: { "HEAD /api": answer(405), "GET /api": answer(405) },
    statuses: "pufuuu",
    verdict: "delegate_with_caution",
  },
  {
    title: "405 and then silence is not reachable",
    stalls: true,
    path: "/api",
    routes: { "HEAD /api": answer(405), "GET /api": silence },
    statuses: "fufuuu",
    verdict: "do_not_delegate",
  },
  {
    title: "the query belongs to the path that is asked",
    path: "/api?key=1#part",
    routes: { "HEAD /api?key=1": answer(200) },
    statuses: "pufuuu",
    verdict: "delegate_with_caution",
    requests: ["HEAD /api?key=1", CARD_LINE],
  },
];

const CARD_OUTCOMES: readonly Outcome[] = [
  {
    title: "an unsigned card fails the signature",
    routes: withCard({}),
    statuses: "pppfuu",
    verdict: "delegate_with_caution",
  },
  {
    title: "a list of signatures is one",
    routes: withCard({ signatures: [{ signature: "synthetic" }] }),
    statuses: "ppppuu",
    verdict: "no_failed_checks",
  },
  {
    title: "a proof is one",
    routes: withCard({ proof: { type: "synthetic" } }),
    statuses: "ppppuu",
    verdict: "no_failed_checks",
  },
  {
    title: "an empty list and an empty proof are none",
    routes: withCard({ signatures: [], proof: {} }),
    statuses: "pppfuu",
    verdict: "delegate_with_caution",
  },
  {
    title: "signatures that are no list and a proof that is no object are none",
    routes: withCard({ signatures: { a: 1 }, proof: [1] }),
    statuses: "pppfuu",
    verdict: "delegate_with_caution",
  },
  {
    title: "any JSON object is a card",
    routes: { ...HEALTHY, [CARD_LINE]: json({}) },
    statuses: "pppfuu",
    verdict: "delegate_with_caution",
  },
  {
    title: "an oversized card resolves, and the rest of it stays unknown",
    routes: { ...HEALTHY, [CARD_LINE]: answer(200, JSON.stringify({ ...CARD, price: "1 USDC" }) + PADDING) },
    statuses: "pppuuu",
    verdict: "no_failed_checks",
    requests: ["POST /mcp", CARD_LINE],
  },
  {
    title: "an oversized page does not resolve",
    routes: { ...HEALTHY, [CARD_LINE]: answer(200, `<html>${PADDING}`) },
    statuses: "ppfuuu",
    verdict: "delegate_with_caution",
  },
  {
    title: "404 leaves the card unknown only after an MCP handshake",
    routes: HEALTHY,
    statuses: "ppuuuu",
    verdict: "no_failed_checks",
  },
  ...[
    ["a list", json([CARD])],
    ["no JSON", answer(200, "{")],
    ["no UTF-8", answer(200, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))],
    ["410", answer(410)],
    ["401", json(CARD, 401)],
    ["500", json(CARD, 500)],
    ["a redirect", redirect("/card")],
    ["no answer", hangUp],
    ["an answer that stalls", unfinished(JSON.stringify(CARD))],
  ].map(([title, reply]) => ({
    title: `${title as string} instead of a card does not resolve, even after an MCP handshake`,
    stalls: title === "an answer that stalls",
    routes: { ...HEALTHY, [CARD_LINE]: reply as ReturnType<typeof answer> },
    statuses: "ppfuuu",
    verdict: "delegate_with_caution" as const,
  })),
];

const PAYMENT_OUTCOMES: readonly Outcome[] = [
  ...["x402", "Payment", "PAID", "price", "usdc", "costs 402"].map((word) => ({
    title: `a card that says "${word}" has its claim proven by a root that answers 402`,
    routes: { ...withCard({ proof: { a: 1 }, about: word }), "GET /": answer(402) },
    statuses: "pppppu",
    verdict: "no_failed_checks" as const,
    requests: ["POST /mcp", CARD_LINE, "GET /"],
  })),
  ...[
    ["200", answer(200)],
    ["401", answer(401)],
    ["a redirect", redirect("/pay")],
    ["no answer", hangUp],
  ].map(([title, reply]) => ({
    title: `a root with ${title as string} leaves the claim unknown`,
    routes: { ...withCard({ proof: { a: 1 }, price: 1 }), "GET /": reply as ReturnType<typeof answer> },
    statuses: "ppppuu",
    verdict: "no_failed_checks" as const,
  })),
  {
    title: "a card that does not speak of payment has no claim, and the root is not asked",
    routes: { ...withCard({ proof: { a: 1 } }), "GET /": answer(402) },
    statuses: "ppppuu",
    verdict: "no_failed_checks",
    requests: ["POST /mcp", CARD_LINE],
  },
  {
    title: "a root that answers 402 is no claim without a card",
    routes: { ...HEALTHY, "GET /": answer(402) },
    statuses: "ppuuuu",
    verdict: "no_failed_checks",
    requests: ["POST /mcp", CARD_LINE],
  },
];

const GROUPS: readonly (readonly [title: string, outcomes: readonly Outcome[]])[] = [
  ["at a path with /mcp", MCP_OUTCOMES],
  ["at the root or a path with /a2a", A2A_OUTCOMES],
  ["at any other path", PLAIN_OUTCOMES],
  ["about the agent card", CARD_OUTCOMES],
  ["about payment", PAYMENT_OUTCOMES],
];

describe("what the live Guild finds", () => {
  const bench = new LiveBench();

  afterEach(() => bench.close());

  for (const [title, outcomes] of GROUPS) {
    describe(title, () => {
      for (const outcome of outcomes) {
        it(`${outcome.title} [S2, P7.1]`, async () => {
          const endpoint = await bench.endpoint(outcome.routes);
          const target = endpoint.origin + (outcome.path ?? "/mcp");

          const body = await bench.probe(target, outcome.stalls === true ? { requestMs: 400 } : {});

          expect([summary(body), body.verdict]).to.deep.equal([outcome.statuses, outcome.verdict]);
          if (outcome.requests !== undefined) expect(endpoint.lines).to.deep.equal(outcome.requests);
          await endpoint.listener.waitForSocketClose();
        });
      }
    });
  }

  it("nothing where nobody listens [S2]", async () => {
    const endpoint = await bench.endpoint();
    await endpoint.listener.close();
    const body = await bench.probe(`${endpoint.origin}/mcp`);
    expect([summary(body), body.verdict]).to.deep.equal(["fufuuu", "do_not_delegate"]);
  });
});

describe("what the live Guild finds at a real MCP server", () => {
  const bench = new LiveBench();

  afterEach(() => bench.close());

  async function statusesAt(options: McpServerOptions): Promise<string> {
    const server = await startMcpServer(options);
    bench.onClose(() => server.close());
    return summary(await bench.probe(server.url));
  }

  it("a handshake in an event stream [S2]", async () => {
    expect(await statusesAt({ transport: "streamable_http" })).to.equal("ppuuuu");
  });

  it("a handshake in plain JSON [S2]", async () => {
    expect(await statusesAt({ transport: "streamable_http", jsonResponses: true })).to.equal("ppuuuu");
  });

  it("a handshake on IPv6 [S2]", async () => {
    expect(await statusesAt({ transport: "streamable_http", family: 6 })).to.equal("ppuuuu");
  });

  it("its card and its price [S2]", async () => {
    const documents = {
      "/.well-known/agent-card.json": { status: 200, json: { ...CARD, signatures: [1], price: "1 USDC" } },
      "/": { status: 402, json: {} },
    };
    expect(await statusesAt({ transport: "streamable_http", documents })).to.equal("pppppu");
  });

  it("no protocol probe for the path of an SSE server, which answers GET only [S2]", async () => {
    expect(await statusesAt({ transport: "sse" })).to.equal("pufuuu");
  });
});

describe("what the live Guild passes on from an agent card", () => {
  const DID = "did:web:agents.example.com:one";
  const registry = { [DID]: { agent_id: "agent-1", attestations_received: 3 } };
  const bench = new LiveBench();

  afterEach(() => bench.close());

  async function probeCard(card: object) {
    const endpoint = await bench.endpoint({ [CARD_LINE]: json(card) });
    return await bench.probe(endpoint.origin, { registry });
  }

  for (const member of ["did", "id"]) {
    it(`independent evidence for a known DID in ${member} [S2]`, async () => {
      const body = await probeCard({ ...CARD, [member]: DID });
      expect(checkOf(body, "independent_evidence")).to.include({
        status: "proven",
        agent_id: "agent-1",
        attestations_received: 3,
      });
    });
  }

  it("no independent evidence for another DID, or one that is only part of a text [S2]", async () => {
    for (const did of ["did:web:agents.example.com:two", `${DID}:more`, ` ${DID}`, [DID], null]) {
      const body = await probeCard({ ...CARD, did });
      expect(checkOf(body, "independent_evidence").status).to.equal("unknown");
    }
  });

  it("no independent evidence from a card that is cut off [S2]", async () => {
    const endpoint = await bench.endpoint({
      [CARD_LINE]: answer(200, JSON.stringify({ ...CARD, did: DID }) + PADDING),
    });
    const body = await bench.probe(endpoint.origin, { registry });
    expect(checkOf(body, "independent_evidence").status).to.equal("unknown");
  });

  it("the declared name, shortened to 200 characters [S2]", async () => {
    const short = await probeCard({ ...CARD, name: "An agent" });
    const long = await probeCard({ ...CARD, name: "\u{1f600}".repeat(300) });
    expect(checkOf(short, "agent_card_resolves")["declared_name"]).to.equal("An agent");
    expect(checkOf(long, "agent_card_resolves")["declared_name"]).to.equal("\u{1f600}".repeat(200));
  });

  it("nothing else: no other text of the card is in the answer [S2]", async () => {
    const secret = "remote-text-that-must-not-pass";
    const body = await probeCard({
      skills: [secret],
      name: " ",
      description: secret,
      did: `did:web:${secret}`,
    });
    expect(JSON.stringify(body)).to.not.include(secret);
    expect(checkOf(body, "agent_card_resolves")).to.not.have.property("declared_name");
  });
});
