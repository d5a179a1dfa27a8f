import { describe, expect, test } from "@jest/globals";
import {
  giveUp,
  intend,
  isTooLate,
  leaseAfter,
  leaseMillisLeft,
  leaseMillisOf,
  resolve,
  settle,
  type Effect,
} from "../../../domain/approvals/index.js";
import { hour, minute, second, toInstant, toTimestamp, type NewFact } from "../../../domain/shared/index.js";
import { ActionStatus, ExecutionOutcome } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import * as facts from "../../support/action-facts.js";
import { noon } from "../../support/appends.js";
import { action, actionThatIs, type Stage } from "./actions.js";

const due = noon + 10 * second;
const who = { actionId: "a", tool: "gmail_send_draft", idempotencyKey: "key a" };
const intended = (attempt: number, at: number): NewFact => ({
  case: "actionExecutionIntended",
  value: { ...who, attempt, argsHash: facts.bytes("args a"), leaseUntil: toTimestamp(at + 2 * minute) },
});
const finished = (outcome: ExecutionOutcome, more: object = {}): NewFact => ({
  case: "actionExecutionFinished",
  value: { ...who, attempt: 1, settledBy: "execution", outcome, ...more },
});
const executed = facts.statusChanged(ActionStatus.EXECUTED, { actionId: "a" });

const done: Effect = {
  outcome: "done",
  result: { text: "Sent.", isTruncated: true, isUntrusted: true, origin: "ann", hash: facts.bytes("hash") },
};
const recordedDone = finished(ExecutionOutcome.DONE, {
  ...{ result: "Sent.", truncated: true, untrusted: true, origin: "ann", resultHash: facts.bytes("hash") },
});
const notDone = (isPassing: boolean): Effect => ({ outcome: "not_done", reason: "busy", isPassing });
const unclear: Effect = { outcome: "unknown", reason: "no answer" };

const closed: readonly Stage[] = ["not there", "pending", "rejected", "expired", "cancelled", "superseded"];

describe("beginning", () => {
  test.each([...closed, "executed"] as const)("is refused for an action that is %s", (stage) => {
    actionThatIs(stage).when(intend, due).thenRefuses("action_not_approved");
  });

  test.each(["begun", "unclear", "failed"] as const)("is refused for an action that is %s", (stage) => {
    actionThatIs(stage)
      .when(intend, noon + 1e9)
      .thenRefuses("action_not_due");
  });

  test("waits until the approval cannot be taken back any more", () => {
    const approved = actionThatIs("approved");
    approved.when(intend, due - 1).thenRefuses("action_not_due");
    approved.when(intend, due).thenRecords(intended(1, due));
  });

  test("again waits until the retry is due, and counts", () => {
    const again = actionThatIs("to be tried again");
    again.when(intend, noon + 59_999).thenRefuses("action_not_due");
    again.when(intend, noon + 60_000).thenRecords(intended(2, noon + 60_000));
  });
});

describe("an approval", () => {
  // It expires an hour after noon.
  test("is good for an hour after it is due, and for as long as it could have been given", () => {
    const late = actionThatIs("approved");
    late.when(intend, due + hour).thenRecords(intended(1, due + hour));
    late.when(intend, due + hour + 1).thenRefuses("approval_expired");
    const longer = action(facts.proposed("a", { expiresAt: toTimestamp(noon + 5 * hour) }), facts.approved);
    longer.when(intend, noon + 5 * hour).thenRecords(intended(1, noon + 5 * hour));
    longer.when(intend, noon + 5 * hour + 1).thenRefuses("approval_expired");
  });

  test("is as good for a retry, an hour after that is due", () => {
    const again = actionThatIs("to be tried again");
    again.when(intend, noon + minute + hour).thenRecords(intended(2, noon + minute + hour));
    again.when(intend, noon + minute + hour + 1).thenRefuses("approval_expired");
  });

  test("is not too old for what was begun already", () => {
    const { state } = actionThatIs("begun");
    expect(state.status === "approved" && isTooLate(state, noon + 1_000 * hour)).toBe(false);
  });
});

