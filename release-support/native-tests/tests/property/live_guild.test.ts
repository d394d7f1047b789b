import type { ServerResponse } from "node:http";

import { expect } from "chai";
import * as fc from "fast-check";

import { messageEvents } from "../../../guild/event_stream.ts";
import { readInitializeAnswer } from "../../../guild/handshake.ts";
import { startLiveGuild } from "../../../guild/live_guild.ts";
import type { LiveGuild } from "../../../guild/live_guild.ts";
import { screenTarget } from "../../../guild/probe_policy.ts";
import { CARD_LINE, initializeResponse, preflight, ProbedEndpoint, summary } from "../guild/live_support.ts";

/** What an endpoint does with one kind of request. */
interface Behaviour {
  readonly status: number;
  readonly type: string;
  readonly body: Uint8Array;
  readonly ending: "end" | "stall" | "break" | "silence" | "hang_up";
  readonly headers: Readonly<Record<string, string>>;
}

const DID = "did:web:agents.example.com:one";

const cardLike = fc.record(
  {
    name: fc.oneof(fc.string({ unit: "binary", maxLength: 300 }), fc.jsonValue()),
    skills: fc.jsonValue(),
    protocolVersion: fc.jsonValue(),
    signatures: fc.oneof(fc.array(fc.jsonValue(), { maxLength: 2 }), fc.jsonValue()),
    proof: fc.jsonValue(),
    price: fc.string(),
    did: fc.constantFrom<unknown>(DID, "did:web:other", 1, null),
  },
  { requiredKeys: [] },
);
const initializeLike = fc
  .record({
    id: fc.constantFrom<unknown>(1, 1, 1, 2, "1", null),
    protocolVersion: fc.constantFrom<unknown>("2025-03-26", "2025-06-18", "2025-02-30", "draft", 3),
  })
  .map(({ id, protocolVersion }) => initializeResponse({ response: { id }, result: { protocolVersion } }));
const bodyText = fc.oneof(
  cardLike.map((card) => JSON.stringify(card)),
  initializeLike.map((message) => JSON.stringify(message)),
  initializeLike.map((message) => `: hello\n\ndata: ${JSON.stringify(message)}\n\n`),
  fc.json(),
  fc.string({ unit: "binary" }),
);
const bodyBytes = fc.oneof(
  { weight: 4, arbitrary: bodyText.map((text) => Buffer.from(text)) },
  { weight: 1, arbitrary: bodyText.map((text) => Buffer.from(text.padEnd(9000))) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }) },
);
const behaviour: fc.Arbitrary<Behaviour> = fc.record({
  status: fc.oneof(
    { weight: 3, arbitrary: fc.constant(200) },
    { weight: 2, arbitrary: fc.constantFrom(201, 204, 301, 304, 401, 402, 403, 404, 405, 429, 500, 503) },
    { weight: 1, arbitrary: fc.integer({ min: 200, max: 999 }) },
  ),
  type: fc.constantFrom("application/json", "text/event-stream", "text/html", "application/json; charset=x"),
  body: bodyBytes,
  ending: fc.oneof(
    { weight: 8, arbitrary: fc.constant("end" as const) },
    { weight: 1, arbitrary: fc.constantFrom("stall", "break", "silence", "hang_up") },
  ),
  headers: fc.constantFrom<Readonly<Record<string, string>>>(
    {},
    { location: "http://127.0.0.1:1/" },
    { "content-encoding": "gzip" },
    { "content-length": "20000" },
  ),
});
const behaviours = fc.record({
  post: behaviour,
  head: behaviour,
  get: behaviour,
  card: behaviour,
  root: behaviour,
});
type Behaviours = typeof behaviours extends fc.Arbitrary<infer Value> ? Value : never;

const path = fc.oneof(
  fc.constantFrom("", "/", "/mcp", "/mcp", "/a2a", "/a2a/mcp", "/api", "/mcp?a=b#c", "//", "/m%63p"),
  fc.webPath(),
  fc.string({ unit: "binary" }).map((text) => `/mcp${text}`),
);

/** Targets that lead to the endpoint, and targets that lead nowhere: no name resolves. */
const anyTarget = fc.oneof(
  path,
  fc.webUrl({ withQueryParameters: true, withFragments: true }),
  fc.string({ unit: "binary" }),
  fc
    .tuple(
      fc.constantFrom("http://", "https://", "HTTP:", "ftp://", "http:\\\\"),
      fc.constantFrom(
        "10.0.0.1",
        "[fe80::1]",
        "[::ffff:127.0.0.1]",
        "me@mcp.example.com",
        "localhost.",
        "0",
        "a..b",
        "%",
      ),
      fc.constantFrom("", ":0", ":1", ":80", ":65536", ":x"),
      path,
    )
    .map((parts) => parts.join("")),
);

