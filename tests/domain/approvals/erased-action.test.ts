import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  approve,
  cancel,
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
} from "../../../domain/approvals/index.js";
import type { Fact, NewFact } from "../../../domain/shared/index.js";
import { ExecutionOutcome } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import * as facts from "../../support/action-facts.js";
import { noon } from "../../support/appends.js";
import { asRead } from "../../support/facts.js";
import { stages } from "./actions.js";

const erased = (fact: NewFact): Fact => ({ case: fact.case, value: null }) as Fact;
const fold = (...history: readonly Fact[]): Action => history.reduce(evolveAction, initialAction);
const everyMoment = [0, noon, noon + 7_200_000, Number.MAX_SAFE_INTEGER];

test("an erased proposal cannot be approved, whenever somebody tries", () => {
  const action = fold(erased(facts.proposed("a")));
  for (const at of everyMoment) {
    expect(approve(action, facts.having(null), at)).toMatchObject({ outcome: "refused", code: "approval_expired" });
    expect(intend(action, at)).toMatchObject({ outcome: "refused", code: "action_not_approved" });
  }
});

test("an action whose approval was erased counts as rejected, and is not carried out", () => {
  const action = fold(asRead(facts.proposed("a")), erased(facts.approved));
  expect(action).toMatchObject({ status: "rejected", reason: "erased" });
  for (const at of everyMoment) expect(intend(action, at)).toMatchObject({ code: "action_not_approved" });
  expect(approve(action, facts.having(null), noon)).toMatchObject({ code: "action_already_rejected" });
});

test("an attempt whose outcome was erased is unclear, and not made again", () => {
  const begun = stages.begun.map(asRead);
  const action = fold(...begun, erased(facts.failedForNow));
  expect(action).toMatchObject({ status: "approved", execution: { state: "unknown" } });
  for (const at of everyMoment) expect(intend(action, at)).toMatchObject({ code: "action_not_due" });
});

test("an attempt that was erased was still an attempt", () => {
  const action = fold(asRead(facts.proposed("a")), asRead(facts.approved), erased(facts.intended()));
  expect(action).toMatchObject({ status: "approved", execution: { state: "intended" } });
  for (const at of everyMoment) expect(intend(action, at)).toMatchObject({ code: "action_not_due" });
  expect(cancel(action)).toMatchObject({ code: "action_already_begun" });
});

describe("whatever is erased of whatever history", () => {
  const anyFact = fc.constantFrom(
    facts.proposed("a"),
    facts.approved,
    facts.executed,
    facts.rejected("no"),
    facts.rejected("superseded", "b"),
    facts.intended(),
    facts.failedForNow,
    facts.done,
    facts.finished(ExecutionOutcome.FAILED),
    facts.finished(ExecutionOutcome.UNKNOWN),
    facts.conflicted,
  );
  const anyHistory = fc.array(
    fc.tuple(anyFact, fc.boolean()).map(([fact, isErased]) => (isErased ? erased(fact) : asRead(fact))),
    { maxLength: 12 },
  );

  test("nothing throws", () => {
    fc.assert(
      fc.property(anyHistory, fc.constantFrom(...everyMoment), (history, at) => {
        const action = fold(...history);
        approve(action, facts.having(null), at);
        reject(action, "no");
        cancel(action);
        supersede(action, "c", at);
        expire(action, at);
        intend(action, at);
        giveUp(action, "gone");
        resolve(action, true, at);
        resolve(action, false, at);
        settle(action, { outcome: "unknown", reason: "?" }, "execution", at);
        settle(action, { outcome: "not_done", reason: "?", isPassing: true }, "execution", at);
      }),
    );
  });

  test("an erased approval is none: only one that can be read leads to an intent", () => {
    fc.assert(
      fc.property(anyHistory, fc.constantFrom(...everyMoment), (history, at) => {
        if (intend(fold(...history), at).outcome === "refused") return;
        expect(history).toContainEqual(asRead(facts.approved));
      }),
    );
  });
});
