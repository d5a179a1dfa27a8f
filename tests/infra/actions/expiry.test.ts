import { describe, expect, test } from "@jest/globals";
import { setImmediate as breathe } from "node:timers/promises";
import type { Timers } from "../../../commands/ports/index.js";
import { hour } from "../../../domain/shared/index.js";
import { systemTimers } from "../../../infra/ports/system-timers.js";
import { NotificationType } from "../../../proto/gen/pincer/protocol/v1/system_pb.js";
import { refusedBy } from "../rpc/protocols.js";
import { Conveyor } from "./conveyor.js";

const conveyor = new Conveyor();
const needed = String(NotificationType.NOTIFICATION_PENDING_APPROVAL_CREATED);
const expiring = String(NotificationType.NOTIFICATION_APPROVAL_EXPIRING_SOON);

describe("an action that nobody has decided in time", () => {
  test("is refused at the very instant, even before anybody came by to say so", async () => {
    const { actionId } = await conveyor.propose();
    conveyor.clock.forward(24 * hour);
    const refused = await refusedBy(conveyor.approvals.approveAction({ actionId }));
    expect(refused).toMatchObject({ code: "FailedPrecondition", refusal: "approval_expired" });
    expect(conveyor.outlet.requests).toBe(0);
  });

  test("can be approved until the last millisecond", async () => {
    const { actionId, turnId } = await conveyor.propose();
    conveyor.clock.forward(24 * hour - 1);
    await conveyor.approve(actionId);
    await conveyor.until("turnCompleted", turnId);
    expect(conveyor.outlet.ledger).toHaveLength(1);
  });

  test("is rejected by whoever comes by, and the model is told", async () => {
    const { actionId, turnId, threadId } = await conveyor.propose();
    conveyor.clock.forward(24 * hour);
    await conveyor.nudge();
    await conveyor.until("turnCompleted", turnId);
    expect(await conveyor.look(actionId)).toMatchObject({ rejectionReason: "expired", rejectionCode: "expired" });
    const told = conveyor
      .recorded()
      .find(({ type, threadId: of }) => type === "toolExecutionFinished" && of === threadId);
    expect(told?.payload).toMatchObject({ result: "Nobody approved it in time. Nothing was done.", failed: true });
    expect(conveyor.outlet.requests).toBe(0);
  });

  test("is rejected too if its time ended while the server was away", async () => {
    const { actionId, turnId } = await conveyor.propose();
    await conveyor.server.stop();
    conveyor.clock.forward(25 * hour);
    await conveyor.start();
    await conveyor.until("turnCompleted", turnId);
    expect(await conveyor.statusOf(actionId)).toBe("REJECTED");
  });

  test("has as long as the owner has configured", async () => {
    await conveyor.restart({ config: { approvalHours: 2 } });
    const { actionId } = await conveyor.propose();
    conveyor.clock.forward(2 * hour);
    expect((await refusedBy(conveyor.approvals.approveAction({ actionId }))).refusal).toBe("approval_expired");
  });
});

describe("the owner", () => {
  test("is told that an approval is needed", async () => {
    const { actionId } = await conveyor.propose();
    expect(await conveyor.newsOf(actionId)).toEqual([needed]);
  });

  test("is told an hour before the end, once, whatever happens in between", async () => {
    const { actionId } = await conveyor.propose();
    conveyor.clock.forward(23 * hour - 1);
    await conveyor.nudge();
    await conveyor.nudge();
    expect(await conveyor.newsOf(actionId)).toEqual([needed]);
    conveyor.clock.forward(1);
    await conveyor.nudge();
    await conveyor.until("notificationQueued", "", 5);
    await conveyor.nudge();
    await conveyor.restart();
    await conveyor.nudge();
    expect(await conveyor.newsOf(actionId)).toEqual([expiring, needed]);
    const queued = conveyor.recorded().filter(({ payload }) => {
      return payload !== null && "type" in payload && payload.type === "approval_expiring";
    });
    expect(queued).toHaveLength(1);
  });

  test("is told also if nothing but decisions ever wakes the server", async () => {
    const executor = { isAsleep: false };
    const neverEnding: Timers = {
      after: (millis, act) => {
        if (millis < 100) return systemTimers.after(millis, act);
        executor.isAsleep = true;
        return () => {
          executor.isAsleep = false;
        };
      },
    };
    await conveyor.restart({ timers: neverEnding });
    const { actionId } = await conveyor.propose();
    const other = await conveyor.propose("other");
    while (!executor.isAsleep) await breathe();
    conveyor.clock.forward(23 * hour);
    await conveyor.approvals.rejectAction({ actionId: other.actionId, reason: "no" });
    await conveyor.until("notificationQueued", "", 3);
    expect(await conveyor.newsOf(actionId)).toEqual([expiring, needed]);
  });
});
