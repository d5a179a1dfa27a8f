import { describe, expect, test } from "@jest/globals";
import { hour, minute } from "../../../domain/shared/index.js";
import { systemTimers } from "../../../infra/ports/system-timers.js";
import { ActionStatus, ExecutionOutcome } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { Conveyor } from "./conveyor.js";
import { LossyTool } from "./lossy-tool.js";
import { outletTool } from "../../support/outlet.js";

// In our own time: so the end of a lease is not reached while the test looks.
const conveyor = new Conveyor({ timers: systemTimers });
const intents = (actionId: string) =>
  conveyor.recordedOf(actionId).filter((type) => type === "actionExecutionIntended").length;

/** Time goes on until the lease is over. */
async function leaseEnds(): Promise<void> {
  conveyor.clock.forward(2 * minute);
  await conveyor.nudge();
}

describe("a provider that knows nothing of a request", () => {
  test("and then carries it out, is asked again after the lease, and the action is done once", async () => {
    conveyor.outlet.will("late");
    const { actionId, turnId } = await conveyor.approved();
    await conveyor.outlet.asked(1);
    await leaseEnds();
    await conveyor.until("turnCompleted", turnId);
    expect(await conveyor.look(actionId)).toMatchObject({
      status: ActionStatus.EXECUTED,
      execution: ExecutionOutcome.DONE,
    });
    expect(conveyor.outlet.ledger).toHaveLength(1);
    expect(intents(actionId)).toBe(1);
  });

  test("is not believed within the lease, however often somebody looks", async () => {
    conveyor.outlet.will("reset_before");
    const { actionId } = await conveyor.approved();
    await conveyor.outlet.asked(1);
    conveyor.clock.forward(2 * minute - 1);
    for (let times = 0; times < 5; times++) await conveyor.nudge();
    expect(conveyor.recordedOf(actionId)).not.toContain("actionExecutionFinished");
    conveyor.clock.forward(1);
    await conveyor.nudge();
    const finished = await conveyor.until("actionExecutionFinished", actionId);
    expect(finished.payload).toMatchObject({ outcome: ExecutionOutcome.FAILED_RETRYABLE, settledBy: "reconciliation" });
  });

  test("is not believed after a restart within the lease either", async () => {
    const lossy = new LossyTool("before");
    await conveyor.restart({ tools: (url) => [lossy.tool(url)] });
    const { actionId } = await conveyor.approved();
    await lossy.isWaitedFor();
    await conveyor.restart({ tools: (url) => [outletTool(url)] });
    await conveyor.outlet.asked(1);
    await conveyor.restart();
    await conveyor.outlet.asked(2);
    expect(conveyor.recordedOf(actionId)).not.toContain("actionExecutionFinished");
    await leaseEnds();
    await conveyor.until("actionExecutionFinished", actionId);
    expect(conveyor.outlet.ledger).toEqual([]);
  });

  test("is believed at once after a restart long after the lease", async () => {
    const lossy = new LossyTool("before");
    await conveyor.restart({ tools: (url) => [lossy.tool(url)] });
    const { actionId } = await conveyor.approved();
    await lossy.isWaitedFor();
    await conveyor.server.stop();
    conveyor.clock.forward(hour / 2);
    await conveyor.restart({ tools: (url) => [outletTool(url)] });
    await conveyor.until("actionExecutionFinished", actionId);
    expect(conveyor.outlet.requests).toBe(1);
  });

  test("keeps nobody waiting who has something else to do", async () => {
    const unclear = 45; // More than are carried out at a time.
    conveyor.outlet.will(...Array<"reset_before">(unclear).fill("reset_before"));
    const threadId = await conveyor.newThread();
    for (let number = 0; number < unclear; number++) {
      await conveyor.approve((await conveyor.propose(`unclear ${number}`, threadId)).actionId);
    }
    await conveyor.outlet.asked(unclear);
    const { turnId } = await conveyor.approved("at once");
    await conveyor.until("turnCompleted", turnId);
    expect(conveyor.outlet.ledger).toMatchObject([{ text: "at once" }]);
  }, 60_000);
});
