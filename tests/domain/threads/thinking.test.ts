import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { ThinkingGist } from "../../../domain/threads/index.js";
import { growthOf, linearGrowthMax } from "../../support/growth.js";

/** What is shown after each piece, and at the end. */
function shown(...pieces: readonly string[]): string[] {
  const gist = new ThinkingGist();
  return [...pieces.map((piece) => gist.add(piece)), gist.end()];
}

const whole = (...pieces: readonly string[]) => shown(...pieces).join("");

describe("of what a model thinks is shown", () => {
  test("how each paragraph begins", () => {
    expect(whole("The owner wants tea. There is none.\n\nSo I look for a shop. It is late.")).toBe(
      "The owner wants tea.\nSo I look for a shop.\n",
    );
  });

  test("a sentence as soon as it is known to be one, and nothing twice", () => {
    expect(shown("The owner", " wants tea", ".", " There", " is none. Or is", " there?")).toEqual([
      ...["", "", "", "The owner wants tea.\n", "", ""],
      "",
    ]);
  });

  test.each([
    ["Is there tea? I think so.", "Is there tea?\n"],
    ["No tea! None.", "No tea!\n"],
    ["Plan: look for a shop.", "Plan:\n"],
    ["Version 1.5 is out. Good.", "Version 1.5 is out.\n"],
    ["  \n Tea.\tMore.", "Tea.\n"],
    ["Two\nlines of it. More.", "Two lines of it.\n"],
    ["Ends here.", "Ends here.\n"],
    ["No end", "No end\n"],
    ["", ""],
    [" \n\n \t\n\n", ""],
  ])("the first sentence: of %j it is %j", (thought, gist) => {
    expect(whole(thought)).toBe(gist);
  });

  test("what has no end when the next paragraph begins", () => {
    expect(shown("Tea", "\n\n", "Milk")).toEqual(["", "", "Tea\n", "Milk\n"]);
    expect(whole("Tea\n \t\n\nMilk")).toBe("Tea\nMilk\n");
  });

  test("no more than 160 characters of it, cut between characters", () => {
    expect(whole("x".repeat(159) + ". ")).toBe(`${"x".repeat(159)}.\n`);
    expect(whole("x".repeat(160) + ". ")).toBe(`${"x".repeat(159)}…\n`);
    for (const start of ["", "x"]) {
      const crabs = whole(start + "\u{1f980}".repeat(100));
      expect(crabs.isWellFormed()).toBe(true);
      expect(crabs.length).toBe(161);
    }
  });

  test("a long beginning once it is long, without waiting for its end", () => {
    expect(shown("x".repeat(100), "y".repeat(100), "z. ")).toEqual([
      "",
      `${"x".repeat(100)}${"y".repeat(59)}…\n`,
      "",
      "",
    ]);
  });

  test("nothing more after the end, and then the next begins anew", () => {
    const gist = new ThinkingGist();
    gist.add("Tea");
    expect([gist.end(), gist.end()]).toEqual(["Tea\n", ""]);
    expect(gist.add("Milk. More")).toBe("Milk.\n");
  });
});

describe("whatever a model thinks, and in whatever pieces it comes,", () => {
  const thought = fc.array(
    fc.constantFrom("tea", "so", ".", "?", " ", " ", "\n", "\n\n", "\u{1f980}", "x".repeat(170)),
    {
      maxLength: 40,
    },
  );

  test("the gist is lines that are short, well-formed, and say something", () => {
    fc.assert(
      fc.property(thought, (pieces) => {
        const gist = whole(...pieces);
        if (gist === "") return;
        expect(gist.isWellFormed()).toBe(true);
        expect(gist.endsWith("\n")).toBe(true);
        for (const line of gist.slice(0, -1).split("\n")) {
          expect(line.length).toBeLessThanOrEqual(160);
          expect(line.trim()).toBe(line);
          expect(line).not.toBe("");
        }
      }),
    );
  });

  const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 30 });

  test("the gist of ordinary paragraphs is the same, however they were cut", () => {
    const words = ["tea", "milk", "so.", "why?", "1.5", "\u{1f980}", "a-rather-long-word-of-thirty-chars"];
    const paragraph = fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 12 });
    const between = fc.constantFrom("\n\n", "\n \t\n", "\n\n\n", "\n");
    fc.assert(
      fc.property(fc.array(paragraph, { maxLength: 4 }), between, cuts, (all, gap, sizes) => {
        const text = all.map((some) => some.join(" ")).join(gap);
        expect(whole(...cut(text, sizes))).toBe(whole(text));
      }),
      { numRuns: 500 },
    );
  });

  // A paragraph is called long with its blanks counted, and its beginning is cut without them.
  test("the gist of anything is the same, however it was cut", () => {
    fc.assert(
      fc.property(thought, cuts, (pieces, sizes) => {
        const text = pieces.join("");
        expect(whole(...cut(text, sizes))).toBe(whole(text));
      }),
      { numRuns: 500 },
    );
  });

  /** Between characters, as they come from a model; the sizes come again from the first when they are through. */
  function cut(text: string, sizes: readonly number[]): string[] {
    const characters = Array.from(text);
    const pieces: string[] = [];
    for (let at = 0, n = 0; at < characters.length; n++) {
      const size = sizes[n % sizes.length]!;
      pieces.push(characters.slice(at, at + size).join(""));
      at += size;
    }
    return pieces;
  }
});

describe("however much a model thinks, its gist is found in a time that grows with it:", () => {
  test.each<[string, (size: number) => readonly string[]]>([
    ["lines of nothing", (size) => [`${"\n".repeat(size)}x`]],
    ["lines of nothing, and then nothing more", (size) => ["\n".repeat(size)]],
    ["a long line of nothing", (size) => [`\n${" ".repeat(size)}x`]],
    ["lines of nothing, one by one", (size) => Array.from({ length: size }, () => "\n")],
    ["blanks, one by one", (size) => Array.from({ length: size }, () => " ")],
    ["short paragraphs", (size) => ["a\n\n".repeat(size)]],
    ["a word without end", (size) => ["x".repeat(size)]],
  ])("%s", (_what, pieces) => {
    expect(growthOf((size) => whole(...pieces(size)), 1_000)).toBeLessThan(linearGrowthMax);
  });
});
