import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { temporaryDirectory } from "../../support/backend.js";
import { factKinds, History, threadCount, type AppendPlan, type Step } from "../../support/history.js";

const plan: fc.Arbitrary<AppendPlan> = fc.record({
  thread: fc.nat(threadCount - 1),
  expects: fc.constantFrom("anything", "the truth", "something else"),
  facts: fc.array(fc.constantFrom(...factKinds), { maxLength: 4 }),
  hasKey: fc.boolean(),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ what: fc.constant("append"), group: fc.array(plan, { minLength: 1, maxLength: 5 }) }),
  },
  { weight: 4, arbitrary: fc.record({ what: fc.constant("retry"), which: fc.nat(100), asksForOther: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant("erase"), first: fc.nat(100), length: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant("restart") }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("rebuild") }) },
);

test("whatever happens, in whatever order: nothing is lost, doubled or reordered, and the read models are the log", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      const directory = temporaryDirectory();
      const history = await History.begin(directory.path);
      try {
        for (const next of steps) await history.live(next);
        await history.check();
        expect(await history.differences()).toBe(0);
      } finally {
        await history.end();
        directory.remove();
      }
    }),
    { numRuns: 40, timeout: 10_000 }, // A run that hangs is shown, and not only that one does.
  );
});
