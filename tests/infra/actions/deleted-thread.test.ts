import { describe, expect, test } from "@jest/globals";
import { second } from "../../../domain/shared/index.js";
import { ThreadsService } from "../../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { outletTool } from "../../support/outlet.js";
import { refusedBy } from "../rpc/protocols.js";
import { Conveyor } from "./conveyor.js";

const conveyor = new Conveyor({ tools: (url) => [outletTool(url, { undoSeconds: 30 })] });
const remove = (threadId: string) => conveyor.server.operator(ThreadsService).deleteThread({ threadId });

describe("an action whose thread is deleted", () => {
  test("can still be rejected", async () => {
    const { actionId, threadId } = await conveyor.propose();
    await remove(threadId);
    await conveyor.approvals.rejectAction({ actionId, reason: "gone" }).catch(() => undefined);
    expect(await conveyor.statusOf(actionId)).toBe("REJECTED");
  });

  test("cannot be approved any more", async () => {
    const { actionId, threadId } = await conveyor.propose();
    await remove(threadId);
    await refusedBy(conveyor.approvals.approveAction({ actionId }));
  });

  test("is not among those that wait for the owner", async () => {
    const { actionId, threadId } = await conveyor.propose();
    await remove(threadId);
    await conveyor.until("proposedActionStatusChanged", actionId);
    await conveyor.shown();
    expect((await conveyor.approvals.listApprovals({})).items).toEqual([]);
    const why = { rejectionReason: "thread_deleted", rejectionCode: "thread_deleted" };
    expect(await conveyor.look(actionId)).toMatchObject(why);
  });

  test("is not carried out, though it was approved before", async () => {
    const { actionId, threadId } = await conveyor.approved();
    await remove(threadId);
    conveyor.clock.forward(30 * second);
    await conveyor.nudge();
    await conveyor.until("actionExecutionFinished", actionId);
    expect(conveyor.outlet.ledger).toEqual([]);
  });
});

test("an action whose thread is deleted cannot be edited: nothing is proposed there, and nobody is told", async () => {
  const { actionId, threadId } = await conveyor.propose();
  const args = { to: "bob", text: "x" };
  const [, edited] = await Promise.allSettled([remove(threadId), conveyor.approvals.editAction({ actionId, args })]);
  const later = await refusedBy(conveyor.approvals.editAction({ actionId, args: { to: "eve", text: "x" } }));
  expect(later.refusal).toBe("thread_deleted");
  const events = conveyor.recorded();
  const types = events.slice(events.findIndex(({ type }) => type === "threadDeleted")).map(({ type }) => type);
  expect(types).not.toContain("proposedActionCreated");
  expect(types).not.toContain("notificationQueued");
  expect(events.filter(({ type }) => type === "proposedActionCreated")).toHaveLength(
    edited.status === "fulfilled" ? 2 : 1,
  );
});
