import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { TokenBudget } from "../../../commands/budgets/token-budget.js";
import { day, type Instant } from "../../../domain/shared/index.js";

const midnight = Date.UTC(2026, 0, 1);
const noon = midnight + day / 2;
const tomorrow = midnight + day;

const reserved = { outcome: "reserved" };
const exhausted = (resetsAt: Instant = tomorrow) => ({ outcome: "exhausted", resetsAt });

/** A budget of 1,000 tokens a day, of which the log knows what was spent. */
async function budgetOf(spent = 0, tokensPerDay = 1_000): Promise<TokenBudget> {
  const budget = new TokenBudget(tokensPerDay, { spent: async () => spent });
  await budget.know(noon);
  return budget;
}

/** What is left to be reserved, found out by asking for ever less. */
function left(budget: TokenBudget, at: Instant = noon): number {
  for (let tokens = budget.tokensPerDay; tokens > 0; tokens--) {
    if (budget.reserve("probe", tokens, at).outcome === "exhausted") continue;
    budget.settle("probe", 0);
    return tokens;
  }
  return 0;
}

describe("the day's tokens", () => {
  test("are reserved as long as there are any, to the last one", async () => {
    const budget = await budgetOf();
    expect(budget.reserve("a", 600, noon)).toEqual(reserved);
    expect(budget.reserve("b", 401, noon)).toEqual(exhausted());
    expect(budget.reserve("b", 400, noon)).toEqual(reserved);
    expect(budget.reserve("c", 1, noon)).toEqual(exhausted());
    expect(budget.reserve("d", 0, noon)).toEqual(reserved);
  });

  test("are not reserved for more than a day has", async () => {
    expect((await budgetOf()).reserve("a", 1_001, noon)).toEqual(exhausted());
    expect((await budgetOf(0, 0)).reserve("a", 1, noon)).toEqual(exhausted());
  });

  test("are what the log has left of them", async () => {
    expect(left(await budgetOf(400))).toBe(600);
    expect(left(await budgetOf(1_000))).toBe(0);
    expect(left(await budgetOf(5_000))).toBe(0);
  });

  test("that were refused are not taken", async () => {
    const budget = await budgetOf(400);
    budget.reserve("a", 601, noon);
    expect(left(budget)).toBe(600);
    budget.settle("a", 500);
    expect(left(budget)).toBe(600);
  });

  test("are reserved once for the same call, however often and whatever it asks for", async () => {
    const budget = await budgetOf();
    expect(budget.reserve("a", 600, noon)).toEqual(reserved);
    expect(budget.reserve("a", 600, noon)).toEqual(reserved);
    expect(budget.reserve("a", 5_000, tomorrow)).toEqual(reserved);
    expect(left(budget)).toBe(400);
  });
});

describe("what a call has cost", () => {
  test.each([
    ["less", 100, 900],
    ["nothing", 0, 1_000],
    ["as much", 600, 400],
    ["more", 700, 300],
    ["more than there is", 5_000, 0],
  ])("takes the place of what was reserved for it, if it is %s", async (_what, tokens, remaining) => {
    const budget = await budgetOf();
    budget.reserve("a", 600, noon);
    budget.settle("a", tokens);
    expect(left(budget)).toBe(remaining);
  });

  test("is counted once", async () => {
    const budget = await budgetOf();
    budget.reserve("a", 600, noon);
    budget.settle("a", 100);
    budget.settle("a", 100);
    expect(left(budget)).toBe(900);
  });

  test("is nothing new, if nothing was reserved for it: the log knows", async () => {
    const budget = await budgetOf(400);
    budget.settle("from before the restart", 300);
    expect(left(budget)).toBe(600);
  });

  test("can be reserved for again after it was settled", async () => {
    const budget = await budgetOf();
    budget.reserve("a", 600, noon);
    budget.settle("a", 600);
    expect(budget.reserve("a", 600, noon)).toEqual(exhausted());
    expect(budget.reserve("a", 400, noon)).toEqual(reserved);
  });
});

