import { Option } from "commander";
import type { Command } from "commander";

import { wrap } from "../terminal/text.ts";

/** What every command has of its own, for its help. */
export interface CommandHelp {
  readonly name: string;
  /** In a sentence. */
  readonly summary: string;
  /** Whole command lines without the executable's name. */
  readonly examples: readonly string[];
}

/** The flags that every command takes. */
export interface CommonFlags {
  readonly color: boolean;
}

/** Adds a command with its examples to another one; `--no-color` comes with it. */
export function addCommand(parent: Command, { name, summary, examples }: CommandHelp): Command {
  const [first = ""] = name.split(" ");
  const path = parent.parent === null ? [] : [parent.name()];
  const lines = examples.flatMap((example) =>
    wrap(["agent-guild-preflight", ...path, example].join(" "), { first: "  ", rest: "      " }).map(
      (line, index, all) => (index < all.length - 1 ? `${line} \\` : line),
    ),
  );
  return parent
    .command(name)
    .summary(summary)
    .description(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`)
    .addHelpText("after", `\nExamples:\n${lines.join("\n")}`)
    .option("--no-color", "without colours, as with the environment variable NO_COLOR")
    .helpOption("-h, --help", `what ${first} does, its flags and examples`);
}

/** The flag that asks for one JSON document in place of text for people. */
export function jsonFlag(): Option {
  return new Option("--json", "one JSON document on standard output");
}
