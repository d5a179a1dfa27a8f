import { describe, expect, test } from "@jest/globals";
import { abandon, approve, cancel, conflict, expire, reject, supersede } from "../../../domain/approvals/index.js";
import { hour, toTimestamp, type NewFact, type RefusalCode } from "../../../domain/shared/index.js";
import { ActionStatus } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import * as facts from "../../support/action-facts.js";
import { noon } from "../../support/appends.js";
import { action, actionThatIs, type Stage } from "./actions.js";

const aboutIt = (change: NewFact): NewFact => {
  if (change.case !== "proposedActionStatusChanged") throw new Error("not a change of status");
  return { ...change, value: { ...change.value, actionId: "a" } };
};
const approvedAt = (at: number): NewFact =>
  aboutIt(facts.statusChanged(ActionStatus.APPROVED, { notBefore: toTimestamp(at) }));
const rejectedFor = (reason: string, by = "", code?: string): NewFact => aboutIt(facts.rejected(reason, by, code));

/** "nothing" is an answer too: a repeat is not news. */
type Answer = "nothing" | RefusalCode | readonly [RefusalCode, string] | { readonly records: NewFact };
type Answers = readonly (readonly [Stage, Answer])[];
type Then = ReturnType<ReturnType<typeof actionThatIs>["when"]>;

function expectAnswer(then: Then, answer: Answer): void {
  if (answer === "nothing") then.thenDoesNothing();
  else if (typeof answer === "string") then.thenRefuses(answer);
  else if ("records" in answer) then.thenRecords(answer.records);
  else then.thenRefuses(answer[0], { reason: answer[1] });
}

const alreadyRejected: Answers = [
  ["rejected", ["action_already_rejected", "no"]],
  ["expired", ["action_already_rejected", "expired"]],
  ["cancelled", ["action_already_rejected", "cancelled"]],
  ["superseded", ["action_already_rejected", "superseded"]],
];
const whenApproved: readonly Stage[] = ["approved", "begun", "to be tried again", "unclear", "failed", "executed"];
const each = (stages: readonly Stage[], answer: Answer): Answers => stages.map((stage) => [stage, answer]);

describe("approving", () => {
  const answers: Answers = [
    ["not there", "action_not_found"],
    ["pending", { records: approvedAt(noon) }],
    ...each(whenApproved, "nothing"),
    ...alreadyRejected,
  ];
  test.each(answers)("an action that is %s", (stage, answer) => {
    expectAnswer(actionThatIs(stage).when(approve, facts.having(null), noon), answer);
  });

  test("is possible until the last millisecond, and not at the very instant of expiry", () => {
    const pending = actionThatIs("pending");
    pending.when(approve, facts.having(null), noon + hour - 1).thenRecords(approvedAt(noon + hour - 1));
    pending.when(approve, facts.having(null), noon + hour).thenRefuses("approval_expired");
    pending.when(approve, facts.having(null), noon + 2 * hour).thenRefuses("approval_expired");
  });

  test("is good for the card that was seen, and for no other", () => {
    const pending = actionThatIs("pending");
    pending.when(approve, facts.having("card a"), noon).thenRecords(approvedAt(noon));
    pending.when(approve, facts.having("card b"), noon).thenRefuses("card_changed");
    pending.when(approve, facts.having("card"), noon).thenRefuses("card_changed");
    pending.when(approve, facts.having("card a and more"), noon).thenRefuses("card_changed");
    pending.when(approve, facts.having(""), noon).thenRefuses("card_changed");
  });

  test("says that it expired, whatever card was seen", () => {
    actionThatIs("pending")
      .when(approve, facts.having("card b"), noon + hour)
      .thenRefuses("approval_expired");
  });

  test("twice is once, even after its time and under another policy", () => {
    actionThatIs("pending")
      .when(approve, facts.having(null), noon)
      .thenRecords(approvedAt(noon))
      .when(approve, { ...facts.having("card a"), policyVersion: "p2" }, noon + 2 * hour)
      .thenDoesNothing();
  });

  test.each(whenApproved)("by another card is no repeat, of one that is %s", (stage) => {
    actionThatIs(stage).when(approve, facts.having("card b"), noon).thenRefuses("card_changed");
    actionThatIs(stage).when(approve, facts.having("card a"), noon).thenDoesNothing();
  });

  test("under another policy than it was shown under is refused, after all else that is wrong", () => {
    const pending = actionThatIs("pending");
    const under = (seen: string | null) => ({ ...facts.having(seen), policyVersion: "p2" });
    pending.when(approve, under("card a"), noon).thenRefuses("policy_changed");
    pending.when(approve, under(null), noon).thenRefuses("policy_changed");
    pending.when(approve, under("card b"), noon).thenRefuses("card_changed");
    pending.when(approve, under("card a"), noon + hour).thenRefuses("approval_expired");
  });

  test("leaves the time to take it back that the proposal promised", () => {
    action(facts.proposed("a", { undoSeconds: 30 }))
      .when(approve, facts.having(null), noon)
      .thenRecords(approvedAt(noon + 30_000));
  });
});

