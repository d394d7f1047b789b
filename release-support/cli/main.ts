import { demo } from "./demo.ts";

const [command, ...flags] = process.argv.slice(2);
const unknown = flags.find((flag) => flag !== "--json");
if (command !== "demo" || unknown !== undefined) {
  console.error(
    command === "demo" ? `unknown flag ${String(unknown)}` : "usage: agent-guild-preflight demo [--json]",
  );
  process.exitCode = 2;
} else {
  process.exitCode = await demo(flags.includes("--json"));
}
