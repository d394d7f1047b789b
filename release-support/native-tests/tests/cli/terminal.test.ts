import { setTimeout as delay } from "node:timers/promises";

import { expect } from "chai";

import { announced, plain, wantsColour } from "../../../terminal/terminal.ts";
import type { Terminal } from "../../../terminal/terminal.ts";
import { cli } from "./support.ts";

const onTerminal = { refused: false, isTerminal: true, environment: {} };

function recordingTerminal() {
  const notices: string[] = [];
  const terminal: Terminal = {
    result: () => undefined,
    notice: (text) => void notices.push(text),
    paint: plain,
  };
  return { terminal, notices };
}

describe("the terminal", () => {
  it("is coloured when it is one and nobody says no [C1]", () => {
    expect(wantsColour(onTerminal)).to.equal(true);
  });

  for (const [name, facts] of Object.entries({
    "--no-color": { refused: true },
    "NO_COLOR, whatever it holds": { environment: { NO_COLOR: "0" } },
    "a file or pipe in its place": { isTerminal: false },
    "a terminal that cannot": { environment: { TERM: "dumb" } },
  })) {
    it(`is not coloured with ${name} [C1]`, () => {
      expect(wantsColour({ ...onTerminal, ...facts })).to.equal(false);
    });
  }

  it("is coloured with an empty NO_COLOR, which says nothing [C1]", () => {
    expect(wantsColour({ ...onTerminal, environment: { NO_COLOR: "" } })).to.equal(true);
  });

  it("writes no colours into a pipe [C4]", async () => {
    const { stdout } = await cli(["--help"], { FORCE_COLOR: "1" });
    expect(stdout).to.not.include("\u001b");
  });

  it("announces on standard error what takes more than half a second [C3]", async () => {
    const { terminal, notices } = recordingTerminal();
    expect(await announced(terminal, "Waiting", delay(700, "done"))).to.equal("done");
    expect(notices).to.deep.equal(["Waiting ..."]);
  });

  it("says nothing about what is quick [C3]", async () => {
    const { terminal, notices } = recordingTerminal();
    await announced(terminal, "Waiting", Promise.resolve());
    expect(notices).to.deep.equal([]);
  });
});
