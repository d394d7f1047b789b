/// <reference types="node" />
// The author's own test of the plugin beside it: `node test.mjs [PLUGIN_FOLDER]`. It exits with 1 when a check fails.
import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { dispatch, exceptionKind, Host, monologue } from "agent-guild-preflight/host";
import { HostRoot, startMcpServer } from "agent-guild-preflight/testing";

const PLUGIN = "argument_limit";
const folder = process.argv[2] ?? fileURLToPath(new URL(PLUGIN, import.meta.url));

const SHORT = { text: "x" };
const LONG = { text: "x".repeat(1001) };
const DENIAL = /^argument_limit: \d+ bytes of arguments are too many/;

// A real MCP server, and a host root that uses it, with the plugin where an operator would put it.
const server = await startMcpServer({ transport: "streamable_http" });
const root = new HostRoot();
cpSync(folder, join(root.path, "usr/plugins", PLUGIN), { recursive: true });
root.writeMcpServers({ mcpServers: { notes: { url: server.url, type: "streamable-http" } } });
// In this project the plugin is off.
root.write(`usr/projects/archive/.a0proj/plugins/${PLUGIN}/.toggle-0`, "");

const host = await Host.open({
  root: root.path,
  tools: { local_note: ({ text }) => `noted ${String(text).length} characters` },
});

const checks = {
  "the plugin is loaded": () => {
    const { agent0 } = host.createContext();
    const stems = host.extensions.inForce("tool_execute_before", agent0).map(({ stem }) => stem);
    assert.ok(stems.includes("_40_argument_limit"));
  },

  "a short call reaches the server": async () => {
    const { agent0 } = host.createContext();
    const { message } = await dispatch(agent0, { name: "notes.echo", args: SHORT });
    assert.equal(message, "x");
    assert.deepEqual(server.toolCalls.at(-1), { tool: "echo", arguments: SHORT });
  },

  "a long call is denied and never reaches the server": async () => {
    const { agent0 } = host.createContext();
    const before = server.toolCalls.length;
    const call = dispatch(agent0, { name: "notes.echo", args: LONG });
    await assert.rejects(call, (error) => exceptionKind(error) === "repairable");
    await assert.rejects(call, { message: DENIAL });
    assert.equal(server.toolCalls.length, before);
  },

  "the agent sees the denial as a warning and goes on": async () => {
    const { agent0 } = host.createContext();
    const result = await monologue(agent0, [
      { toolCalls: [{ name: "notes.echo", args: LONG }] },
      JSON.stringify({ tool_name: "response", tool_args: { text: "done" } }),
    ]);
    assert.deepEqual(result, { kind: "answer", message: "done" });
    const warnings = agent0.history.messages.filter(({ role }) => role === "warning");
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]?.content ?? "", DENIAL);
  },

  "calls in parallel are held to it one by one": async () => {
    const { agent0 } = host.createContext();
    const calls = [LONG, SHORT].map((args) => ({ tool_name: "notes.echo", tool_args: args }));
    const { message } = await dispatch(agent0, { name: "parallel", args: { tool_calls: calls } });
    const results = /** @type {{ status: string }[]} */ (JSON.parse(message));
    assert.deepEqual(
      results.map(({ status }) => status),
      ["error", "done"],
    );
  },

  "local tools are none of its business": async () => {
    const { agent0 } = host.createContext();
    const { message } = await dispatch(agent0, { name: "local_note", args: LONG });
    assert.equal(message, "noted 1001 characters");
  },

  "a project can switch it off": async () => {
    const { agent0 } = host.createContext({ project: "archive" });
    const { message } = await dispatch(agent0, { name: "notes.echo", args: LONG });
    assert.equal(message, LONG.text);
  },
};

try {
  for (const [name, check] of Object.entries(checks)) {
    await check();
    console.log(`ok: ${name}`);
  }
} finally {
  await host.close();
  await server.close();
  root.remove();
}
