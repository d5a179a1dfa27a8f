import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { effectiveBudget, turnBudgetBounds } from "../../../domain/threads/index.js";

const usual = { maxToolSteps: 10, maxToolTokens: 32_000, maxContextMessages: 50 };
const least = { maxToolSteps: 1, maxToolTokens: 500, maxContextMessages: 1 };
const most = { maxToolSteps: 25, maxToolTokens: 100_000, maxContextMessages: 200 };
const anyNumber = 2 ** 32 - 1;

describe("a turn may do", () => {
  test("the usual, if nobody says how much, or says zero", () => {
    expect(effectiveBudget(null)).toEqual(usual);
    expect(effectiveBudget({})).toEqual(usual);
    expect(effectiveBudget({ maxToolSteps: 0, maxToolTokens: 0, maxContextMessages: 0 })).toEqual(usual);
  });

  test("as much as was asked for, if that is neither too little nor too much", () => {
    const asked = { maxToolSteps: 3, maxToolTokens: 4_000, maxContextMessages: 5 };
    expect(effectiveBudget(asked)).toEqual(asked);
    expect(effectiveBudget({ maxToolSteps: 3 })).toEqual({ ...usual, maxToolSteps: 3 });
  });

  test("as much as there is, if more was asked for, and no less than makes sense", () => {
    const tooMuch = { maxToolSteps: anyNumber, maxToolTokens: anyNumber, maxContextMessages: anyNumber };
    expect(effectiveBudget(tooMuch)).toEqual(most);
    expect(effectiveBudget({ maxToolSteps: 1, maxToolTokens: 1, maxContextMessages: 1 })).toEqual(least);
  });

  test("what stays within the bounds, whatever was asked for; and asking for that comes to the same", () => {
    const asked = fc.record(
      {
        maxToolSteps: fc.nat(anyNumber),
        maxToolTokens: fc.nat(anyNumber),
        maxContextMessages: fc.nat(anyNumber),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(asked, (requested) => {
        const budget = effectiveBudget(requested);
        for (const [name, { min, max }] of Object.entries(turnBudgetBounds)) {
          expect(budget[name as keyof typeof budget]).toBeGreaterThanOrEqual(min);
          expect(budget[name as keyof typeof budget]).toBeLessThanOrEqual(max);
        }
        expect(effectiveBudget(budget)).toEqual(budget);
      }),
    );
  });
});
