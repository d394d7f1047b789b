import { createHash } from "node:crypto";

import { expect } from "chai";
import fc from "fast-check";

import { html } from "../../../cli/report/markup.ts";
import { reportPage } from "../../../cli/report/page.ts";
import { stagesOf } from "../../../cli/report/stages.ts";
import type { RecordedCall } from "../../../host/call_recorder.ts";
import { hostilePicture, plainPicture } from "./pictures.ts";

describe("the picture of a run", () => {
  it("shows each request with its reason, its stages and its checks [C2]", () => {
    const page = reportPage(plainPicture);
    for (const text of [
      "a request that ran",
      "url_mismatch",
      "second look",
      "agent_card_signed",
      "required",
    ]) {
      expect(page).to.include(text);
    }
  });

  it("forbids itself everything but its one style sheet, by its hash [C2]", () => {
    const page = reportPage(plainPicture);
    const [, style = ""] = /<style>([^]*)<\/style>/.exec(page) ?? [];
    const hash = createHash("sha256").update(style).digest("base64");
    expect(page).to.include(
      `content="default-src &#39;none&#39;; style-src &#39;sha256-${hash}&#39;; base-uri &#39;none&#39;; form-action &#39;none&#39;"`,
    );
  });

  it("names nothing that would have to be fetched, and holds no script [C2]", () => {
    for (const picture of [plainPicture, hostilePicture]) {
      const page = reportPage(picture);
      expect(page).to.not.match(/<(?:script|link|img|iframe|object|embed|form|base)\b/i);
      expect(page).to.not.match(/\s(?:src|style|on[a-z]+)="/i);
      expect(page).to.not.match(/url\(|@import/i);
    }
  });

  it("shows text as text, whatever it holds [C2]", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const piece = html`<p title="${text}">${text}</p>`.toString();
        expect(piece).to.match(/^<p title="[^"<>]*">[^<>]*<\/p>$/);
        expect(piece.replaceAll("\n", "")).to.not.match(/[\p{C}\p{Zl}\p{Zp}]/u);
      }),
    );
  });

  it("marks what others wrote as untrusted [C2]", () => {
    const page = reportPage(hostilePicture);
    expect(page).to.include('<details class="untrusted">');
    expect(page).to.include('<code class="untrusted">');
  });

  it("says what an observation is not [C2, P11.4]", () => {
    expect(reportPage(plainPicture)).to.include("not identity").and.to.include("not permission");
  });
});

describe("the stages of a request", () => {
  const call = (changes: Partial<RecordedCall>): RecordedCall => ({
    tool: "pub_server.search",
    byWorker: false,
    times: { asked: 10, found: 11, policy: 12, decided: 13 },
    ending: { kind: "denied", reason: "tool_policy" },
    record: null,
    ...changes,
  });
  const states = (recorded: RecordedCall) => stagesOf(recorded).map(({ name, state }) => `${name} ${state}`);

  it("ends at the tool policy where that denies [C2]", () => {
    expect(states(call({}))).to.deep.equal([
      "policy stopped",
      "binding skipped",
      "preflight skipped",
      "second look skipped",
      "decision skipped",
      "tool skipped",
    ]);
  });

  it("passes by the gate where nobody protects the server [C2]", () => {
    const recorded = call({
      times: { asked: 10, found: 11, decided: 13, answered: 20 },
      ending: { kind: "ran", reason: "not_protected", toolError: false },
    });
    expect(states(recorded)).to.deep.equal([
      "policy skipped",
      "binding skipped",
      "preflight skipped",
      "second look skipped",
      "decision skipped",
      "tool passed",
    ]);
    expect(stagesOf(recorded).at(-1)?.span).to.deep.equal({ from: 3, to: 10 });
  });

  it("never ends a stage before it begins [C2]", () => {
    const time = fc.option(fc.nat({ max: 50 }), { nil: undefined });
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 50 }), { minLength: 6, maxLength: 6 }), time, (steps, skip) => {
        const moments: number[] = [];
        for (const step of steps) moments.push((moments.at(-1) ?? 0) + step);
        const [found = 0, policy = 0, bound = 0, confirmed = 0, decided = 0, answered = 0] = moments;
        const times = {
          asked: 0,
          found,
          decided,
          answered,
          ...(skip === undefined ? {} : { policy, bound, confirmed }),
        };
        for (const { span } of stagesOf(call({ times }))) {
          if (span !== null) expect(span.to).to.be.at.least(span.from);
        }
      }),
    );
  });
});
