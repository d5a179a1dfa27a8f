import { describe, expect, test } from "@jest/globals";
import { second } from "../../../domain/shared/index.js";
import { ActionStatus } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { outletTool } from "../../support/outlet.js";
import { refusedBy } from "../rpc/protocols.js";
import { Conveyor } from "./conveyor.js";

const conveyor = new Conveyor({ tools: (url) => [outletTool(url, { undoSeconds: 30 })] });

describe("an approval that can be taken back for a while", () => {
  test("is taken back before it is due: nothing happens, then or later, and the model is told", async () => {
    const { actionId, turnId } = await conveyor.approved();
    const { undoUntil, decidedAt } = await conveyor.look(actionId);
    expect(undoUntil!.seconds - decidedAt!.seconds).toBe(30n);
    const { status } = await conveyor.approvals.cancelAction({ actionId });
    expect(status).toBe(ActionStatus.REJECTED);
    await conveyor.until("turnCompleted", turnId);
    conveyor.clock.forward(60 * second);
    await conveyor.nudge();
    await conveyor.shown();
    expect(conveyor.outlet.requests).toBe(0);
    const why = { rejectionReason: "cancelled", rejectionCode: "cancelled" };
    expect(await conveyor.look(actionId)).toMatchObject(why);
    const told = await conveyor.until("toolExecutionFinished", turnId);
    expect(told.payload).toMatchObject({ result: "The owner took the approval back. Nothing was done." });
  });

  test("is not given by another card, though it was given before", async () => {
    const { actionId } = await conveyor.approved();
    const byAnother = conveyor.approvals.approveAction({ actionId, cardHash: new Uint8Array([1]) });
    expect((await refusedBy(byAnother)).refusal).toBe("card_changed");
    expect(await conveyor.approve(actionId)).toBe(ActionStatus.APPROVED);
    expect((await conveyor.approvals.approveAction({ actionId })).status).toBe(ActionStatus.APPROVED);
  });

  test("is taken back twice without harm, and cannot be given again", async () => {
    const { actionId } = await conveyor.approved();
    await conveyor.approvals.cancelAction({ actionId });
    await conveyor.approvals.cancelAction({ actionId });
    const refused = await refusedBy(conveyor.approvals.approveAction({ actionId }));
    expect(refused).toMatchObject({ refusal: "action_already_rejected", facts: { reason: "cancelled" } });
  });

  test("is carried out when its time has come, and cannot be taken back then", async () => {
    const { actionId, turnId } = await conveyor.approved();
    conveyor.clock.forward(30 * second - 1);
    await conveyor.nudge();
    await conveyor.shown();
    expect(conveyor.outlet.requests).toBe(0);
    conveyor.clock.forward(1);
    await conveyor.nudge();
    await conveyor.until("turnCompleted", turnId);
    expect(conveyor.outlet.ledger).toHaveLength(1);
    const refused = await refusedBy(conveyor.approvals.cancelAction({ actionId }));
    expect(refused).toMatchObject({ code: "FailedPrecondition", refusal: "action_already_begun" });
  });

  test("is not taken back if it was never given", async () => {
    const { actionId } = await conveyor.propose();
    const refused = await refusedBy(conveyor.approvals.cancelAction({ actionId }));
    expect(refused.refusal).toBe("action_not_approved");
  });

  test("lasts as long as the owner has configured", async () => {
    await conveyor.restart({ config: { undoSeconds: 0 } });
    const { turnId } = await conveyor.approved();
    await conveyor.until("turnCompleted", turnId);
    expect(conveyor.outlet.ledger).toHaveLength(1);
  });
});

describe("a bundle", () => {
  const bundleOf = async (...actionIds: string[]) => {
    const seen = await Promise.all(actionIds.map((actionId) => conveyor.look(actionId)));
    return seen.map(({ actionId, cardHash }) => ({ actionId, cardHash }));
  };

  test("is approved as a whole", async () => {
    const [one, other] = [await conveyor.propose("one"), await conveyor.propose("other")];
    const items = await bundleOf(one.actionId, other.actionId);
    const answer = await conveyor.approvals.approveActions({ items });
    expect(answer.items).toMatchObject(items.map(({ actionId }) => ({ actionId, status: ActionStatus.APPROVED })));
    conveyor.clock.forward(30 * second);
    await conveyor.nudge();
    await conveyor.until("turnCompleted", one.turnId);
    await conveyor.until("turnCompleted", other.turnId);
    expect(conveyor.outlet.ledger.map(({ text }) => text).sort()).toEqual(["one", "other"]);
  });

  test("is not approved at all if one of it cannot be", async () => {
    const [one, other, third] = [await conveyor.propose(), await conveyor.propose(), await conveyor.propose()];
    const items = await bundleOf(one.actionId, other.actionId, third.actionId);
    await conveyor.approvals.rejectAction({ actionId: third.actionId, reason: "no" });
    const refusedOf = async (bundle: { actionId: string }[]) => {
      const { refusal, facts } = await refusedBy(conveyor.approvals.approveActions({ items: bundle }));
      return [refusal, facts];
    };
    const rejected = { reason: "no", actionId: third.actionId };
    expect(await refusedOf(items)).toEqual(["action_already_rejected", rejected]);
    const changed = [items[0]!, { ...items[1]!, cardHash: items[0]!.cardHash }];
    expect(await refusedOf(changed)).toEqual(["card_changed", { actionId: other.actionId }]);
    const unknown = [items[0]!, { actionId: "nobody" }];
    expect(await refusedOf(unknown)).toEqual(["action_not_found", { actionId: "nobody" }]);
    expect(await conveyor.statusOf(one.actionId)).toBe("PENDING");
    expect(await conveyor.statusOf(other.actionId)).toBe("PENDING");
  });

  test("has a limit, and may be empty", async () => {
    const items = Array.from({ length: 51 }, (_, index) => ({ actionId: `action-${index}` }));
    const refused = await refusedBy(conveyor.approvals.approveActions({ items }));
    expect(refused).toMatchObject({ code: "InvalidArgument", refusal: "too_many_actions" });
    expect((await conveyor.approvals.approveActions({})).items).toEqual([]);
  });

  test("that names an action twice approves it once", async () => {
    const { actionId } = await conveyor.propose();
    const [item] = await bundleOf(actionId);
    await conveyor.approvals.approveActions({ items: [item!, item!] });
    expect(conveyor.recordedOf(actionId)).toEqual(["proposedActionCreated", "proposedActionStatusChanged"]);
  });
});
