import { expect } from "chai";
import fc from "fast-check";

import { clipped, COLUMNS, displayWidth, padded, shown, wrap } from "../../../terminal/text.ts";

describe("text for terminals", () => {
  it("shows what could move the cursor, reorder or hide characters as its code point [C2]", () => {
    expect(shown("a\u001b[2Jb\u202ec\u0000\u2028d\u200b")).to.equal(
      "a\\u{1b}[2Jb\\u{202e}c\\u{0}\\u{2028}d\\u{200b}",
    );
  });

  it("leaves letters of every script as they are [C2]", () => {
    expect(shown("Größe 名前 имя")).to.equal("Größe 名前 имя");
  });

  it("counts wide characters as two columns and combining ones as none [C2]", () => {
    expect([displayWidth("abc"), displayWidth("名前"), displayWidth("e\u0301")]).to.deep.equal([3, 4, 1]);
  });

  it("never gives a line that is wider than a terminal, nor loses a character [C2]", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 400 }), fc.nat({ max: 30 }), (text, indent) => {
        const paragraph = shown(text);
        const lines = wrap(paragraph, { first: " ".repeat(indent) });
        expect(lines.every((line) => displayWidth(line) <= COLUMNS)).to.equal(true);
        expect(lines.join("").replaceAll(" ", "")).to.equal(paragraph.replaceAll(" ", ""));
      }),
    );
  });

  it("breaks a long path behind a slash [C4]", () => {
    const path = `${"folder/".repeat(10)}a_file_with_a_long_name.json`;
    expect(wrap(path)).to.deep.equal(["folder/".repeat(10), "a_file_with_a_long_name.json"]);
  });

  it("cuts off what is too long and says so [C5]", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 2, max: 40 }), (text, width) => {
        expect(displayWidth(clipped(text, width))).to.be.at.most(width);
      }),
    );
    expect(clipped("abcdef", 4)).to.equal("abc…");
  });

  it("fills up on either side [C1]", () => {
    expect([padded("7", 3, "left"), padded("ran", 5)]).to.deep.equal(["  7", "ran  "]);
  });
});
