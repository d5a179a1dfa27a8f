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
