import { join } from "node:path";

import { folderNames } from "../root_flags.ts";
import type { RootScope } from "../root_flags.ts";

/**
 * The scopes of a root that may have files of their own: none, each profile, each project, each project's own profiles.
 */
export function scopesOf(root: string): RootScope[] {
  const scope = (project: string | null, profile: string | null) => ({ root, project, profile });
  const profiles = new Set([
    ...folderNames(join(root, "agents")),
    ...folderNames(join(root, "usr", "agents")),
  ]);
  const projects = folderNames(join(root, "usr", "projects"));
  return [
    scope(null, null),
    ...[...profiles].map((profile) => scope(null, profile)),
    ...projects.flatMap((project) => [
      scope(project, null),
      ...folderNames(join(root, "usr", "projects", project, ".a0proj", "agents")).map((profile) =>
        scope(project, profile),
      ),
    ]),
  ];
}
