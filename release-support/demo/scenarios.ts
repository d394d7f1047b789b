import {
  endpointDown,
  handshakeUnknown,
  healthy,
  preflightBody,
  unsignedCard,
} from "../guild/preflight_bodies.ts";
import type { DemoReason, Scenario } from "./scenario.ts";
import type { DemoWorld } from "./world.ts";

const denied = (reason: DemoReason) => ({ outcome: "denied", reason }) as const;
const ran = (reason: DemoReason) => ({ outcome: "ran", reason }) as const;

/** What the Guild says of the protected endpoint from now on. */
function guildSays({ guild, urls }: DemoWorld, body: (target: string) => Record<string, unknown>): void {
  guild.answer(urls.pub_server, { kind: "json", body });
}

/** Every way in which a call can end, one after the other in one host. */
export const SCENARIOS: readonly Scenario[] = [
  {
    name: "healthy endpoint",
    story: "Reachable, speaks MCP, no agent card: nothing denies the call.",
    path: "native",
    request: "pub_server.search",
    expected: ran("not_denied"),
    prepare(world) {
      world.configure();
      guildSays(world, healthy);
    },
  },
  {
    name: "endpoint down",
    story: "The Guild cannot reach the endpoint. No policy overrides do_not_delegate.",
    path: "text",
    request: "pub_server.search",
    expected: denied("do_not_delegate"),
    prepare(world) {
      world.configure({ policy: { on_caution: "allow", on_unavailable: "allow", required_proven: [] } });
      guildSays(world, endpointDown);
    },
  },
  {
    name: "required check unknown",
    story: "The handshake could not be observed, and the policy requires it proven.",
    path: "native",
    request: "pub_server.search",
    expected: denied("required_not_proven"),
    prepare(world) {
      world.configure();
      guildSays(world, handshakeUnknown);
    },
  },
  {
    name: "caution accepted",
    story: "An unsigned agent card makes the verdict cautious; this policy goes on.",
    path: "text",
    request: "pub_server.search",
    expected: ran("not_denied"),
    prepare(world) {
      world.configure({ policy: { on_caution: "allow" } });
      guildSays(world, unsignedCard);
    },
  },
  {
    name: "caution refused",
    story: "The same evidence under a policy that does not accept caution.",
    path: "native",
    request: "pub_server.search",
    expected: denied("caution"),
    prepare(world) {
      world.configure({ policy: { on_caution: "deny" } });
      guildSays(world, unsignedCard);
    },
  },
  {
    name: "Guild unreachable",
    story: "Nobody listens where the Guild should be: no evidence, no call.",
    path: "text",
    request: "pub_server.search",
    expected: denied("evidence_unavailable"),
    prepare: (world) => world.configure({ fixture_guild_origin: world.deadOrigin }),
  },
  {
    name: "Guild too slow",
    story: "The answer drips in for 8 s; the deadline of 0.5 s ends it.",
    path: "native",
    request: "pub_server.search",
    expected: denied("evidence_unavailable"),
    prepare(world) {
      world.configure({ timeout_seconds: 0.5 });
      world.guild.answer(world.urls.pub_server, { kind: "drip_body", everyMs: 100, spaces: 80 });
    },
  },
  {
    name: "inconsistent evidence",
    story: "The verdict is kinder than the checks below it: not evidence at all.",
    path: "text",
    request: "pub_server.search",
    expected: denied("evidence_unavailable"),
    prepare(world) {
      world.configure();
      guildSays(world, (target) => ({
        ...preflightBody(target, { agent_card_signed: "failed" }),
        verdict: "no_failed_checks",
      }));
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
    prepare: (world) => world.configure({ protected_servers: { twin_server: world.urls.twin_server } }),
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
    story: "The server's URL changes while its old endpoint is being checked.",
    path: "native",
    request: "pub_server.search",
    expected: denied("binding_changed"),
    prepare(world) {
      world.configure();
      guildSays(world, healthy);
    },
    async meanwhile(world) {
      const hold = world.guild.hold(world.urls.pub_server);
      await hold.arrived;
      world.configureServers({ pub_server: { url: world.urls.twin_server, type: "streamable-http" } });
      hold.release();
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
      world.configure({ protected_servers: { open_server: world.urls.open_server }, cache_ttl_seconds: 300 });
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
    request: "open_server.search",
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
    request: "open_server.search",
    expected: denied("configuration_invalid"),
    prepare(world) {
      world.root.delete("usr/plugins/_tool_access");
      world.configure({ protectd_servers: {} });
    },
  },
];
