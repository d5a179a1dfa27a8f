import { describe, test } from "@jest/globals";
import { approve, cancel, expire, reject, supersede } from "../../../domain/approvals/index.js";
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
const rejectedFor = (reason: string, by = ""): NewFact => aboutIt(facts.rejected(reason, by));

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
    expectAnswer(actionThatIs(stage).when(approve, null, noon), answer);
  });

  test("is possible until the last millisecond, and not at the very instant of expiry", () => {
    const pending = actionThatIs("pending");
    pending.when(approve, null, noon + hour - 1).thenRecords(approvedAt(noon + hour - 1));
    pending.when(approve, null, noon + hour).thenRefuses("approval_expired");
    pending.when(approve, null, noon + 2 * hour).thenRefuses("approval_expired");
  });

  test("is good for the card that was seen, and for no other", () => {
    const pending = actionThatIs("pending");
    pending.when(approve, facts.bytes("card a"), noon).thenRecords(approvedAt(noon));
    pending.when(approve, facts.bytes("card b"), noon).thenRefuses("card_changed");
    pending.when(approve, facts.bytes("card"), noon).thenRefuses("card_changed");
    pending.when(approve, facts.bytes("card a and more"), noon).thenRefuses("card_changed");
    pending.when(approve, new Uint8Array(), noon).thenRefuses("card_changed");
  });

  test("says that it expired, whatever card was seen", () => {
    actionThatIs("pending")
      .when(approve, facts.bytes("card b"), noon + hour)
      .thenRefuses("approval_expired");
  });

  test("twice is once, even after its time and with another card", () => {
    actionThatIs("pending")
      .when(approve, null, noon)
      .thenRecords(approvedAt(noon))
      .when(approve, facts.bytes("card b"), noon + 2 * hour)
      .thenDoesNothing();
  });

  test("leaves the time to take it back that the proposal promised", () => {
    action(facts.proposed("a", { undoSeconds: 30 }))
      .when(approve, null, noon)
      .thenRecords(approvedAt(noon + 30_000));
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
