import { describe, expect, test } from "@jest/globals";
import { hour } from "../../../domain/shared/index.js";
import { ActionStatus } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { refusedBy } from "../rpc/protocols.js";
import { Conveyor } from "./conveyor.js";

const conveyor = new Conveyor();
const toBob = { to: "bob", text: "goodbye" };
const edit = async (actionId: string, args: Record<string, string> = toBob) =>
  (await conveyor.approvals.editAction({ actionId, args })).approval!;

describe("another revision", () => {
  test("takes the place of the first, with a card of its own that shows what was changed", async () => {
    const { actionId, threadId, turnId } = await conveyor.propose();
    const before = await conveyor.look(actionId);
    conveyor.clock.forward(hour);
    const revised = await edit(actionId);
    expect(revised).toMatchObject({
      status: ActionStatus.PENDING,
      revision: 2,
      supersedesActionId: actionId,
      args: toBob,
      targetEntity: "bob",
      deterministicSummary: "Post 7 characters to bob",
      ...{ threadId, turnId, source: "chat" },
      preview: {
        recipients: ["bob"],
        changed: { body: "- hello\n+ goodbye", recipients_before: ["ada"], recipients: ["bob"] },
      },
    });
    expect(revised.cardHash).not.toEqual(before.cardHash);
    expect(revised.expiresAt!.seconds - before.expiresAt!.seconds).toBe(3_600n);
    expect(await conveyor.look(actionId)).toMatchObject({
      status: ActionStatus.REJECTED,
      rejectionReason: "superseded",
      supersededByActionId: revised.actionId,
    });
    expect((await conveyor.approvals.listApprovals({})).items.map((item) => item.actionId)).toEqual([revised.actionId]);
    expect(await conveyor.newsOf(revised.actionId)).toHaveLength(1);
  });

  test("is what is done, and the model is told what the owner has made of it", async () => {
    const { actionId, turnId } = await conveyor.propose();
    const revised = await edit(actionId);
    await conveyor.approve(revised.actionId);
    const told = await conveyor.until("toolExecutionFinished", turnId);
    await conveyor.until("turnCompleted", turnId);
    expect(told.payload).toMatchObject({ result: expect.stringContaining(JSON.stringify(toBob)), failed: false });
    expect(conveyor.outlet.ledger).toMatchObject([toBob]);
  });

  test("leaves nothing to approve, to edit or to carry out in the first", async () => {
    const { actionId, turnId } = await conveyor.propose();
    const { cardHash } = await conveyor.look(actionId);
    const revised = await edit(actionId);
    const again = { ...toBob, text: "something else" };
    for (const refused of [
      await refusedBy(conveyor.approvals.approveAction({ actionId, cardHash })),
      await refusedBy(conveyor.approvals.editAction({ actionId, args: again })),
      await refusedBy(conveyor.approvals.cancelAction({ actionId })),
    ]) {
      expect(refused).toMatchObject({ refusal: "action_already_rejected", facts: { reason: "superseded" } });
    }
    const byOldCard = conveyor.approvals.approveAction({ actionId: revised.actionId, cardHash });
    expect((await refusedBy(byOldCard)).refusal).toBe("card_changed");
    await conveyor.approvals.rejectAction({ actionId: revised.actionId, reason: "Neither." });
    await conveyor.until("turnCompleted", turnId);
    expect(conveyor.outlet.requests).toBe(0);
  });

  test("is the same one if the same is asked for again", async () => {
    const { actionId } = await conveyor.propose();
    const [first, again] = await Promise.all([edit(actionId), edit(actionId)]);
    expect(again.actionId).toBe(first.actionId);
    expect((await edit(actionId, { text: "goodbye", to: "bob" })).actionId).toBe(first.actionId);
    expect((await conveyor.approvals.listApprovals({})).items).toHaveLength(1);
  });

  test("can have another one in its turn, and only the last is done", async () => {
    const { actionId, turnId } = await conveyor.propose();
    const second = await edit(actionId);
    const third = await edit(second.actionId, { to: "cleo", text: "hello" });
    expect(third).toMatchObject({ revision: 3, supersedesActionId: second.actionId });
    await conveyor.approve(third.actionId);
    await conveyor.until("turnCompleted", turnId);
    expect(conveyor.outlet.ledger.map(({ to }) => to)).toEqual(["cleo"]);
  });

  test("must be what the tool takes, and leaves the first as it was otherwise", async () => {
    const { actionId, turnId } = await conveyor.propose();
    const bad: Record<string, string>[] = [{}, { to: "bob" }, { ...toBob, cc: "eve" }, { to: "", text: "" }];
    for (const args of bad) {
      const refused = await refusedBy(conveyor.approvals.editAction({ actionId, args }));
      expect(refused).toMatchObject({ code: "InvalidArgument", refusal: "action_arguments_invalid" });
    }
    await conveyor.approve(actionId);
    await conveyor.until("turnCompleted", turnId);
    expect(conveyor.outlet.ledger).toMatchObject([{ to: "ada" }]);
  });

  test("comes too late once the first is decided", async () => {
    const { actionId, turnId } = await conveyor.approved();
    await conveyor.until("turnCompleted", turnId);
    const refused = await refusedBy(conveyor.approvals.editAction({ actionId, args: toBob }));
    expect(refused.refusal).toBe("action_already_approved");
  });

  test("and an approval of the first at the same time: one of them counts", async () => {
    const { actionId } = await conveyor.propose();
    const said = await Promise.allSettled([conveyor.approvals.approveAction({ actionId }), edit(actionId)]);
    expect(said.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  // Law 5: no effect without a policy decision in the log.
  test("is judged by policy as the first was", async () => {
    const { actionId } = await conveyor.propose();
    const revised = await edit(actionId);
    await conveyor.shown();
    const { items } = await conveyor.system.listAudit({ actionId: revised.actionId });
    expect(items.map(({ eventType }) => eventType)).toContain("policyDecisionMade");
  });

  test("cannot bring back an action whose time is over", async () => {
    const { actionId } = await conveyor.propose();
    conveyor.clock.forward(24 * hour);
    await refusedBy(conveyor.approvals.editAction({ actionId, args: toBob }));
  });

  test("is explained from what the owner said on", async () => {
    const { actionId } = await conveyor.propose();
    const revised = await edit(actionId);
    const { steps } = await conveyor.system.explain({ actionId: revised.actionId });
    expect(steps.map(({ eventType }) => eventType)).toEqual(
      expect.arrayContaining(["messageCommitted", "modelCallStarted"]),
    );
  });
});
