import { describe, expect, test } from "@jest/globals";
import { minute } from "../../../domain/shared/index.js";
import { ActionStatus, ExecutionOutcome } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { NotificationType } from "../../../proto/gen/pincer/protocol/v1/system_pb.js";
import { outletTool, type OutletFault } from "../../support/outlet.js";
import { refusedBy } from "../rpc/protocols.js";
import { Conveyor } from "./conveyor.js";

const conveyor = new Conveyor({ tools: (url) => [outletTool(url, { millisMax: 200 })] });
const attention = `${NotificationType.NOTIFICATION_PROACTIVE_REACH_OUT} operator_attention_needed`;
const intents = (actionId: string) =>
  conveyor.recordedOf(actionId).filter((type) => type === "actionExecutionIntended").length;

/** An approved action that meets a fault, once it is known what became of it. */
async function met(...faults: OutletFault[]) {
  conveyor.outlet.will(...faults);
  const sent = await conveyor.approved();
  await conveyor.until("actionExecutionFinished", sent.actionId);
  return sent;
}

/** Resolves when a provider has denied it within the lease, and can be believed from now on. */
async function deniedTooEarly(questions: number): Promise<void> {
  await conveyor.outlet.asked(questions);
  conveyor.clock.forward(2 * minute);
  await conveyor.nudge();
}

describe("a provider that does it and does not say so", () => {
  test.each(["fail_after", "reset_after", "hang_after"] as const)(
    "%s: it is asked, and the action is done, once",
    async (fault) => {
      const { actionId, turnId } = await met(fault);
      await conveyor.until("turnCompleted", turnId);
      expect(await conveyor.look(actionId)).toMatchObject({
        status: ActionStatus.EXECUTED,
        execution: ExecutionOutcome.DONE,
      });
      expect(conveyor.outlet.ledger).toHaveLength(1);
      expect(intents(actionId)).toBe(1);
      const finished = await conveyor.until("actionExecutionFinished", actionId);
      expect(finished.payload).toMatchObject({ settledBy: "reconciliation" });
    },
  );
});

describe("a provider that fails before it does anything", () => {
  test.each(["fail_before", "reset_before", "hang_before"] as const)(
    "%s: it is asked, and the action is tried again later, and done once",
    async (fault) => {
      conveyor.outlet.will(fault);
      const { actionId, turnId } = await conveyor.approved();
      await deniedTooEarly(1);
      await conveyor.until("actionExecutionFinished", actionId);
      expect(await conveyor.look(actionId)).toMatchObject({
        status: ActionStatus.APPROVED,
        execution: ExecutionOutcome.FAILED_RETRYABLE,
        executionReason: "the outlet knows nothing of it",
      });
      expect(conveyor.outlet.ledger).toEqual([]);
      conveyor.clock.forward(minute);
      await conveyor.nudge();
      await conveyor.until("turnCompleted", turnId);
      expect(await conveyor.statusOf(actionId)).toBe("EXECUTED");
      expect(conveyor.outlet.ledger).toHaveLength(1);
      expect(intents(actionId)).toBe(2);
    },
  );

  test("again and again: it is tried five times, and no more", async () => {
    conveyor.outlet.will(...Array<OutletFault>(5).fill("fail_before"));
    const { actionId, turnId } = await conveyor.approved();
    for (let attempt = 1; attempt <= 5; attempt++) {
      await deniedTooEarly(2 * attempt - 1);
      await conveyor.until("actionExecutionFinished", actionId, attempt);
      conveyor.clock.forward(minute);
      await conveyor.nudge();
    }
    await conveyor.until("turnCompleted", turnId);
    conveyor.clock.forward(10 * minute);
    await conveyor.nudge();
    expect(await conveyor.look(actionId)).toMatchObject({
      status: ActionStatus.APPROVED,
      execution: ExecutionOutcome.FAILED,
    });
    expect(intents(actionId)).toBe(5);
    expect(conveyor.outlet.ledger).toEqual([]);
  }, 60_000);

  test("cannot be taken back between two attempts: it may have been begun", async () => {
    conveyor.outlet.will("fail_before");
    const { actionId } = await conveyor.approved();
    await deniedTooEarly(1);
    await conveyor.until("actionExecutionFinished", actionId);
    const refused = await refusedBy(conveyor.approvals.cancelAction({ actionId }));
    expect(refused.refusal).toBe("action_already_begun");
  });
});

