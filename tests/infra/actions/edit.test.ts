import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { tool, type ActingTool, type Tool } from "../../../domain/approvals/index.js";
import { hour, minute, second } from "../../../domain/shared/index.js";
import { ActionStatus } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { outletTool } from "../../support/outlet.js";
import { refusedBy } from "../rpc/protocols.js";
import { Conveyor } from "./conveyor.js";

const conveyor = new Conveyor();
const toBob = { to: "bob", text: "goodbye" };
/** As deep as anybody likes. */
const nest: z.ZodType = z.strictObject({ in: z.lazy(() => nest).optional() });

/** It has trouble with some texts. */
function touchyTool(url: string): Tool {
  const usual = outletTool(url) as ActingTool<{ to: string; text: string }>;
  return tool<{ to: string; text: string }>({
    ...usual,
    args: z.strictObject({
      to: z.union([z.string(), z.number()]).transform(String),
      text: z.string().transform((text) => decodeURIComponent(text)),
      more: nest.optional(),
    }),
    describe: (args) => {
      if (args.text === "unspeakable") throw new Error("it has no words for it");
      return usual.describe(args);
    },
  });
}

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
      rejectionCode: "superseded",
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

  const deep = (depth: number): object => (depth === 0 ? {} : { in: deep(depth - 1) });
  test.each([
    ["a number that is none", { ...toBob, to: Number.NaN }],
    ["a number without end", { ...toBob, to: Infinity }],
    ["too much", { ...toBob, text: "x".repeat(256 * 1024) }],
    ["too deep", { ...toBob, more: deep(20) }],
    ["what the tool cannot describe", { ...toBob, text: "unspeakable" }],
    ["what the tool breaks over", { ...toBob, text: "%" }],
    ["what becomes something else each time", { ...toBob, text: "%2525" }],
  ])("must be what can be kept and shown: %s is refused", async (_, args) => {
    await conveyor.restart({ tools: (url) => [touchyTool(url)] });
    const { actionId } = await conveyor.propose();
    const refused = await refusedBy(conveyor.approvals.editAction({ actionId, args: args as Record<string, string> }));
    expect(refused).toMatchObject({ code: "InvalidArgument", refusal: "action_arguments_invalid" });
    expect(await conveyor.statusOf(actionId)).toBe("PENDING");
  });

  test("can be made twenty revisions long, each with the first one's key and its own number", async () => {
    let { actionId } = await conveyor.propose();
    for (let revision = 2; revision <= 20; revision++) {
      ({ actionId } = await edit(actionId, { to: "ada", text: `version ${revision}` }));
    }
    const refused = await refusedBy(conveyor.approvals.editAction({ actionId, args: toBob }));
    const why = { code: "FailedPrecondition", refusal: "too_many_revisions", facts: { revisionsMax: "20" } };
    expect(refused).toMatchObject(why);
    const keys = conveyor.recorded().flatMap(({ payload, type }) => {
      return type === "proposedActionCreated" ? [(payload as { idempotencyKey: string }).idempotencyKey] : [];
    });
    expect(keys).toEqual([keys[0], ...Array.from({ length: 19 }, (_, index) => `${keys[0]}/r${index + 2}`)]);
    await conveyor.approve(actionId);
    await conveyor.until("actionExecutionFinished", actionId);
    expect(conveyor.outlet.ledger).toMatchObject([{ text: "version 20" }]);
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

  test("is no news of its own, however many there are, for ten minutes", async () => {
    conveyor.clock.forward(10 * minute - (conveyor.clock.now() % (10 * minute)));
    const { actionId } = await conveyor.propose();
    let last = actionId;
    for (let n = 0; n < 15; n++) {
      conveyor.clock.forward(second);
      last = (await edit(last, { ...toBob, text: `attempt ${n}` })).actionId;
    }
    const queued = () => conveyor.recorded().filter(({ type }) => type === "notificationQueued").length;
    expect(queued()).toBe(1);
    conveyor.clock.forward(10 * minute);
    last = (await edit(last)).actionId;
    expect(queued()).toBe(2);
    const { items } = await conveyor.system.listNotifications({ unreadOnly: true });
    expect(items.map(({ resourceId }) => resourceId)).toEqual([last]);
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
    const superseded = `REJECTED by operator (superseded). ${revised.actionId} took its place.`;
    for (const asked of [actionId, revised.actionId]) {
      const texts = (await conveyor.system.explain({ actionId: asked })).steps.map(({ text }) => text);
      expect(texts).toEqual(expect.arrayContaining([superseded, "Proposed, revision 2: Post 7 characters to bob"]));
    }
  });
});
