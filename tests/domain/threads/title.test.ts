import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { titleOf } from "../../../domain/threads/index.js";

test.each([
  ["Buy milk", "Buy milk"],
  ["  Buy\t milk \n and bread", "Buy milk"],
  ["\n\n# Plans for the trip\nmore", "Plans for the trip"],
  ["- first\n- second", "first"],
  ["", ""],
  ["\u202Eevil\u0007 title", "evil title"],
  [
    "Could you look through the mails of this week and find the ones from the school?",
    "Could you look through the mails of this week and find the…",
  ],
  ["x".repeat(100), `${"x".repeat(59)}…`],
  ["x".repeat(60), "x".repeat(60)],
  [`${"\n".repeat(1_000)}Buy milk`, "Buy milk"],
  [`${" ".repeat(500)}Buy milk`, "Buy milk"],
  [`${"\u200b\t ".repeat(5_000)}- Buy milk`, "Buy milk"],
])("%j is called %j", (text, title) => {
  expect(titleOf(text)).toBe(title);
});

test("a title is one short line, whatever was said", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 300 }), (text) => {
      const title = titleOf(text);
      expect([...new Intl.Segmenter().segment(title)].length).toBeLessThanOrEqual(60);
      expect(title).not.toMatch(/[\p{Cc}\n]/u);
      expect(titleOf(text)).toBe(title);
    }),
  );
});

test.each([
  ["one word", "x", `${"x".repeat(59)}…`],
  ["many words", "hello, ", `${"hello, ".repeat(8).trim()}…`],
  ["nothing that can be seen", " \t\u200b", ""],
  ["marks of headings and lists", "# - > ", ""],
  ["flags", "\u{1f1eb}\u{1f1ee}", `${"\u{1f1eb}\u{1f1ee}".repeat(59)}…`],
])("a line of 64 KiB of %s is looked at no further than a title needs", (_what, piece, title) => {
  expect(titleOf(piece.repeat(Math.floor((64 * 1024) / piece.length)))).toBe(title);
});

test("a title that is cut out of a long line is well-formed", () => {
  for (const start of ["", "x", "xx", "xxx"]) {
    const accents = "\u0301".repeat(497); // Many, and yet part of one character.
    expect(titleOf(`${start}a${accents}${"\u{1f980}".repeat(20_000)}`).isWellFormed()).toBe(true);
  }
});
