// Packs this package, installs it into an empty project, compiles a program against its types there and runs it: what
// a user of the library does first. Needs a built `dist/` and, for the dependencies, the npm registry or npm's cache.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { packageRoot } from "./package_root.ts";

/** Uses every part of the public API; each `@ts-expect-error` is a mistake that the types must catch. */
const PROGRAM = `
import { GuardedAgentError, GuardedMcpAgent, PINNED_CONTRACT, PreflightPolicy, PublicMcpEndpoint, ScriptedPromptExecutor, traceOf } from "agent-guild-preflight/guarded-agent";
import type { GuardedMcpAgentOptions, ModelTurn, PreflightObservation, Prompt, PromptExecutor, RunResult } from "agent-guild-preflight/guarded-agent";

const url = "https://mcp.invalid-host.example.com/mcp";
const endpoint: PublicMcpEndpoint = PublicMcpEndpoint.of(url, { discloseEndpointToAgentGuild: true, tools: ["search"] });
const policy: PreflightPolicy = PreflightPolicy.of({
  requiredProven: ["endpoint_reachable"],
  allowedVerdicts: ["no_failed_checks", "delegate_with_caution"],
  allowedUnknowns: ["payment_claim_holds"],
});
class OwnExecutor implements PromptExecutor {
  async execute(prompt: Prompt, { signal }: { readonly signal: AbortSignal }): Promise<ModelTurn> {
    signal.throwIfAborted();
    return { kind: "answer", text: prompt.messages.map((message) => message.role).join() };
  }
  close(): void {}
}
const audit = (observation: PreflightObservation): string =>
  observation.kind === "answered" ? observation.statuses.agent_card_signed : observation.error;
const options: GuardedMcpAgentOptions = {
  promptExecutor: new OwnExecutor(),
  config: { maxIterations: 3 },
  endpoints: [endpoint],
  policy,
  onObservation: (observation) => void audit(observation),
  onDecision: ({ runId, decision, reason }) => void [runId, decision === "deny" ? reason : "sent"],
  signal: AbortSignal.abort(new Error("nothing is connected to")),
};

function expectTypeError(action: () => unknown): void {
  try {
    action();
  } catch (error) {
    if (error instanceof TypeError) return;
    throw error;
  }
  throw new Error("a mistake went through");
}

// @ts-expect-error consent has no default
expectTypeError(() => PublicMcpEndpoint.of(url));
// @ts-expect-error consent is the literal true
expectTypeError(() => PublicMcpEndpoint.of(url, { discloseEndpointToAgentGuild: false }));
// @ts-expect-error there is no other way to an endpoint
expectTypeError(() => new PublicMcpEndpoint("https://127.0.0.1/mcp", { discloseEndpointToAgentGuild: true }));
// @ts-expect-error do_not_delegate always denies
expectTypeError(() => PreflightPolicy.of({ allowedVerdicts: ["do_not_delegate"] }));
// @ts-expect-error the checks are known by name
expectTypeError(() => PreflightPolicy.of({ requiredProven: ["reachable"] }));
// @ts-expect-error agents are made by create
expectTypeError(() => new GuardedMcpAgent());
// @ts-expect-error an endpoint is more than its URL
const look: PublicMcpEndpoint = { url };
expectTypeError(() => PublicMcpEndpoint.of("https://127.0.0.1/mcp", { discloseEndpointToAgentGuild: true }));

async function twice(agent: GuardedMcpAgent): Promise<string> {
  const { answer, trace }: RunResult = await agent.run("first");
  const second = await agent.run("second", { history: trace.messages }).catch((error: unknown) => traceOf(error)?.runId);
  await agent[Symbol.asyncDispose]();
  return [answer, second, ...agent.tools().map(({ name, endpoint }) => name + endpoint)].join();
}
if (typeof twice !== "function") throw new Error("unreachable");

const aborted = await GuardedMcpAgent.create(options).then(() => "created", (error: Error) => error.message);
if (aborted !== "nothing is connected to") throw new Error("creation was not cancelled: " + aborted);
const refused = await GuardedMcpAgent.create({ ...options, endpoints: [look], signal: undefined }).then(() => null, (error: unknown) => error);
if (!(refused instanceof TypeError)) throw new Error("a look-alike endpoint went through");
const door = "agent-guild-preflight/dist/release-support/guarded-agent/loopback.js";
const closed = await import(door).then(() => "open", (error: { code?: string }) => error.code);
if (closed !== "ERR_PACKAGE_PATH_NOT_EXPORTED") throw new Error("the inside of the test door is open: " + closed);
for (const [path, expected] of [["openai", "loaded"], ["anthropic", "loaded"], ["testing", "loaded"], ["ai-sdk", "ERR_MODULE_NOT_FOUND"]]) {
  const name = "agent-guild-preflight/guarded-agent/" + path;
  const found = await import(name).then(() => "loaded", (error: { code?: string }) => error.code);
  if (found !== expected) throw new Error(name + " without its optional package: " + found);
}
if (new GuardedAgentError("closed").code !== "closed" || PINNED_CONTRACT.commit.length !== 7) throw new Error("wrong values");
await new ScriptedPromptExecutor([{ kind: "answer", text: "" }]).execute({ messages: [], tools: [] });
console.log("consumer ran");
`;

const PACKAGE = { name: "consumer", private: true, type: "module" };

/** No types but the language's and the web's: the package's own declarations need no others. */
const TSCONFIG = {
  compilerOptions: {
    module: "nodenext",
    target: "es2023",
    lib: ["es2023", "dom"],
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
  },
  include: ["consumer.ts"],
};

const project = mkdtempSync(join(tmpdir(), "guarded-agent-consumer-"));
try {
  const packed = run(packageRoot, "npm", [
    "pack",
    "--ignore-scripts",
    "--json",
    "--pack-destination",
    project,
  ]);
  const [{ filename }] = JSON.parse(packed) as [{ readonly filename: string }];
  writeFileSync(join(project, "package.json"), JSON.stringify(PACKAGE));
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify(TSCONFIG));
  writeFileSync(join(project, "consumer.ts"), PROGRAM);
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
  run(project, "npm", ["install", ...quiet, join(project, filename)]);
  console.log(`packed and installed ${filename}`);
  const compiler = join(packageRoot, "node_modules", "typescript", "bin", "tsc");
  run(project, process.execPath, [compiler, "-p", project]);
  console.log("compiled with skipLibCheck: false");
  process.stdout.write(run(project, process.execPath, ["consumer.js"]));
} finally {
  rmSync(project, { recursive: true, force: true });
}

/** Runs a program to its end and gives what it printed; if it fails, shows its output and ends this one. */
function run(cwd: string, program: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: "utf8" });
  if (status === 0) return stdout;
  process.stderr.write(`${stdout}${stderr}\n`);
  throw new Error(`consumer check: ${program} ${args[0] ?? ""} failed; see above`);
}
