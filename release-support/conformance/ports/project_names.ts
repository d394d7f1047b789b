import { validateProjectName } from "../../host/agents/projects.ts";
import type { Port } from "../runner.ts";

export default {
  run(input: unknown) {
    const checked = validateProjectName(pythonText(input));
    return checked.kind === "valid" ? checked.name : { error: "ValueError", message: checked.problem };
  },
} satisfies Port;

/** What the framework makes of a JSON value that is no name: nothing of a false one, else Python's `str()` of it. */
function pythonText(value: unknown): string {
  if (typeof value === "string") return value;
  const isEmpty = typeof value === "object" && (value === null || Object.keys(value).length === 0);
  return isEmpty || value === false || value === 0 ? "" : pythonLiteral(value);
}

function pythonLiteral(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return quote(value);
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value).map(([key, member]) => `${quote(key)}: ${pythonLiteral(member)}`);
  return `{${members.join(", ")}}`;
}

function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  return mark + text.replaceAll("\\", "\\\\").replaceAll(mark, `\\${mark}`) + mark;
}
