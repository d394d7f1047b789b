import { preflightBody } from "../guild/preflight_bodies.ts";
import type { CallReason } from "../host/call_recorder.ts";
import type { Scenario } from "./scenario.ts";
import type { Welcome } from "./front_door.ts";
import type { DemoWorld } from "./world.ts";

const denied = (reason: CallReason) => ({ outcome: "denied", reason }) as const;
const ran = (reason: CallReason) => ({ outcome: "ran", reason }) as const;

/** `pub_server` is protected, and this is what the Guild's probe meets there. */
function probeMeets(world: DemoWorld, welcome: Welcome, more: Readonly<Record<string, unknown>> = {}): void {
  world.frontDoor.welcome = welcome;
  world.configure(more);
}

/** Every way in which a call can end, one after the other in one host. */
export const SCENARIOS: readonly Scenario[] = [
  {
    name: "healthy endpoint",
    story: "Reachable, speaks MCP, no agent card: nothing denies the call.",
    path: "native",
    request: "pub_server.search",
    expected: ran("not_denied"),
    prepare: (world) => probeMeets(world, "server"),
  },
  {
    name: "endpoint down",
    story: "The Guild gets no answer. No policy overrides do_not_delegate.",
    path: "text",
    request: "pub_server.search",
    expected: denied("do_not_delegate"),
    prepare(world) {
      const lenient = { on_caution: "allow", on_unavailable: "allow", required_proven: [] };
      probeMeets(world, "silence", { policy: lenient });
    },
  },
  {
    name: "no MCP spoken",
    story: "Where the server was, a web page answers: reachable, but no handshake.",
    path: "native",
    request: "pub_server.search",
    expected: denied("do_not_delegate"),
    prepare: (world) => probeMeets(world, "web_page"),
  },
  {
    name: "required check unknown",
    story: "It asks the Guild for authorization, so the required handshake is unknown.",
    path: "text",
    request: "pub_server.search",
    expected: denied("required_not_proven"),
    prepare: (world) => probeMeets(world, "authorization"),
  },
  {
    name: "caution accepted",
    story: "An unsigned agent card makes the verdict cautious; this policy goes on.",
    path: "text",
    request: "card_server.search",
    expected: ran("not_denied"),
    prepare: (world) => world.protect("card_server", { policy: { on_caution: "allow" } }),
  },
  {
    name: "caution refused",
    story: "The same endpoint under a policy that does not accept caution.",
    path: "native",
    request: "card_server.search",
    expected: denied("caution"),
    prepare: (world) => world.protect("card_server", { policy: { on_caution: "deny" } }),
  },
  {
    name: "signed card",
    story: "A signature is there, which is all that is looked at: nobody verified it.",
    path: "text",
    request: "seal_server.search",
    expected: ran("not_denied"),
    prepare: (world) => world.protect("seal_server", { policy: { on_caution: "deny" } }),
  },
  {
    name: "paid card",
    story: "The card speaks of payment, the root answers 402, the policy requires both.",
    path: "native",
    request: "paid_server.search",
    expected: ran("not_denied"),
    prepare: (world) =>
      world.protect("paid_server", {
        policy: { required_proven: ["agent_card_signed", "payment_claim_holds"] },
      }),
  },
  {
    name: "Guild unreachable",
    story: "Nobody listens where the Guild should be: no evidence, no call.",
    path: "text",
    request: "pub_server.search",
    expected: denied("evidence_unavailable"),
    synthetic: true,
    prepare: (world) => probeMeets(world, "server", { fixture_guild_origin: world.deadOrigin }),
  },
  {
    name: "Guild too slow",
    story: "The answer drips in for 8 s; the deadline of 0.5 s ends it.",
    path: "native",
    request: "pub_server.search",
    expected: denied("evidence_unavailable"),
    synthetic: true,
    prepare(world) {
      world.configure({ timeout_seconds: 0.5, fixture_guild_origin: world.scriptedGuild.origin });
      world.scriptedGuild.answer("*", { kind: "drip_body", everyMs: 100, spaces: 80 });
    },
  },
  {
    name: "inconsistent evidence",
    story: "The verdict is kinder than the checks below it: not evidence at all.",
    path: "text",
    request: "pub_server.search",
    expected: denied("evidence_unavailable"),
    synthetic: true,
    prepare(world) {
      world.configure({ fixture_guild_origin: world.scriptedGuild.origin });
      const body = (target: string) => ({
        ...preflightBody(target, { agent_card_signed: "failed" }),
        verdict: "no_failed_checks",
      });
      world.scriptedGuild.answer("*", { kind: "json", body });
    },
  },
  {
    name: "URL mismatch",
    story: "The server is configured with another URL than the approved one.",
    path: "native",
    request: "pub_server.search",
    expected: denied("url_mismatch"),
    prepare: (world) => world.configure({ protected_servers: { pub_server: `${world.urls.pub_server}/` } }),
  },
  {
    name: "ambiguous server",
    story: "Twin-Server and twin server are one name: which of them would be called?",
    path: "text",
    request: "twin_server.search",
    expected: denied("ambiguous_server"),
    prepare: (world) => world.protect("twin_server"),
  },
  {
    name: "local server",
    story: "A process on this machine answers to a protected name.",
    path: "native",
    request: "desk_server.search",
    expected: denied("local_server"),
    prepare: (world) => world.configure({ protected_servers: { desk_server: world.urls.pub_server } }),
  },
  {
    name: "ineligible URL",
    story: "The approved URL carries a query, so nothing is disclosed and nothing runs.",
    path: "text",
    request: "pub_server.search",
    expected: denied("ineligible_endpoint"),
    prepare: (world) =>
      world.configure({ protected_servers: { pub_server: `${world.urls.pub_server}?key=1` } }),
  },
  {
    name: "binding changed",
    story: "The server's URL changes while its old endpoint is being probed.",
    path: "native",
    request: "pub_server.search",
    expected: denied("binding_changed"),
    prepare: (world) => probeMeets(world, "server"),
    async meanwhile(world) {
      const probe = world.server("pub_server").holdMethod("initialize");
      await probe.arrived;
      world.configureServers({ pub_server: { url: world.urls.twin_server, type: "streamable-http" } });
      probe.release();
    },
  },
  {
    name: "first of two calls",
    story: "Asked afresh, and remembered for five minutes.",
    path: "text",
    request: "open_server.search",
    expected: ran("not_denied"),
    prepare(world) {
      world.configureServers();
      world.protect("open_server", { cache_ttl_seconds: 300 });
    },
  },
  {
    name: "second of two calls",
    story: "Served from the cache and labelled so: the Guild sees nothing.",
    path: "native",
    request: "open_server.search",
    expected: ran("not_denied"),
  },
  {
    name: "unprotected server",
    story: "No operator protects this server: the Guild sees nothing.",
    path: "text",
    request: "news_server.search",
    expected: ran("not_protected"),
    prepare: (world) => world.configure(),
  },
  {
    name: "blocked by tool policy",
    story: "The host's own policy denies first: the gate is not reached.",
    path: "native",
    request: "pub_server.search",
    expected: denied("tool_policy"),
    prepare(world) {
      world.configure();
      world.root.writeConfig({ mode: "custom", blocked: ["mcp:pub_server:search"] }, {}, "_tool_access");
    },
  },
  {
    name: "invalid configuration",
    story: "A misspelt setting: with no trustworthy configuration no MCP tool runs.",
    path: "text",
    request: "news_server.search",
    expected: denied("configuration_invalid"),
    prepare(world) {
      world.root.delete("usr/plugins/_tool_access");
      world.configure({ protectd_servers: {} });
    },
  },
];
