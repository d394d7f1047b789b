import { readPreflightAnswer } from "../../../helpers/preflight/preflight_contract.ts";
import { readStrictAnswer } from "../../guarded-agent/strict_contract.ts";
import type { Port } from "../runner.ts";

interface Input {
  readonly target: string;
  readonly body_base64: string;
}

interface Expected {
  readonly plugin_valid: boolean;
  readonly guarded_valid: boolean;
  readonly verdict?: string;
  readonly denies_whatever_the_policy: boolean;
}

export default {
  run({ target, body_base64 }: Input): Expected {
    const body = Buffer.from(body_base64, "base64");
    const guarded_valid = readStrictAnswer(body, target).kind === "answer";
    const reading = readPreflightAnswer(body, target);
    if (reading.kind === "inconsistent") {
      return { plugin_valid: false, guarded_valid, denies_whatever_the_policy: reading.saysDoNotDelegate };
    }
    const { verdict } = reading.answer;
    return {
      plugin_valid: true,
      guarded_valid,
      verdict,
      denies_whatever_the_policy: verdict === "do_not_delegate",
    };
  },
  agrees(got, expected: Expected) {
    const answer = got as Expected;
    return (
      answer.plugin_valid === expected.plugin_valid &&
      answer.guarded_valid === expected.guarded_valid &&
      answer.denies_whatever_the_policy === expected.denies_whatever_the_policy &&
      (!expected.plugin_valid || answer.verdict === expected.verdict)
    );
  },
} satisfies Port;
