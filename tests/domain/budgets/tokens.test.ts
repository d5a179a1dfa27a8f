import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { estimateTokens, windowAt, withinTokens } from "../../../domain/budgets/index.js";
import { day } from "../../../domain/shared/index.js";

// What a decoder takes for a mark of the byte order, and drops when it stands first.
const byteOrderMark = "\uFEFF";
const texts = fc.string({ unit: "binary", maxLength: 60 }).filter((text) => !text.startsWith(byteOrderMark));

describe("about how many tokens a text is:", () => {
  test.each([
    ["", 0],
    ["a", 1],
    ["abc", 1],
    ["abcd", 2],
    ["水", 1],
    ["🦀", 2],
  ])("%j is %s", (text, tokens) => {
    expect(estimateTokens(text)).toBe(tokens);
  });

  test("two texts together are no more than each by itself, and no less", () => {
    fc.assert(
      fc.property(texts, texts, (one, other) => {
        const apart = estimateTokens(one) + estimateTokens(other);
        expect(estimateTokens(one + other)).toBeLessThanOrEqual(apart);
        expect(estimateTokens(one + other)).toBeGreaterThanOrEqual(apart - 1);
      }),
    );
  });
});

describe("what of a text is within so many tokens", () => {
  test.each([
    ["abcdef", 2, "abcdef"],
    ["abcdefg", 2, "abcdef"],
    ["水水", 1, "水"],
    ["ab水", 1, "ab"],
    ["🦀🦀", 2, "🦀"],
    ["🦀", 1, ""],
    ["abc", 0, ""],
    ["", 0, ""],
    ["\uFEFFabc", 2, "\uFEFFabc"],
    ["\uFEFFabcd", 2, "\uFEFFabc"], // It is a character like any other.
    ["\uFEFF\uFEFFabc", 1, "\uFEFF"],
  ])("of %j, with %s: %j", (text, tokensMax, kept) => {
    expect(withinTokens(text, tokensMax)).toBe(kept);
  });

  test("is its beginning, as long as possible, and cut between characters", () => {
    fc.assert(
      fc.property(texts, fc.nat(40), (text, tokensMax) => {
        const kept = withinTokens(text, tokensMax);
        expect(text.startsWith(kept)).toBe(true);
        expect(kept.isWellFormed()).toBe(true);
        expect(estimateTokens(kept)).toBeLessThanOrEqual(tokensMax);
        const [next = ""] = text.slice(kept.length);
        if (next !== "") expect(estimateTokens(kept + next)).toBeGreaterThan(tokensMax);
      }),
    );
  });

  test("is within them still, when it is looked at again", () => {
    fc.assert(
      fc.property(texts, fc.nat(40), (text, tokensMax) => {
        const kept = withinTokens(text, tokensMax);
        expect(withinTokens(kept, tokensMax)).toBe(kept);
      }),
    );
  });
});

describe("the day that a moment belongs to", () => {
  const midnight = Date.UTC(2026, 0, 1);

  test("is from midnight to midnight, UTC", () => {
    const first = { from: midnight, until: midnight + day };
    expect(windowAt(midnight)).toEqual(first);
    expect(windowAt(midnight + day - 1)).toEqual(first);
    expect(windowAt(midnight + day)).toEqual({ from: midnight + day, until: midnight + 2 * day });
    expect(windowAt(midnight - 1)).toEqual({ from: midnight - day, until: midnight });
  });

  test("is one, whatever the moment", () => {
    fc.assert(
      fc.property(fc.integer({ min: -(2 ** 50), max: 2 ** 50 }), (at) => {
        const { from, until } = windowAt(at);
        expect(from).toBeLessThanOrEqual(at);
        expect(until).toBeGreaterThan(at);
        expect(until - from).toBe(day);
        expect(from % day === 0).toBe(true);
      }),
    );
  });
});
