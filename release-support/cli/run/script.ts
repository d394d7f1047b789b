import { readFileSync } from "node:fs";

import * as z from "zod";

import type { ModelTurn } from "../../host/agents/monologue.ts";
import { CannotRun } from "../cannot_run.ts";

const nativeTurn = z.strictObject({
  tool_calls: z
    .array(
      z.strictObject({ name: z.string().min(1), arguments: z.record(z.string(), z.unknown()).optional() }),
    )
    .min(1),
});

/** A script: what a model says, turn by turn. */
const scriptSchema = z.array(z.union([z.string(), nativeTurn])).min(1);

/**
 * Reads a script of model turns (SPEC C2): YAML or JSON, a list whose items are a text, as a model writes it, or
 * `{tool_calls: [{name, arguments}]}`.
 *
 * @param path - the file
 * @throws CannotRun when it cannot be read or is no script; the message says where, and repeats nothing of it
 */
export async function readScript(path: string): Promise<ModelTurn[]> {
  const value = await parse(readText(path));
  const script = scriptSchema.safeParse(value);
  if (!script.success) throw new CannotRun(`--script: ${problemOf(script.error)}`);
  return script.data.map((turn) =>
    typeof turn === "string"
      ? turn
      : { toolCalls: turn.tool_calls.map(({ name, arguments: args = {} }) => ({ name, args })) },
  );
}

function readText(path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    const what = error instanceof TypeError ? "is not UTF-8 text" : "cannot be read";
    throw new CannotRun(`--script: the file ${what}; give a YAML or JSON file of model turns`);
  }
}

/** JSON is YAML too. */
async function parse(text: string): Promise<unknown> {
  const { parseDocument } = await import("yaml");
  const document = parseDocument(text, { prettyErrors: true, logLevel: "silent" });
  const [error] = document.errors;
  if (error !== undefined) {
    const line = error.linePos?.[0].line;
    throw new CannotRun(
      `--script: the file is not YAML or JSON${line === undefined ? "" : `, see line ${line}`}`,
    );
  }
  try {
    return document.toJS();
  } catch {
    throw new CannotRun("--script: the file refers to itself too often or to what is not there");
  }
}

function problemOf({ issues: [issue] }: z.ZodError): string {
  const item = issue?.path[0];
  return typeof item === "number"
    ? `item ${item + 1} is neither a text nor {tool_calls: [{name, arguments}]}`
    : "the file must hold a list of at least one model turn";
}
