/** An MCP server and a scripted Guild in a process of their own, so that what they do costs the measured process nothing. */
import { startMcpServer } from "../../fixtures/mcp_server.ts";
import { startScriptedGuild } from "../../guild/scripted_guild.ts";
import type { Servers } from "./servers.ts";

const [mcp, guild] = await Promise.all([
  startMcpServer({ transport: "streamable_http" }),
  startScriptedGuild(),
]);
const addresses: Servers = { mcpUrl: mcp.url, guildOrigin: guild.origin };
process.send?.(addresses);
process.once("disconnect", () => {
  void Promise.all([mcp.close(), guild.close()]);
});