function play(behave: Behaviour, response: ServerResponse): void {
  if (behave.ending === "silence") return;
  if (behave.ending === "hang_up") {
    response.destroy();
    return;
  }
  response.on("error", () => undefined);
  response.writeHead(behave.status, { "content-type": behave.type, ...behave.headers });
  if (behave.ending === "end") response.end(behave.body);
  else response.write(behave.body, () => behave.ending === "break" && response.destroy());
}

describe("the live Guild, for any target and any endpoint", () => {
  let guild: LiveGuild;
  let endpoint: ProbedEndpoint;
  let current: Behaviours;

  before(async () => {
    // Every request that a probe can make, whatever the path.
    const routes = new Proxy<Record<string, never>>(
      {},
      {
        getOwnPropertyDescriptor: () => ({ configurable: true, enumerable: true }),
        get: (_routes, line) => (response: ServerResponse) => play(behaviourFor(String(line)), response),
      },
    );
    endpoint = await ProbedEndpoint.start(routes);
    guild = await startLiveGuild({
      allowLoopback: true,
      requestMs: 60,
      registry: { [DID]: { agent_id: "agent-1", attestations_received: 2 } },
      lookup: (_host, _options, callback) => callback(new Error("no such host"), []),
    });
  });

  after(async () => {
    await guild.close();
    await endpoint.listener.close();
  });

  function behaviourFor(line: string): Behaviour {
    if (line === CARD_LINE) return current.card;
    if (line === "GET /") return current.root;
    if (line.startsWith("POST ")) return current.post;
    return line.startsWith("HEAD ") ? current.head : current.get;
  }

  it("gives an answer that both readers of the contract accept [S2, P7.1]", async function () {
    this.timeout(60_000);
    await fc.assert(
      fc.asyncProperty(path, behaviours, async (suffix, behaves) => {
        current = behaves;
        // `preflight` holds the answer against the plugin's reader and the guarded agent's.
        await preflight(guild, endpoint.origin + suffix);
        await endpoint.listener.waitForSocketClose();
      }),
      { numRuns: 250 },
    );
  });

  it("gives one for any text at all as target [S2, P7.1]", async function () {
    this.timeout(60_000);
    await fc.assert(
      fc.asyncProperty(anyTarget, async (target) => {
        const body = await preflight(guild, target);
        expect([summary(body), body.verdict]).to.deep.equal(["fufuuu", "do_not_delegate"]);
      }),
      { numRuns: 300 },
    );
  });

  it("says do not delegate exactly when a blocking check failed, and counts no unknown [S2]", async function () {
    this.timeout(60_000);
    await fc.assert(
      fc.asyncProperty(behaviours, async (behaves) => {
        current = behaves;
        const body = await preflight(guild, `${endpoint.origin}/mcp`);
        const [reachable, handshake, ...others] = summary(body);
        const blocked = reachable === "f" || handshake === "f";
        const expected = blocked
          ? "do_not_delegate"
          : others.includes("f")
            ? "delegate_with_caution"
            : "no_failed_checks";
        expect(body.verdict).to.equal(expected);
        // Nothing is proven of an endpoint that was not reached but by its card.
        if (reachable === "f") expect(handshake).to.equal("u");
      }),
      { numRuns: 100 },
    );
  });
});

describe("the readers of the live Guild, for any text", () => {
  it("answer instead of throwing [S2]", () => {
    const contentType = fc.constantFrom("application/json", "text/event-stream", "");
    const ending = fc.constantFrom("complete", "capped", "cut", "left");
    fc.assert(
      fc.property(
        bodyBytes,
        contentType,
        ending,
        fc.integer({ min: 200, max: 999 }),
        (bytes, type, end, status) => {
          const reading = readInitializeAnswer({
            kind: "answer",
            status,
            contentType: type,
            body: bytes,
            ending: end,
          });
          if (reading === "handshake") expect(status).to.be.below(300);
        },
      ),
      { numRuns: 1000 },
    );
    fc.assert(
      fc.property(
        fc.oneof(anyTarget, fc.string({ unit: "binary" })),
        fc.boolean(),
        (target, allowLoopback) => {
          const screening = screenTarget(target, { allowLoopback });
          if (screening.kind === "refused") return;
          expect(screening.url.username + screening.url.password).to.equal("");
          expect(screening.url.protocol).to.match(/^https?:$/);
          if (!allowLoopback) expect(["", "80", "443", "8080", "8443"]).to.include(screening.url.port);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it("find the events of a stream whatever is cut off behind them [S2]", () => {
    const line = fc.string({ unit: "binary" }).map((text) => text.replaceAll(/[\r\n]/g, ""));
    const lineEnd = fc.constantFrom("\n", "\r\n", "\r");
    fc.assert(
      fc.property(fc.array(line, { maxLength: 5 }), lineEnd, fc.nat(), (data, end, cut) => {
        const stream = data.map((text) => `data: ${text}${end}${end}`).join("");
        expect(messageEvents(stream)).to.deep.equal(data);
        const part = messageEvents(stream.slice(0, cut % (stream.length + 1)));
        expect(part).to.deep.equal(data.slice(0, part.length));
      }),
      { numRuns: 1000 },
    );
  });
});
