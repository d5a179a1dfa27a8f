import { expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  abandon,
  approve,
  cancel,
  conflict,
  evolveAction,
  expire,
  giveUp,
  initialAction,
  intend,
  reject,
  resolve,
  settle,
  supersede,
  type Action,
  type Effect,
} from "../../../domain/approvals/index.js";
import { hour, minute, second, type Decision, type Fact } from "../../../domain/shared/index.js";
import { ActionStatus, ExecutionOutcome } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import * as facts from "../../support/action-facts.js";
import { noon } from "../../support/appends.js";
import { asRead } from "../../support/facts.js";

const result = { text: "Sent.", isTruncated: false, isUntrusted: false, origin: "", hash: facts.bytes("result") };
const effect: fc.Arbitrary<Effect> = fc.oneof(
  fc.constant<Effect>({ outcome: "done", result }),
  fc.record({ outcome: fc.constant("not_done" as const), reason: fc.constant("busy"), isPassing: fc.boolean() }),
  fc.constant<Effect>({ outcome: "unknown", reason: "nobody knows" }),
);

type Deciding = (action: Action, at: number) => Decision;

/** Whatever anybody may decide about an action, at whatever time they come. */
const deciding: fc.Arbitrary<Deciding> = fc.oneof(
  fc.constantFrom<Deciding>(
    (action, at) => approve(action, facts.having(null), at),
    (action, at) => approve(action, facts.having("card a"), at),
    (action, at) => approve(action, facts.having("another card"), at),
    (action) => reject(action, "no"),
    (action) => cancel(action),
    (action) => abandon(action),
    (action, at) => conflict(action, initialAction, facts.having(null), at),
    (action, at) => supersede(action, "b", at),
    (action, at) => expire(action, at),
    (action) => giveUp(action, "gone"),
    (action, at) => resolve(action, true, at),
    (action, at) => resolve(action, false, at),
  ),
  { weight: 2, arbitrary: fc.constant<Deciding>((action, at) => approve(action, facts.having(null), at)) },
  { weight: 4, arbitrary: fc.constant<Deciding>((action, at) => intend(action, at)) },
  {
    weight: 4,
    arbitrary: effect.map(
      (seen): Deciding =>
        (action, at) =>
          settle(action, seen, "execution", at),
    ),
  },
);
const pauseMillis = fc.constantFrom(0, second, 10 * second, minute, hour / 2, hour);
const anyDecisions = fc.array(fc.tuple(deciding, pauseMillis), { maxLength: 40 });

/** All that is recorded when these things are decided, one after the other. */
function historyOf(decisions: readonly (readonly [Deciding, number])[]): readonly Fact[] {
  let history: readonly Fact[] = [asRead(facts.proposed("a", { undoSeconds: 10 }))];
  let at = noon;
  for (const [decide, millis] of decisions) {
    at += millis;
    const decision = decide(history.reduce(evolveAction, initialAction), at);
    if (decision.outcome === "accepted") history = [...history, ...decision.facts.map(asRead)];
  }
  return history;
}

const isIntent = (fact: Fact) => fact.case === "actionExecutionIntended";
const isOutcome = (fact: Fact) => fact.case === "actionExecutionFinished";
const hasStatus = (status: ActionStatus) => (fact: Fact) =>
  fact.case === "proposedActionStatusChanged" && fact.value?.status === status;
const hasOutcome = (outcome: ExecutionOutcome) => (fact: Fact) => isOutcome(fact) && fact.value?.outcome === outcome;
const isOver = (fact: Fact) =>
  [
    hasStatus(ActionStatus.EXECUTED),
    hasStatus(ActionStatus.REJECTED),
    hasOutcome(ExecutionOutcome.DONE),
    hasOutcome(ExecutionOutcome.FAILED),
  ].some((is) => is(fact));

/** What was recorded before each intent. */
function beforeIntents(history: readonly Fact[]): readonly (readonly Fact[])[] {
  return history.flatMap((fact, index) => (isIntent(fact) ? [history.slice(0, index)] : []));
}

function always(law: (history: readonly Fact[]) => void): void {
  fc.assert(
    fc.property(anyDecisions, (decisions) => law(historyOf(decisions))),
    { numRuns: 1_000 },
  );
}

test("nothing is begun that was not approved before", () => {
  always((history) => {
    for (const before of beforeIntents(history)) expect(before.some(hasStatus(ActionStatus.APPROVED))).toBe(true);
  });
});

test("nothing is begun again before what became of it is known not to have happened", () => {
  always((history) => {
    for (const before of beforeIntents(history)) {
      const last = before.findLast((fact) => isIntent(fact) || isOutcome(fact));
      if (last !== undefined) expect(hasOutcome(ExecutionOutcome.FAILED_RETRYABLE)(last)).toBe(true);
    }
  });
});

test("nothing is begun that is over: done, failed, rejected, taken back", () => {
  always((history) => {
    for (const before of beforeIntents(history)) expect(before.some(isOver)).toBe(false);
  });
});

test("nothing is begun more often than it may be", () => {
  always((history) => {
    expect(beforeIntents(history).length).toBeLessThanOrEqual(5);
  });
});

test("an action is approved, rejected and executed at most once each, and never rejected once it was begun", () => {
  always((history) => {
    for (const status of [ActionStatus.APPROVED, ActionStatus.REJECTED, ActionStatus.EXECUTED]) {
      expect(history.filter(hasStatus(status)).length).toBeLessThanOrEqual(1);
    }
    const firstIntent = history.findIndex(isIntent);
    if (firstIntent >= 0) expect(history.slice(firstIntent).some(hasStatus(ActionStatus.REJECTED))).toBe(false);
  });
});

test("what is decided twice in a row is recorded once", () => {
  const again: readonly Deciding[] = [
    (action, at) => approve(action, facts.having(null), at),
    (action) => reject(action, "no"),
    (action) => cancel(action),
    (action) => abandon(action),
    (action, at) => conflict(action, initialAction, facts.having(null), at),
    (action, at) => supersede(action, "b", at),
    (action, at) => expire(action, at),
    (action, at) => resolve(action, true, at),
  ];
  fc.assert(
    fc.property(anyDecisions, fc.constantFrom(...again), (decisions, decide) => {
      const once = historyOf([...decisions, [decide, 0]]);
      expect(historyOf([...decisions, [decide, 0], [decide, 0]])).toEqual(once);
    }),
  );
});