describe("approving an action whose key another one has used", () => {
  const { tool, idempotencyKey } = { tool: "gmail_send_draft", idempotencyKey: "key a" };
  const value = { actionId: "a", tool, idempotencyKey, reason: "args_hash_mismatch" };
  const recorded: NewFact = { case: "idempotencyConflict", value };
  const other = action(facts.proposed("b")).state;

  test("records the conflict and rejects it, and says so again whenever it is asked for", () => {
    const after = actionThatIs("pending")
      .when(conflict, other, facts.having("card a"), noon)
      .thenRecords(recorded, rejectedFor("idempotency_conflict"));
    after.when(approve, facts.having(null), noon).thenRefuses("idempotency_conflict");
    after.when(conflict, other, facts.having(null), noon).thenRefuses("idempotency_conflict");
  });

  test("says if it was for the very same", () => {
    const pending = actionThatIs("pending");
    pending
      .when(conflict, pending.state, facts.having("card a"), noon)
      .thenRecords({ ...recorded, value: { ...value, reason: "key_reused" } }, rejectedFor("idempotency_conflict"));
  });

  const answers: Answers = [["not there", "action_not_found"], ...each(whenApproved, "nothing"), ...alreadyRejected];
  test.each(answers)("of an action that is %s, is what it is without", (stage, answer) => {
    expectAnswer(actionThatIs(stage).when(conflict, other, facts.having(null), noon), answer);
  });

  test("records nothing of what could not be approved anyway", () => {
    const pending = actionThatIs("pending");
    pending.when(conflict, other, facts.having("card b"), noon).thenRefuses("card_changed");
    pending.when(conflict, other, facts.having(null), noon + hour).thenRefuses("approval_expired");
  });
});

describe("rejecting", () => {
  const answers: Answers = [
    ["not there", "action_not_found"],
    ["pending", { records: rejectedFor("not now") }],
    ...each(whenApproved, "action_already_approved"),
    ...each(["rejected", "expired", "cancelled", "superseded"], "nothing"),
  ];
  test.each(answers)("an action that is %s", (stage, answer) => {
    expectAnswer(actionThatIs(stage).when(reject, "not now"), answer);
  });

  test("needs no reason", () => {
    actionThatIs("pending").when(reject, "").thenRecords(rejectedFor(""));
  });

  test("takes a reason of bounded length, and of text", () => {
    const pending = actionThatIs("pending");
    pending.when(reject, "x".repeat(2_000)).thenRecords(rejectedFor("x".repeat(2_000)));
    pending.when(reject, "x".repeat(2_001)).thenRefuses("text_too_long", { textBytes: 2_001, textBytesMax: 2_000 });
    pending.when(reject, "\ud800").thenRefuses("text_malformed");
  });
});

describe("taking an approval back", () => {
  const answers: Answers = [
    ["not there", "action_not_found"],
    ["pending", "action_not_approved"],
    ["approved", { records: rejectedFor("cancelled") }],
    ...each(["begun", "to be tried again", "unclear", "failed", "executed"], "action_already_begun"),
    ["rejected", ["action_already_rejected", "no"]],
    ["expired", ["action_already_rejected", "expired"]],
    ["cancelled", "nothing"],
    ["superseded", ["action_already_rejected", "superseded"]],
  ];
  test.each(answers)("of an action that is %s", (stage, answer) => {
    expectAnswer(actionThatIs(stage).when(cancel), answer);
  });
});

describe("putting another revision in its place", () => {
  const answers: Answers = [
    ["not there", "action_not_found"],
    ["pending", { records: rejectedFor("superseded", "c") }],
    ...each(whenApproved, "action_already_approved"),
    ...alreadyRejected,
  ];
  test.each(answers)("of an action that is %s", (stage, answer) => {
    expectAnswer(actionThatIs(stage).when(supersede, "c", noon), answer);
  });

  test("is possible twenty revisions long", () => {
    const revision = (count: number) => action(facts.proposed("a", { revision: count }));
    revision(19).when(supersede, "c", noon).thenRecords(rejectedFor("superseded", "c"));
    revision(20).when(supersede, "c", noon).thenRefuses("too_many_revisions", { revisionsMax: 20 });
  });
});

describe("letting expire", () => {
  const others: readonly Stage[] = ["not there", ...whenApproved, "rejected", "expired", "cancelled", "superseded"];
  test.each(others)("does nothing to an action that is %s", (stage) => {
    actionThatIs(stage)
      .when(expire, noon + 2 * hour)
      .thenDoesNothing();
  });

  test("rejects a pending one from the very instant on", () => {
    const pending = actionThatIs("pending");
    pending.when(expire, noon + hour - 1).thenDoesNothing();
    pending.when(expire, noon + hour).thenRecords(rejectedFor("expired"));
  });
});

describe("an action whose thread was deleted", () => {
  test("is rejected if it was pending", () => {
    actionThatIs("pending").when(abandon).thenRecords(rejectedFor("thread_deleted"));
  });

  const others: readonly Stage[] = ["not there", ...whenApproved, "rejected", "expired", "cancelled", "superseded"];
  test.each(others)("is left as it is if it is %s", (stage) => {
    actionThatIs(stage).when(abandon).thenDoesNothing();
  });
});

describe("why an action was rejected", () => {
  test("is a code, whatever the owner's words are", () => {
    const mocked = actionThatIs("pending").when(reject, "cancelled");
    mocked
      .thenRecords(rejectedFor("cancelled", "", "owner"))
      .when(cancel)
      .thenRefuses("action_already_rejected", { reason: "cancelled" });
  });

  test.each([
    ["expired", "expired"],
    ["cancelled", "cancelled"],
    ["superseded", "superseded"],
    ["thread_deleted", "thread_deleted"],
    ["not now", "owner"],
    ["", "owner"],
  ])("was the reason %j before there were codes", (reason, code) => {
    expect(action(facts.proposed("a"), facts.rejectedWithoutCode(reason)).state).toMatchObject({ reason, code });
  });
});
