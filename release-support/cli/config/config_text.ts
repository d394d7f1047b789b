import type {
  ConfigFile,
  ConfigListDocument,
  ConfigRemoveDocument,
  ConfigShowDocument,
} from "../output_schemas.ts";
import type { Paint } from "../../terminal/terminal.ts";
import { shown, wrap } from "../../terminal/text.ts";

/** Every file, whose it is and whether it is valid. */
export function listText({ files }: ConfigListDocument, paint: Paint): string {
  if (files.length === 0) {
    return wrap(
      "The root has no config.json of the plugin: its default_config.yaml decides everywhere.",
    ).join("\n");
  }
  return files.flatMap((file) => fileLines(file, paint)).join("\n");
}

/** One file: whose it is, what is wrong with it, and each value it holds. */
export function showText({ file, value }: ConfigShowDocument, paint: Paint): string {
  return [...fileLines(file, paint), ...(value === null ? [] : ["", ...valueLines(value, "")])].join("\n");
}

/** What was removed, and what decides instead. */
export function removedText({ removed, decides_now: decides }: ConfigRemoveDocument): string {
  return [
    ...wrap(shown(removed), { first: "Removed " }),
    ...wrap(
      decides === null ? "Nothing decides in its place: MCP tools do not run." : shown(decides),
      decides === null ? {} : { first: "In its place decides " },
    ),
  ].join("\n");
}

function fileLines({ scope, project, profile, path, valid, errors }: ConfigFile, paint: Paint): string[] {
  const whose = [
    ...(project === null ? [] : [`project ${shown(project)}`]),
    ...(profile === null ? [] : [`profile ${shown(profile)}`]),
  ];
  const state = valid ? paint("good", "valid") : paint("bad", "not valid");
  const head = wrap(`${scope}${whose.length === 0 ? "" : ` (${whose.join(", ")})`}`);
  return [
    ...head.slice(0, -1),
    `${head.at(-1) ?? ""}: ${state}`,
    ...wrap(shown(path), { first: "  " }),
    ...errors.flatMap((error) =>
      wrap(`${error.path === "" ? "(the whole file)" : error.path}: expected ${error.expected}`, {
        first: "  ! ",
      }),
    ),
  ];
}

type Value = Exclude<ConfigShowDocument["value"], null> | null;

/** A map that lies deeper is written on one line: no setting does. */
const MAX_INDENT = 8;

/** A value of the file, a setting a line: nothing of it can break a line or a terminal. */
function valueLines(value: Value, indent: string): string[] {
  if (!isMap(value)) return wrap(shown(JSON.stringify(value)), { first: indent, rest: `${indent}  ` });
  return Object.entries(value).flatMap(([key, member]) => {
    const name = shown(key);
    if (isMap(member) && indent.length < MAX_INDENT) {
      return [...wrap(`${name}:`, { first: indent }), ...valueLines(member, `${indent}  `)];
    }
    return wrap(`${name}: ${shown(JSON.stringify(member))}`, { first: indent, rest: `${indent}  ` });
  });
}

function isMap(value: Value): value is { [key: string]: Value } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
