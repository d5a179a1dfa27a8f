import { describe, expect, test } from "@jest/globals";
import { ApprovalsService } from "../../../proto/gen/pincer/protocol/v1/approvals_pb.js";
import { ActionStatus, ExecutionOutcome } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { logged } from "../rpc/logged-events.js";
import { refusedBy } from "../rpc/protocols.js";
import { Conveyor } from "./conveyor.js";

const conveyor = new Conveyor();

/** The last that the model has said in a turn. */
async function answerOf(turnId: string): Promise<string> {
  await conveyor.until("turnCompleted", turnId);
  const said = conveyor.recorded().filter(({ envelope }) => envelope?.turnId === turnId);
  const message = said.findLast(({ type }) => type === "assistantMessageCommitted")?.envelope?.payload;
  return message?.case === "assistantMessageCommitted" ? message.value.fullText : "";
}

describe("what the model proposes", () => {
  test("is not done before the owner has said so", async () => {
    const { actionId } = await conveyor.propose();
    const approval = await conveyor.look(actionId);
    expect(approval).toMatchObject({
      status: ActionStatus.PENDING,
      tool: "outlet_post",
      deterministicSummary: "Post 5 characters to ada",
      preview: { recipients: ["ada"], body: "hello", body_bytes: 5, account: "none" },
      revision: 1,
      source: "chat",
    });
    expect(conveyor.outlet.requests).toBe(0);
  });

  test("is done once the owner approves it, and the model is told", async () => {
    const { actionId, turnId } = await conveyor.approved();
    expect(await answerOf(turnId)).toContain("outlet_post: It was done. Posted.");
    expect(conveyor.outlet.ledger).toMatchObject([{ to: "ada", text: "hello" }]);
    expect(conveyor.outlet.requests).toBe(1);
    const { status, execution, result } = await conveyor.look(actionId);
    expect({ status, execution }).toEqual({ status: ActionStatus.EXECUTED, execution: ExecutionOutcome.DONE });
    expect(result).toContain("Posted.");
    expect(conveyor.recordedOf(actionId)).toEqual([
      "proposedActionCreated",
      "proposedActionStatusChanged",
      "actionExecutionIntended",
      "actionExecutionFinished",
      "proposedActionStatusChanged",
    ]);
  });

  test("is not done if the owner rejects it, and the model is told why", async () => {
    const { actionId, turnId } = await conveyor.propose();
    const { status } = await conveyor.approvals.rejectAction({ actionId, reason: "Ada is on holiday." });
    expect(status).toBe(ActionStatus.REJECTED);
    expect(await answerOf(turnId)).toContain("Nothing was done. Their reason: Ada is on holiday.");
    const why = { rejectionReason: "Ada is on holiday.", rejectionCode: "owner" };
    expect(await conveyor.look(actionId)).toMatchObject(why);
    expect(conveyor.outlet.requests).toBe(0);
  });

  test("is rejected by the owner, also if they use the words of a machine", async () => {
    const { actionId, turnId } = await conveyor.propose();
    await conveyor.approvals.rejectAction({ actionId, reason: "expired" });
    expect(await answerOf(turnId)).toContain("The owner rejected it. Nothing was done. Their reason: expired");
    expect(await conveyor.look(actionId)).toMatchObject({ rejectionReason: "expired", rejectionCode: "owner" });
  });

  test("cannot be approved any more once it is rejected, nor the other way round", async () => {
    const [one, other] = [await conveyor.propose(), await conveyor.propose()];
    await conveyor.approvals.rejectAction({ actionId: one.actionId, reason: "no" });
    const approving = await refusedBy(conveyor.approvals.approveAction({ actionId: one.actionId }));
    expect(approving).toEqual({
      ...{ code: "FailedPrecondition", refusal: "action_already_rejected" },
      facts: { reason: "no", actionId: one.actionId },
    });
    await conveyor.approve(other.actionId);
    const rejecting = await refusedBy(conveyor.approvals.rejectAction({ actionId: other.actionId }));
    expect(rejecting).toMatchObject({ code: "FailedPrecondition", refusal: "action_already_approved" });
    await conveyor.until("turnCompleted", other.turnId);
    expect(conveyor.outlet.ledger).toHaveLength(1);
  });

  test("is approved by the card that was seen, and by no other", async () => {
    const [one, other] = [await conveyor.propose(), await conveyor.propose()];
    const { cardHash } = await conveyor.look(other.actionId);
    const refused = await refusedBy(conveyor.approvals.approveAction({ actionId: one.actionId, cardHash }));
    expect(refused.refusal).toBe("card_changed");
    expect(await conveyor.statusOf(one.actionId)).toBe("PENDING");
  });

  test("is done once if two devices approve it at the same time, again and again", async () => {
    const devices = [await conveyor.server.pair("phone"), await conveyor.server.pair("tablet")];
    const clients = devices.map(({ token }) => conveyor.server.client(ApprovalsService, token));
    const { actionId, turnId } = await conveyor.propose();
    const { cardHash } = await conveyor.look(actionId);
    const answers = await Promise.all(
      [...clients, ...clients, ...clients].map((client) => client.approveAction({ actionId, cardHash })),
    );
    for (const { status } of answers) expect([ActionStatus.APPROVED, ActionStatus.EXECUTED]).toContain(status);
    await conveyor.until("turnCompleted", turnId);
    expect(conveyor.outlet.ledger).toHaveLength(1);
    const changes = await logged(conveyor.server, "proposedActionStatusChanged");
    expect(changes.map(({ status }) => status)).toEqual([ActionStatus.APPROVED, ActionStatus.EXECUTED]);
  });

  test("has an owner who says one thing: of an approval and a rejection at once, one counts", async () => {
    const { actionId, turnId } = await conveyor.propose();
    const said = await Promise.allSettled([
      conveyor.approvals.approveAction({ actionId }),
      conveyor.approvals.rejectAction({ actionId, reason: "no" }),
    ]);
    expect(said.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await conveyor.until("turnCompleted", turnId);
    expect(conveyor.outlet.ledger).toHaveLength(said[0].status === "fulfilled" ? 1 : 0);
  });

  test.each(["approveAction", "rejectAction", "cancelAction", "editAction", "resolveAction", "getApproval"] as const)(
    "must be there: %s",
    async (method) => {
      const refused = await refusedBy(conveyor.approvals[method]({ actionId: "nobody" }));
      expect(refused).toMatchObject({ code: "NotFound", refusal: "action_not_found" });
    },
  );
});

describe("a turn that waits for the owner", () => {
  test("leaves its thread to others", async () => {
    const { threadId, turnId, actionId } = await conveyor.propose();
    const { assistantMessage } = await conveyor.say("What is new?", threadId);
    expect(assistantMessage).toContain("What is new?");
    await conveyor.approve(actionId);
    expect(await answerOf(turnId)).toContain("It was done.");
  });

  test("goes on by itself, and so does another one of the same thread, in any order", async () => {
    const one = await conveyor.propose("one");
    const other = await conveyor.propose("other", one.threadId);
    await conveyor.approve(other.actionId);
    expect(await answerOf(other.turnId)).toContain("It was done.");
    expect(await conveyor.statusOf(one.actionId)).toBe("PENDING");
    await conveyor.approvals.rejectAction({ actionId: one.actionId, reason: "Enough." });
    expect(await answerOf(one.turnId)).toContain("Enough.");
    expect(conveyor.outlet.ledger.map(({ text }) => text)).toEqual(["other"]);
  });

  test("waits for all that it has proposed", async () => {
    const sentence = 'outlet_post to: ada text: "one"\noutlet_post to: bob text: "two"';
    const { turnId, threadId } = await conveyor.say(sentence);
    const { items } = await conveyor.approvals.listApprovals({});
    expect(items.map(({ targetEntity }) => targetEntity)).toEqual(["ada", "bob"]);
    await conveyor.approve(items[0]!.actionId);
    await conveyor.until("actionExecutionFinished", items[0]!.actionId);
    await conveyor.say("Still there?", threadId);
    expect(conveyor.recorded().filter(({ type }) => type === "turnResumed")).toEqual([]);
    await conveyor.approvals.rejectAction({ actionId: items[1]!.actionId, reason: "Not Bob." });
    const answer = await answerOf(turnId);
    expect(answer).toContain("It was done.");
    expect(answer).toContain("Not Bob.");
    expect(conveyor.outlet.ledger.map(({ to }) => to)).toEqual(["ada"]);
  });
});