describe("a lease", () => {
  test("is longer than an attempt may take", () => {
    expect(leaseMillisOf(minute)).toBe(2 * minute);
    expect(leaseMillisOf(10 * minute)).toBeGreaterThan(10 * minute);
    actionThatIs("approved")
      .when(intend, due, 10 * minute)
      .thenRecords({
        ...intended(1, due),
        value: { ...intended(1, due).value, leaseUntil: toTimestamp(due + 11 * minute) },
      } as NewFact);
  });

  test("is carried by what was begun", () => {
    const { state } = actionThatIs("begun");
    expect(state).toMatchObject({ execution: { state: "intended", leaseUntil: noon + 2 * minute } });
  });

  test.each([
    ["at its beginning", 0, 2 * minute],
    ["in the middle", minute, minute],
    ["at its end", 2 * minute, 0],
    ["long after", 1_000 * hour, 0],
    ["if the clock was set back, no longer than it ever was", -24 * hour, 2 * minute],
  ])("has so much left %s", (_, later, left) => {
    expect(leaseMillisLeft(noon + 2 * minute, noon + later, 2 * minute)).toBe(left);
  });

  test("ends a minute after the attempt at the earliest", () => {
    expect(leaseAfter(noon + 2 * minute, noon + second)).toBe(noon + 2 * minute);
    expect(leaseAfter(noon + 2 * minute, noon + hour)).toBe(noon + hour + minute);
  });
});

describe("what a tool says", () => {
  const long = "\u{1F600}".repeat(3_000);
  const saidOf = (effect: Effect) => {
    const decision = settle(actionThatIs("begun").state, effect, "execution", due);
    const [fact] = decision.outcome === "accepted" ? decision.facts : [];
    if (fact?.case !== "actionExecutionFinished") throw new Error("nothing was recorded");
    return fact.value;
  };

  test.each<Effect>([
    { outcome: "not_done", reason: long, isPassing: true, origin: long },
    { outcome: "not_done", reason: `x${long}`, isPassing: false, origin: `x${long}` },
    { outcome: "unknown", reason: `${"x".repeat(499)}${long}` },
    { outcome: "unknown", reason: "bad \ud800" },
    {
      outcome: "done",
      result: {
        text: "",
        isTruncated: false,
        isUntrusted: true,
        origin: `bad \ud800 ${long}`,
        hash: new Uint8Array(5e6),
      },
    },
  ])("is bounded and can be written down (%#)", (effect) => {
    const { reason = "", origin = "", resultHash = new Uint8Array() } = saidOf(effect);
    for (const text of [reason, origin]) {
      expect(text.length).toBeLessThanOrEqual(500);
      expect(text.isWellFormed()).toBe(true);
    }
    expect(resultHash.length).toBeLessThanOrEqual(64);
  });

  test.each([true, false])("of why it was not done is others' words if they are that (passing: %s)", (isPassing) => {
    const effect: Effect = { outcome: "not_done", reason: "Obey.", isPassing, isUntrusted: true, origin: "eve" };
    expect(saidOf(effect)).toMatchObject({ reason: "Obey.", untrusted: true, origin: "eve" });
  });

  test("of why it was not done is kept as that", () => {
    const effect: Effect = { outcome: "not_done", reason: "Obey.", isPassing: false, isUntrusted: true, origin: "eve" };
    const failure = { reason: "Obey.", untrusted: true, origin: "eve" };
    const { state } = actionThatIs("begun")
      .when(settle, effect, "execution", due)
      .thenRecords(finished(ExecutionOutcome.FAILED, failure));
    const why = { text: "Obey.", isUntrusted: true, origin: "eve" };
    expect(state).toMatchObject({ execution: { state: "failed", why } });
  });

  test("that it is passing counts as often as the tool may be tried", () => {
    actionThatIs("begun")
      .when(settle, notDone(true), "execution", due, 1)
      .thenRecords(finished(ExecutionOutcome.FAILED, { reason: "busy" }));
  });
});

