import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { modelCallsProjection } from "../../../projections/budgets/model-calls.js";
import { artifactsProjection } from "../../../projections/memory/artifacts.js";
import { notesProjection } from "../../../projections/memory/notes.js";
import { conversationSummariesProjection } from "../../../projections/memory/summaries.js";
import { turnsProjection } from "../../../projections/threads/turns.js";
import { temporaryDirectory } from "../../support/backend.js";
import { History, type AppendPlan, type Step } from "../../support/history.js";
import { turnFactKinds } from "../../support/turns-in-history.js";

const projections = [
  turnsProjection,
  modelCallsProjection,
  conversationSummariesProjection,
  notesProjection,
  artifactsProjection,
];

// All in one thread, and more asked for than is ended, so that turns wait for each other.
const plan: fc.Arbitrary<AppendPlan> = fc.record({
  thread: fc.constant(0),
  expects: fc.constant("anything"),
  facts: fc.array(
    fc.oneof(
      { weight: 2, arbitrary: fc.constantFrom("asked", "asked", "asked", "completed", "failed") },
      { weight: 1, arbitrary: fc.constantFrom(...turnFactKinds) },
    ),
    { minLength: 4, maxLength: 12 },
  ),
  hasKey: fc.constant(false),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ what: fc.constant("append"), group: fc.tuple(plan) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant("erase"), first: fc.nat(40), length: fc.nat(1) }) },
);

test("whatever is erased of turns that wait, run and end, a rebuild shows what living through it showed", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 12 }), async (steps) => {
      const directory = temporaryDirectory();
      const history = await History.begin(directory.path, projections);
      try {
        for (const next of steps) await history.live(next);
        await history.check();
        expect(await history.differences()).toBe(0);
      } finally {
        await history.end();
        directory.remove();
      }
    }),
    { numRuns: 80, timeout: 10_000 },
  );
});
