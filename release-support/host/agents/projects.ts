import { strip } from "../../../helpers/formats/python_text.ts";

/** What became of a project name. `problem` is the framework's own wording. */
export type ProjectName =
  | { readonly kind: "valid"; readonly name: string }
  | { readonly kind: "invalid"; readonly problem: "Invalid project name" };

/**
 * Checks the name of a project as the framework does (vectors `project_names`): trimmed, it must not be empty, `.` or
 * `..`, nor hold a `/`.
 *
 * @param candidate - the name as it was entered
 * @returns the trimmed name, or that it is none
 */
export function validateProjectName(candidate: string): ProjectName {
  const name = strip(candidate);
  return name === "" || name === "." || name === ".." || name.includes("/")
    ? { kind: "invalid", problem: "Invalid project name" }
    : { kind: "valid", name };
}
