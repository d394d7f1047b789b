import { join } from "node:path";

import { enabledPlugins } from "../../../helpers/config/enabled_plugins.ts";
import { disk } from "../../../helpers/config/file_view.ts";
import { Agent } from "./agent.ts";
import { RepairableException } from "./exceptions.ts";
import { monologue } from "./monologue.ts";
import type { ToolArgs } from "./tool.ts";

/**
 * The tool `call_subordinate`: hands a message to an agent one level down, which has the same context and hence project,
 * and its superior's profile unless it is given another existing one (SPEC H9).
 *
 * @param agent - the agent that delegates
 * @param args - `message`, and optionally `profile`
 * @returns what the subordinate answered
 * @throws RepairableException when the profile does not exist, or the host has no model for subordinates: nothing ran
 */
export async function callSubordinate(agent: Agent, args: ToolArgs): Promise<string> {
  const { subordinateModel } = agent.host;
  if (subordinateModel === null) {
    throw new RepairableException("This host has no model for subordinate agents. Do the task yourself.");
  }
  const profile = profileOf(agent, args["profile"]);
  const message = typeof args["message"] === "string" ? args["message"] : "";
  const subordinate = new Agent(agent.context, agent.number + 1, { profile }, agent);
  subordinate.history.add({ role: "user", content: message });
  const result = await monologue(subordinate, subordinateModel(subordinate, message));
  return result.kind === "answer" ? result.message : "The subordinate ended without an answer.";
}

function profileOf(agent: Agent, wanted: unknown): string {
  if (wanted === undefined || wanted === null || wanted === "") return agent.config.profile;
  if (typeof wanted === "string" && profileExists(agent, wanted)) return wanted;
  throw new RepairableException("There is no such agent profile, so no subordinate was started.");
}

function profileExists(agent: Agent, profile: string): boolean {
  if (profile === "." || profile === ".." || /[/\\\0]/.test(profile)) return false;
  const { root } = agent.host;
  const { project } = agent.context;
  const folders = [
    ...(project === null ? [] : [join(root, "usr/projects", project, ".a0proj")]),
    join(root, "usr"),
    ...enabledPlugins(root, { project, profile }, "empty").map(({ path }) => path),
    root,
  ];
  return folders.some((folder) => isFolder(join(folder, "agents", profile)));
}

/** What cannot be looked at does not count: the profile must be there, or nothing runs. */
function isFolder(path: string): boolean {
  const seen = disk.sight(path);
  return seen.kind === "present" && seen.isFolder;
}
