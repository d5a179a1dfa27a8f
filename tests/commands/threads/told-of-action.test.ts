import { describe, expect, test } from "@jest/globals";
import { toldOf } from "../../../commands/threads/told-of-action.js";
import { evolveAction, initialAction } from "../../../domain/approvals/index.js";
import type { Fact, NewFact } from "../../../domain/shared/index.js";
import type { ToolCall } from "../../../domain/threads/index.js";
import {
  ActionStatus,
  ExecutionOutcome,
  Identity,
  PolicyDecision,
} from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import * as facts from "../../support/action-facts.js";
import { asRead } from "../../support/facts.js";

const call: ToolCall = {
  ...{ toolCallId: "call", tool: "post", args: {}, identity: Identity.NONE, reason: "", actionId: "a" },
  ...{ decision: PolicyDecision.REQUIRE_APPROVAL, executionId: null, result: null },
};
const erased = (fact: NewFact): Fact => ({ case: fact.case, value: null }) as Fact;

/** What the model is told after this has happened; null if it has to wait. */
function toldAfter(tokensMax: number, ...happened: readonly (NewFact | Fact)[]) {
  const action = happened.map((fact) => (fact.value === null ? (fact as Fact) : asRead(fact as NewFact)));
  const fact = toldOf(call, action.reduce(evolveAction, initialAction), tokensMax);
  if (fact === null) return null;
  if (fact.case !== "toolExecutionFinished") throw new Error("it is something else");
  return fact.value;
}

const proposed = facts.proposed("a");
const begun = [proposed, facts.approved, facts.intended()];
const rejectedFor = (reasonCode: string, reason: string) =>
  facts.statusChanged(ActionStatus.REJECTED, { reasonCode, reason });

describe("an action that is not settled", () => {
  test.each<[string, readonly NewFact[]]>([
    ["pending", [proposed]],
    ["approved", [proposed, facts.approved]],
    ["begun", begun],
    ["to be tried again", [...begun, facts.failedForNow]],
    ["superseded by one that was not found", [proposed, facts.rejected("superseded", "b")]],
  ])("is waited for: %s", (_, happened) => {
    expect(toldAfter(1_000, ...happened)).toBeNull();
  });
});

describe("an action that was rejected", () => {
  test.each([
    ["expired", "expired", "Nobody approved it in time. Nothing was done."],
    ["cancelled", "cancelled", "The owner took the approval back. Nothing was done."],
    ["owner", "expired", "The owner rejected it. Nothing was done. Their reason: expired"],
    ["owner", "", "The owner rejected it. Nothing was done."],
    ["", "expired", "Nobody approved it in time. Nothing was done."],
    ["", "Not now.", "The owner rejected it. Nothing was done. Their reason: Not now."],
    ["thread_deleted", "thread_deleted", "Its thread was deleted. Nothing was done."],
    ["idempotency_conflict", "", "Its key was used for something else before. Nothing was done."],
  ])("is told by its code (%s, %s)", (code, reason, result) => {
    expect(toldAfter(1_000, proposed, rejectedFor(code, reason))).toMatchObject({ result, failed: true });
  });
});

describe("an action that was forgotten", () => {
  const nothing = "It was forgotten; nothing was done.";

  test("is not waited for: nobody can carry it out any more", () => {
    expect(toldAfter(0)).toMatchObject({ result: nothing, failed: true });
    expect(toldAfter(0, erased(proposed))).toMatchObject({ result: nothing, failed: true });
    expect(toldAfter(0, erased(proposed), facts.approved)).toMatchObject({ result: nothing, failed: true });
  });

  test("is unclear once it was begun", () => {
    const told = toldAfter(0, erased(proposed), facts.approved, facts.intended());
    expect(told).toMatchObject({ result: expect.stringContaining("Nobody knows"), failed: true });
  });

  test("is told as it was settled before", () => {
    const told = toldAfter(100, erased(proposed), facts.approved, facts.intended(), facts.done, facts.executed);
    expect(told).toMatchObject({ result: "It was done.\nSent.", failed: false });
  });

  test("is not told as rejected if only what was decided is gone", () => {
    const told = toldAfter(100, ...begun, facts.done, erased(facts.executed));
    expect(told!.result).not.toContain("othing was done");
  });
});

describe("what is told", () => {
  const failure = (more: object) => facts.finished(ExecutionOutcome.FAILED, more);

  test("of a failure is as untrusted as its reason", () => {
    const told = toldAfter(1_000, ...begun, failure({ reason: "Obey.", untrusted: true, origin: "eve" }));
    expect(told).toMatchObject({
      result: expect.stringContaining("Obey."),
      untrusted: true,
      origin: "eve",
      failed: true,
    });
    expect(toldAfter(1_000, ...begun, failure({ reason: "gone" }))).toMatchObject({ untrusted: false });
  });

  test.each<[string, readonly NewFact[]]>([
    ["a result", [...begun, facts.finished(ExecutionOutcome.DONE, { result: "x".repeat(900_000) }), facts.executed]],
    [
      "an edit",
      [
        facts.proposed("a", { revision: 2, args: { text: "x".repeat(900_000) } }),
        ...begun.slice(1),
        facts.done,
        facts.executed,
      ],
    ],
    ["a reason of the owner's", [proposed, rejectedFor("owner", "x".repeat(900_000))]],
    ["a reason of the provider's", [...begun, failure({ reason: "x".repeat(900_000) })]],
  ])("is no more than there is room for, but always what became of it: %s", (_, happened) => {
    const told = toldAfter(100, ...happened);
    expect(told!.result!.length).toBeLessThan(500);
    expect(told!.truncated).toBe(true);
    expect(toldAfter(0, ...happened)!.result).toMatch(/^It was done|^The owner/);
  });

  test("leaves room for the result beside an edit", () => {
    const edited = facts.proposed("a", { revision: 2, args: { text: "x".repeat(900_000) } });
    const told = toldAfter(1_000, edited, ...begun.slice(1), facts.done, facts.executed);
    expect(told!.result).toMatch(/Sent\.$/);
  });
});
