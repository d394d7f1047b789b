#!/usr/bin/env node
import { runCommandLine } from "./command_line.ts";

await runCommandLine(process.argv.slice(2));