describe("a day", () => {
  test("has its own tokens, from midnight on", async () => {
    const budget = await budgetOf(1_000);
    expect(budget.reserve("a", 1, tomorrow - 1)).toEqual(exhausted());
    const asked: [Instant, Instant][] = [];
    const two = new TokenBudget(1_000, {
      spent: async (from, until) => {
        asked.push([from, until]);
        return from === midnight ? 900 : 0;
      },
    });
    await two.know(tomorrow - 1);
    await two.know(noon);
    await two.know(tomorrow);
    expect(asked).toEqual([
      [midnight, tomorrow],
      [tomorrow, tomorrow + day],
    ]);
    expect([left(two, noon), left(two, tomorrow)]).toEqual([100, 1_000]);
    expect(two.reserve("a", 1_001, tomorrow)).toEqual(exhausted(tomorrow + day));
  });

  test("pays for the calls that began in it, whenever they end", async () => {
    const budget = new TokenBudget(1_000, { spent: async () => 0 });
    await budget.know(noon);
    budget.reserve("a", 600, noon);
    await budget.know(tomorrow);
    expect(left(budget, tomorrow)).toBe(1_000);
    budget.settle("a", 250);
    expect([left(budget, noon), left(budget, tomorrow)]).toEqual([750, 1_000]);
  });

  test("that nobody has looked at is a bug of whoever reserves", async () => {
    const budget = await budgetOf();
    expect(() => budget.reserve("a", 1, tomorrow)).toThrow("nobody has looked");
  });
});

describe("looking what was spent", () => {
  /** A log that answers when it is told to. */
  function slowUsage() {
    const waiting: ((spent: number) => void)[] = [];
    const spent = () => new Promise<number>((resolve) => waiting.push(resolve));
    return { usage: { spent }, answer: (which: number, tokens: number) => waiting[which]?.(tokens) };
  }

  test("by two at once counts once, and what was reserved meanwhile stays reserved", async () => {
    const { usage, answer } = slowUsage();
    const budget = new TokenBudget(1_000, usage);
    const [first, second] = [budget.know(noon), budget.know(noon)];
    answer(1, 100); // The second is answered first.
    await second;
    budget.reserve("a", 500, noon);
    answer(0, 100);
    await first;
    expect(left(budget)).toBe(400);
    budget.settle("a", 300);
    expect(left(budget)).toBe(600);
  });

  test("fails if the log does, and is tried again", async () => {
    let isBroken = true;
    const budget = new TokenBudget(1_000, {
      spent: async () => {
        if (isBroken) throw new Error("the disk is broken");
        return 300;
      },
    });
    await expect(budget.know(noon)).rejects.toThrow("the disk is broken");
    isBroken = false;
    await budget.know(noon);
    expect(left(budget)).toBe(700);
  });
});

test("however calls come and go, those at once are never promised more than the day has", () => {
  const call = fc.constantFrom("a", "b", "c", "d", "e");
  const tokens = fc.nat(600);
  const steps = fc.array(
    fc.oneof(
      fc.record({ what: fc.constant("reserve" as const), call, tokens }),
      fc.record({ what: fc.constant("settle" as const), call, tokens }),
    ),
    { maxLength: 40 },
  );
  return fc.assert(
    fc.asyncProperty(steps, fc.nat(1_000), async (all, before) => {
      const budget = await budgetOf(before);
      const held = new Map<string, number>();
      let spent = before;
      for (const step of all) {
        if (step.what === "reserve") {
          const isNew = !held.has(step.call);
          const { outcome } = budget.reserve(step.call, step.tokens, noon);
          const promised = spent + sum(held.values());
          expect(outcome).toBe(isNew && promised + step.tokens > 1_000 ? "exhausted" : "reserved");
          if (isNew && outcome === "reserved") held.set(step.call, step.tokens);
        } else if (held.has(step.call)) {
          const cost = Math.min(step.tokens, held.get(step.call)!); // No call costs more than was reserved for it.
          budget.settle(step.call, cost);
          held.delete(step.call);
          spent += cost;
        } else budget.settle(step.call, step.tokens);
        expect(spent + sum(held.values())).toBeLessThanOrEqual(1_000);
      }
    }),
  );

  function sum(numbers: Iterable<number>): number {
    return [...numbers].reduce((total, number) => total + number, 0);
  }
});