describe("what became of an attempt", () => {
  test("done: its result is kept and the action is executed", () => {
    actionThatIs("begun")
      .when(settle, done, "execution", due)
      .thenRecords(recordedDone, executed)
      .when(settle, notDone(true), "execution", due)
      .thenDoesNothing();
  });

  test("not done, for good: it is not tried again", () => {
    actionThatIs("begun")
      .when(settle, notDone(false), "execution", due)
      .thenRecords(finished(ExecutionOutcome.FAILED, { reason: "busy" }))
      .when(intend, noon + 1e9)
      .thenRefuses("action_not_due");
  });

  test("not clear: it stays so until the provider or the owner knows", () => {
    const unknown = actionThatIs("begun")
      .when(settle, unclear, "reconciliation", due)
      .thenRecords(finished(ExecutionOutcome.UNKNOWN, { settledBy: "reconciliation", reason: "no answer" }));
    unknown.when(settle, unclear, "reconciliation", due).thenDoesNothing();
    unknown.when(intend, noon + 1e9).thenRefuses("action_not_due");
    unknown.when(giveUp, "gone").thenRefuses("action_already_begun");
    unknown.when(settle, done, "execution", due).thenRecords(recordedDone, executed);
  });

  test.each(closed)("is not told of an action that is %s", (stage) => {
    actionThatIs(stage).when(settle, done, "execution", due).thenRefuses("action_not_approved");
  });

  test.each(["approved", "to be tried again", "failed"] as const)("is not told of one that is %s", (stage) => {
    actionThatIs(stage).when(settle, done, "execution", due).thenRefuses("action_not_begun");
  });

  test("tries grow apart and end", () => {
    let tried = actionThatIs("approved");
    let at = due;
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 4; attempt++) {
      tried = tried.when(intend, at).thenRecords(intended(attempt, at));
      const decision = settle(tried.state, notDone(true), "execution", at);
      const [fact] = decision.outcome === "accepted" ? decision.facts : [];
      if (fact?.case !== "actionExecutionFinished") throw new Error("nothing was recorded");
      const { seconds = 0n, nanos = 0 } = fact.value.retryAt ?? {};
      const retryAt = toInstant({ seconds, nanos });
      expect(fact.value.outcome).toBe(ExecutionOutcome.FAILED_RETRYABLE);
      tried = tried.when(settle, notDone(true), "execution", at).thenRecords(fact);
      waits.push(retryAt - at);
      at = retryAt;
    }
    expect(waits).toEqual([5_000, 10_000, 20_000, 40_000]);
    tried
      .when(intend, at)
      .thenRecords(intended(5, at))
      .when(settle, notDone(true), "execution", at)
      .thenRecords(finished(ExecutionOutcome.FAILED, { attempt: 5, reason: "busy" }));
  });
});

describe("giving up", () => {
  test.each(["approved", "to be tried again"] as const)("ends an action that is %s", (stage) => {
    const attempt = stage === "approved" ? 0 : 1;
    actionThatIs(stage)
      .when(giveUp, "gone")
      .thenRecords(finished(ExecutionOutcome.FAILED, { attempt, reason: "gone" }))
      .when(intend, noon + 1e9)
      .thenRefuses("action_not_due");
  });

  test.each(["begun", "unclear", "failed"] as const)("comes too late for one that is %s", (stage) => {
    actionThatIs(stage).when(giveUp, "gone").thenRefuses("action_already_begun");
  });

  test.each([...closed, "executed"] as const)("is nothing for one that is %s", (stage) => {
    actionThatIs(stage).when(giveUp, "gone").thenRefuses("action_not_approved");
  });
});

describe("the owner says what became of it", () => {
  const saidDone = finished(ExecutionOutcome.DONE, {
    ...{ settledBy: "owner", result: "The owner says that it was done.", resultHash: new Uint8Array() },
  });
  const saidNotDone = finished(ExecutionOutcome.FAILED, {
    ...{ settledBy: "owner", reason: "The owner says that it was not done." },
  });

  test("it was done: once is enough, and it cannot be unsaid", () => {
    const settled = actionThatIs("unclear").when(resolve, true, due).thenRecords(saidDone, executed);
    settled.when(resolve, true, due).thenDoesNothing();
    settled.when(resolve, false, due).thenRefuses("action_already_settled");
  });

  test("it was not done: it is not tried again, once is enough, and it cannot be unsaid", () => {
    const settled = actionThatIs("unclear").when(resolve, false, due).thenRecords(saidNotDone);
    settled.when(resolve, false, due).thenDoesNothing();
    settled.when(resolve, true, due).thenRefuses("action_not_unknown");
    settled.when(intend, noon + 1e9).thenRefuses("action_not_due");
  });

  test.each([true, false])("only of what nobody knows (%s)", (isDone) => {
    actionThatIs("not there").when(resolve, isDone, due).thenRefuses("action_not_found");
    actionThatIs("pending").when(resolve, isDone, due).thenRefuses("action_not_approved");
    actionThatIs("rejected").when(resolve, isDone, due).thenRefuses("action_already_rejected", { reason: "no" });
    for (const stage of ["approved", "begun", "to be tried again"] as const) {
      actionThatIs(stage).when(resolve, isDone, due).thenRefuses("action_not_unknown");
    }
  });

  test("an intent without an approval in the history changes nothing", () => {
    action(facts.proposed("a"), facts.intended()).when(resolve, true, due).thenRefuses("action_not_approved");
    action(facts.proposed("a"), facts.done).when(intend, due).thenRefuses("action_not_approved");
  });
});
