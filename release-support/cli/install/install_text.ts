import type { Paint } from "../../terminal/terminal.ts";
import { shown, wrap } from "../../terminal/text.ts";
import type { InstallDocument, ProtectionDocument, UninstallDocument } from "./install_documents.ts";

/** What was put in place, what is protected now, and what is left to do. */
export function installText(document: InstallDocument, paint: Paint): string {
  const { root, path, version, replaced, enabled, protected: protections } = document;
  const was = replaced === null ? "" : ` in place of ${versionOf(replaced.version)}`;
  return [
    ...wrap(`Installed version ${version}${was}.`),
    ...wrap(shown(`${root}/${path}`), { first: "  " }),
    ...(replaced === null ? [] : replacedLines(replaced)),
    "",
    paint("bold", "Protected now"),
    ...protections.flatMap((protection) => protectionLines(protection, protections.length)),
    ...(enabled ? [] : ["", ...wrap("The plugin is switched off by a toggle, so nothing is gated.")]),
    "",
    paint("bold", "To do"),
    ...todos(document).flatMap((todo, index) => wrap(todo, { first: `  ${index + 1}. ` })),
  ].join("\n");
}

function todos({ enabled, protected: protections }: InstallDocument): string[] {
  const isEmpty = protections.every(({ valid, servers }) => valid && servers.length === 0);
  return [
    "Restart the host. Until then it gates with what it has loaded.",
    ...(enabled ? [] : ["Switch the plugin on: remove its .toggle-0."]),
    ...(isEmpty ? ["Say which servers to protect: agent-guild-preflight init --root DIR"] : []),
    "See whether all is well: agent-guild-preflight doctor --root DIR",
  ];
}

/** What was taken out, and what that means. */
export function uninstallText({ root, removed, unprotects, remains }: UninstallDocument): string {
  return [
    ...wrap(`Removed ${versionOf(removed.version)}.`),
    ...wrap(shown(`${root}/${removed.path}`), { first: "  " }),
    ...replacedLines(removed),
    "",
    ...(unprotects.length === 0
      ? ["It protected nothing."]
      : [
          "Not protected any more:",
          ...unprotects.flatMap((protection) => protectionLines(protection, unprotects.length)),
        ]),
    ...(remains === null ? [] : ["", ...wrap(shown(remains), { first: "Another copy counts now: " })]),
    "",
    ...wrap("A running host drops the gate within a second or two. Restart it to be sure."),
  ].join("\n");
}

function versionOf(version: string | null): string {
  return version === null ? "a version that does not say which" : `version ${shown(version)}`;
}

/** How many paths are listed before the rest is counted. */
const MAX_LISTED = 8;

function replacedLines({
  kept,
  dropped,
}: {
  readonly kept: readonly string[];
  readonly dropped: readonly string[];
}): string[] {
  return [
    ...(kept.length === 0 ? [] : wrap(listed(kept), { first: "  kept: " })),
    ...(dropped.length === 0 ? [] : wrap(listed(dropped), { first: "  gone, and not of that release: " })),
  ];
}

/** Names so many paths, and counts the rest. */
export function listed(paths: readonly string[], limit = MAX_LISTED): string {
  const rest = paths.length - limit;
  return [...paths.slice(0, limit).map(shown), ...(rest > 0 ? [`+${rest} more`] : [])].join(", ");
}

function protectionLines(
  { project, profile, file, valid, servers }: ProtectionDocument,
  of: number,
): string[] {
  const whose = [
    ...(project === null ? [] : [`project ${shown(project)}`]),
    ...(profile === null ? [] : [`profile ${shown(profile)}`]),
  ];
  const head = whose.length === 0 ? (of === 1 ? "everywhere" : "everywhere else") : whose.join(", ");
  const by = file === null ? "" : ` (${shown(file)})`;
  if (!valid)
    return wrap(`${head}: the configuration cannot be used, so no MCP tool runs${by}`, { first: "  " });
  if (servers.length === 0) return wrap(`${head}: nothing${by}`, { first: "  " });
  return [
    ...wrap(`${head}${by}`, { first: "  " }),
    ...servers.flatMap(({ name, endpoint }) =>
      wrap(`${shown(name)}: ${endpoint ?? "a URL that may not be disclosed, so every call is denied"}`, {
        first: "    ",
        rest: "      ",
      }),
    ),
  ];
}
