// A stdio MCP server made by hand, which does what a well-behaved one does not. With `--stubborn` it outlives the end of
// its standard input and SIGTERM, with `--mute` it answers nothing at all.
import { createInterface } from "node:readline";

interface Message {
  readonly id: number;
  readonly method: string;
  readonly params: { readonly name: string; readonly arguments?: { readonly text?: string } };
}

const TOOLS: Readonly<Record<string, (text: string) => string | null>> = {
  echo: (text) => text,
  pid: () => String(process.pid),
  argv: () => JSON.stringify(process.argv.slice(2)),
  env: () => JSON.stringify(process.env),
  never: () => {
    process.stderr.write("asked\n");
    return null;
  },
  endless: () => {
    for (let times = 0; times < 33; times += 1) process.stdout.write("x".repeat(1024 * 1024));
    return null;
  },
  big: () => "x".repeat(11 * 1024 * 1024),
  exit: () => process.exit(3),
  noise: () => {
    process.stdout.write('starting up...\n{"half": \n[]\n{"jsonrpc":"2.0"}\n');
    return "after the noise";
  },
  log: (text) => {
    process.stderr.write(text);
    return "logged";
  },
};

function answer({ id, method, params }: Message): void {
  switch (method) {
    case "initialize":
      return send(id, {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "handmade", version: "1.0.0" },
      });
    case "tools/list":
      return send(id, {
        tools: Object.keys(TOOLS).map((name) => ({ name, inputSchema: { type: "object" } })),
      });
    case "tools/call": {
      const text = TOOLS[params.name]?.(params.arguments?.text ?? "") ?? null;
      if (text !== null) send(id, { content: [{ type: "text", text }] });
      return;
    }
    default:
  }
}

function send(id: number, result: unknown): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
}

process.stderr.write(`pid ${process.pid}\n`);
if (process.argv.includes("--stubborn")) {
  process.on("SIGTERM", () => undefined);
  setInterval(() => undefined, 1000);
}
for await (const line of createInterface({ input: process.stdin })) {
  if (!process.argv.includes("--mute")) answer(JSON.parse(line) as Message);
}
