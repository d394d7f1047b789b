/** Runs one case in this process, which `main.ts` made for it, and hands the result over. */
import { CASES } from "./cases.ts";
import type { Pace } from "./bench_case.ts";

const [name = "", pace = ""] = process.argv.slice(2);
const registered = CASES[name];
if (registered === undefined) throw new TypeError("main.ts asks for cases that exist");
const { default: benchCase } = await registered.load();
const result = await benchCase.run(JSON.parse(pace) as Pace);
process.send?.({ name, title: benchCase.title, ...result }, () => process.disconnect());