test("a provider that refuses: the action has failed, is not tried again, and the model is told", async () => {
  const { actionId, turnId } = await met("refuse");
  await conveyor.until("turnCompleted", turnId);
  expect(await conveyor.look(actionId)).toMatchObject({
    status: ActionStatus.APPROVED,
    execution: ExecutionOutcome.FAILED,
    executionReason: "the outlet said 422",
  });
  const told = await conveyor.until("toolExecutionFinished", turnId);
  expect(told.payload).toMatchObject({ result: expect.stringContaining("the outlet said 422"), failed: true });
  conveyor.clock.forward(10 * minute);
  await conveyor.nudge();
  expect(conveyor.outlet.requests).toBe(1);
  expect(conveyor.outlet.ledger).toEqual([]);
});

describe("a provider that does it and denies it for ever", () => {
  /** Nobody knows what became of it, and the owner was asked. */
  async function unclear() {
    const sent = await met("forget");
    await conveyor.until("turnCompleted", sent.turnId);
    await conveyor.until("notificationQueued", "", 2);
    return sent;
  }

  test("leaves the action unclear: it is never tried again, and the owner is asked", async () => {
    const { actionId, turnId } = await unclear();
    expect(await conveyor.look(actionId)).toMatchObject({
      status: ActionStatus.APPROVED,
      execution: ExecutionOutcome.UNKNOWN,
    });
    expect((await conveyor.newsOf(actionId))[0]).toBe(attention);
    const told = await conveyor.until("toolExecutionFinished", turnId);
    expect(told.payload).toMatchObject({ result: expect.stringContaining("Nobody knows whether it was done") });
    conveyor.clock.forward(60 * minute);
    await conveyor.restart();
    await conveyor.nudge();
    expect(await conveyor.look(actionId)).toMatchObject({ execution: ExecutionOutcome.UNKNOWN });
    expect(conveyor.outlet.ledger).toHaveLength(1);
    expect(intents(actionId)).toBe(1);
  });

  test.each([
    [true, ActionStatus.EXECUTED, ExecutionOutcome.DONE],
    [false, ActionStatus.APPROVED, ExecutionOutcome.FAILED],
  ])("until the owner says what became of it (done: %s), once and for all", async (done, status, execution) => {
    const { actionId } = await unclear();
    expect(await conveyor.approvals.resolveAction({ actionId, done })).toMatchObject({ actionId, status });
    expect(await conveyor.look(actionId)).toMatchObject({ status, execution });
    await conveyor.approvals.resolveAction({ actionId, done });
    await refusedBy(conveyor.approvals.resolveAction({ actionId, done: !done }));
    conveyor.clock.forward(60 * minute);
    await conveyor.nudge();
    expect(conveyor.outlet.ledger).toHaveLength(1);
    const finished = await conveyor.until("actionExecutionFinished", actionId, 2);
    expect(finished.payload).toMatchObject({ settledBy: "owner" });
  });
});

test("nobody says what became of an action that is not unclear", async () => {
  const { actionId } = await conveyor.propose();
  const refused = await refusedBy(conveyor.approvals.resolveAction({ actionId, done: true }));
  expect(refused.refusal).toBe("action_not_approved");
  await conveyor.approve(actionId);
  await conveyor.until("actionExecutionFinished", actionId);
  const contrary = await refusedBy(conveyor.approvals.resolveAction({ actionId, done: false }));
  expect(contrary.refusal).toBe("action_already_settled");
});
