import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { idempotencyProjection } from "../../../projections/approvals/idempotency.js";
import { proposedActionsProjection } from "../../../projections/approvals/proposed-actions.js";
import { untrustedContentProjection } from "../../../projections/approvals/untrusted-content.js";
import { auditLogProjection } from "../../../projections/audit/audit-log.js";
import { notificationsProjection } from "../../../projections/notifications/notifications.js";
import { actionFactKinds } from "../../support/actions-in-history.js";
import { temporaryDirectory } from "../../support/backend.js";
import { History, type AppendPlan, type Step } from "../../support/history.js";

const projections = [
  proposedActionsProjection,
  idempotencyProjection,
  untrustedContentProjection,
  auditLogProjection,
  notificationsProjection,
];

// All in one thread, and mostly what brings an action forward, so that some come all the way.
const plan: fc.Arbitrary<AppendPlan> = fc.record({
  thread: fc.constant(0),
  expects: fc.constant("anything"),
  facts: fc.array(
    fc.oneof(
      { weight: 2, arbitrary: fc.constantFrom("proposed", "approved", "begun", "done", "not done") },
      { weight: 1, arbitrary: fc.constantFrom(...actionFactKinds) },
    ),
    { minLength: 4, maxLength: 12 },
  ),
  hasKey: fc.constant(false),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ what: fc.constant("append"), group: fc.tuple(plan) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant("erase"), first: fc.nat(40), length: fc.nat(1) }) },
);

test("whatever is erased of actions on their way, a rebuild shows what living through it showed", async () => {
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
