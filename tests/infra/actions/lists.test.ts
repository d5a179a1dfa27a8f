import { create } from "@bufbuild/protobuf";
import { timestampFromMs, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { hour, minute } from "../../../domain/shared/index.js";
import type { Tool } from "../../../domain/approvals/index.js";
import { ListAuditRequestSchema } from "../../../proto/gen/pincer/protocol/v1/system_pb.js";
import { ActionStatus, RiskClass } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { outletTool } from "../../support/outlet.js";
import { refusedBy } from "../rpc/protocols.js";
import { Conveyor } from "./conveyor.js";

const destroyTool = (url: string): Tool => ({
  ...outletTool(url),
  name: "outlet_destroy",
  risk: RiskClass.DESTRUCTIVE,
});
const conveyor = new Conveyor({ tools: (url) => [outletTool(url), destroyTool(url)] });

/** All of a list, in pages of two. */
async function pages<Item>(
  read: (page: { pageSize: number; pageToken: string }) => Promise<{ items: Item[]; nextPageToken: string }>,
): Promise<Item[]> {
  const all: Item[] = [];
  for (let pageToken = ""; ;) {
    const { items, nextPageToken } = await read({ pageSize: 2, pageToken });
    expect(items.length).toBeLessThanOrEqual(2);
    all.push(...items);
    if (nextPageToken === "") return all;
    pageToken = nextPageToken;
  }
}

describe("what waits for the owner", () => {
  test("is listed by risk, then by how soon it expires, then by age, in pages", async () => {
    const one = await conveyor.propose("one");
    const same = await conveyor.propose("same");
    conveyor.clock.forward(minute);
    const later = await conveyor.propose("later");
    const risky = await conveyor.say('outlet_destroy to: ada text: "all"');
    const expected = [risky, one, same, later].map(({ actionId }) => actionId);
    const listed = await pages((page) => conveyor.approvals.listApprovals(page));
    expect(listed.map(({ actionId }) => actionId)).toEqual(expected);
    const pending = await conveyor.approvals.listApprovals({ status: ActionStatus.PENDING });
    expect(pending.items).toEqual(listed);
    expect((await conveyor.approvals.getApproval({ actionId: one.actionId })).approval).toEqual(listed[1]);
  });

  test("is listed apart from what was decided, the newest of which comes first", async () => {
    const sent = [await conveyor.propose(), await conveyor.propose(), await conveyor.propose()];
    for (const { actionId } of sent) await conveyor.approvals.rejectAction({ actionId, reason: "no" });
    const pending = await conveyor.propose();
    const rejected = await pages((page) =>
      conveyor.approvals.listApprovals({ status: ActionStatus.REJECTED, ...page }),
    );
    expect(rejected.map(({ actionId }) => actionId)).toEqual(sent.map(({ actionId }) => actionId).reverse());
    const { items } = await conveyor.approvals.listApprovals({});
    expect(items.map(({ actionId }) => actionId)).toEqual([pending.actionId]);
    expect((await conveyor.approvals.listApprovals({ status: ActionStatus.EXECUTED })).items).toEqual([]);
  });

  test("is readable however much is in it: a page of large ones is shorter", async () => {
    const sizeable = z.strictObject({ to: z.string(), text: z.string() });
    await conveyor.restart({ tools: (url) => [{ ...outletTool(url), args: sizeable }] });
    const text = "é".repeat(250_000);
    const expected: string[] = [];
    for (let count = 0; count < 5; count++) {
      const { actionId } = await conveyor.propose();
      const { approval } = await conveyor.approvals.editAction({ actionId, args: { to: "ada", text } });
      expected.push(approval!.actionId);
    }
    const [listed, sizes]: [string[], number[]] = [[], []];
    for (let pageToken = ""; ;) {
      const { items, nextPageToken } = await conveyor.approvals.listApprovals({ pageToken });
      listed.push(...items.map(({ actionId }) => actionId));
      sizes.push(items.length);
      if (nextPageToken === "") break;
      pageToken = nextPageToken;
    }
    expect(listed).toEqual(expected);
    expect(Math.max(...sizes)).toBeLessThan(expected.length);
  });

  test("has page tokens of its own", async () => {
    for (let count = 0; count < 3; count++) await conveyor.propose();
    const { nextPageToken: pageToken } = await conveyor.approvals.listApprovals({ pageSize: 1 });
    const asked = [
      conveyor.approvals.listApprovals({ status: ActionStatus.REJECTED, pageToken }),
      conveyor.approvals.listApprovals({ pageToken: "x" }),
      conveyor.system.listAudit({ pageToken }),
      conveyor.system.listNotifications({ pageToken }),
    ];
    for (const call of asked) expect((await refusedBy(call)).refusal).toBe("page_token_invalid");
    const unheardOf = 99 as unknown as ActionStatus;
    const unknown = conveyor.approvals.listApprovals({ status: unheardOf });
    expect((await refusedBy(unknown)).refusal).toBe("value_unknown");
  });
});

describe("the audit", () => {
  test("tells of an action all that happened, the latest first, in pages, and nothing that anybody wrote", async () => {
    const { actionId, turnId } = await conveyor.approved("a very private word");
    await conveyor.until("turnCompleted", turnId);
    await conveyor.shown();
    const entries = await pages((page) => conveyor.system.listAudit({ actionId, ...page }));
    expect(entries.map(({ eventType }) => eventType)).toEqual([
      "proposedActionStatusChanged",
      "actionExecutionFinished",
      "actionExecutionIntended",
      "proposedActionStatusChanged",
      "notificationQueued",
      "proposedActionCreated",
      "policyDecisionMade",
    ]);
    const ofAction = new Map(entries.map((entry) => [entry.eventType, entry]));
    expect(ofAction.get("actionExecutionIntended")).toMatchObject({ actor: "worker:executor", entityId: actionId });
    expect(ofAction.get("policyDecisionMade")).toMatchObject({ actor: "worker:turns", entityId: turnId });
    expect(entries.find(({ payload }) => payload?.["status"] === "APPROVED")?.actor).toBe("operator");
    const everything = await pages((page) => conveyor.system.listAudit(page));
    const said = everything.map(({ payload }) => JSON.stringify(payload)).join("\n");
    expect(said).not.toMatch(/private|\bada\b|Posted/u);
  });

  test("is filtered by what, where and when, all of it at once", async () => {
    const one = await conveyor.propose();
    const between = conveyor.clock.now() + hour;
    conveyor.clock.forward(2 * hour);
    const other = await conveyor.propose();
    await conveyor.shown();
    const of = async (filter: Omit<Parameters<typeof conveyor.system.listAudit>[0], "$typeName">) => {
      const { items } = await conveyor.system.listAudit(create(ListAuditRequestSchema, filter));
      return items.map(({ actionId }) => actionId);
    };
    const eventType = "proposedActionCreated";
    expect(await of({ eventType })).toEqual([other.actionId, one.actionId]);
    expect(await of({ eventType, threadId: one.threadId })).toEqual([one.actionId]);
    expect(await of({ eventType, untilTime: timestampFromMs(between) })).toEqual([one.actionId]);
    expect(await of({ eventType, fromTime: timestampFromMs(between) })).toEqual([other.actionId]);
    expect(await of({ eventType, actionId: one.actionId, fromTime: timestampFromMs(between) })).toEqual([]);
    expect(await of({ eventType: "nothing" })).toEqual([]);
    expect(await of({ jobId: "nobody" })).toEqual([]);
    const endOfTime = { seconds: 253_402_300_799n, nanos: 999_999_999 };
    expect(await of({ eventType, untilTime: create(TimestampSchema, endOfTime) })).toHaveLength(2);
  });

  test.each(["fromTime", "untilTime"] as const)("refuses a %s that is none", async (field) => {
    for (const seconds of [10n ** 15n, -(10n ** 15n), 253_402_300_800n]) {
      const refused = await refusedBy(conveyor.system.listAudit({ [field]: create(TimestampSchema, { seconds }) }));
      const facts = { field: field === "fromTime" ? "from_time" : "until_time" };
      expect(refused).toMatchObject({ code: "InvalidArgument", refusal: "value_unknown", facts });
    }
  });
});

describe("an explanation", () => {
  test("leads from what the owner said to what became of it, in the order of the log", async () => {
    const { actionId, turnId } = await conveyor.approved();
    await conveyor.until("turnCompleted", turnId);
    await conveyor.shown();
    const { steps } = await conveyor.system.explain({ actionId });
    const positions = steps.map(({ position }) => Number(position));
    expect(positions).toEqual([...positions].sort((a, b) => a - b));
    const kinds = steps.map(({ eventType }) => eventType);
    const chain = [
      "messageCommitted",
      "modelCallStarted",
      "toolCallPlanned",
      "policyDecisionMade",
      "proposedActionCreated",
      "proposedActionStatusChanged",
      "actionExecutionIntended",
      "actionExecutionFinished",
      "proposedActionStatusChanged",
      "toolExecutionFinished",
    ];
    expect(kinds.filter((kind) => chain.includes(kind))).toEqual(chain);
    const texts = steps.map(({ text }) => text);
    expect(texts[0]).toMatch(/^The owner said: "outlet_post to: ada/);
    expect(texts).toContain("Proposed, revision 1: Post 5 characters to ada");
    expect(texts).toContain("APPROVED by operator.");
    expect(texts).toContain("Attempt 1, by execution: DONE.");
    expect(texts.at(-1)).toBe("The model was told.");
  });

  test("of nothing is refused", async () => {
    expect((await refusedBy(conveyor.system.explain({ actionId: "nobody" }))).refusal).toBe("action_not_found");
  });
});

describe("a notification", () => {
  test("is no news any more once its action is decided", async () => {
    const [one, other] = [await conveyor.propose(), await conveyor.propose()];
    await conveyor.approvals.rejectAction({ actionId: one.actionId, reason: "no" });
    const unread = await conveyor.system.listNotifications({ unreadOnly: true });
    expect(unread.items.map(({ resourceId }) => resourceId)).toEqual([other.actionId]);
    expect((await conveyor.system.listNotifications({})).items).toHaveLength(2);
  });

  test("is listed, the latest first, in pages, until it is read, which may be said twice", async () => {
    const sent = [await conveyor.propose(), await conveyor.propose(), await conveyor.propose()];
    const all = await pages((page) => conveyor.system.listNotifications(page));
    expect(all.map(({ resourceId }) => resourceId)).toEqual(sent.map(({ actionId }) => actionId).reverse());
    const { notificationId } = all[1]!;
    for (let times = 0; times < 2; times++) {
      expect(await conveyor.system.markNotificationRead({ notificationId })).toMatchObject({ notificationId });
      conveyor.clock.forward(minute);
    }
    const unread = await conveyor.system.listNotifications({ unreadOnly: true });
    expect(unread.items).toEqual([all[0], all[2]]);
    const read = conveyor.recorded().filter(({ type }) => type === "notificationRead");
    // Whoever watches that thread sees it.
    expect(read.map(({ threadId }) => threadId)).toEqual([sent[1]!.threadId]);
    const unknown = conveyor.system.markNotificationRead({ notificationId: "nobody" });
    expect((await refusedBy(unknown)).refusal).toBe("notification_not_found");
  });
});

test("the policy has a version, which a restart does not change and another policy does", async () => {
  const { policyVersion, summary } = await conveyor.system.getPolicySummary({});
  expect(policyVersion).toMatch(/^[0-9a-f]{16}$/);
  expect(JSON.stringify(summary)).toContain("outlet_destroy");
  await conveyor.restart();
  expect(await conveyor.system.getPolicySummary({})).toMatchObject({ policyVersion, summary });
  const versions = [policyVersion];
  await conveyor.restart({ config: { approvalHours: 1 } });
  versions.push((await conveyor.system.getPolicySummary({})).policyVersion);
  await conveyor.restart({ config: {}, tools: (url) => [outletTool(url)] });
  versions.push((await conveyor.system.getPolicySummary({})).policyVersion);
  expect(new Set(versions).size).toBe(versions.length);
  // An auditor sees when the rules were changed: the restart without a change has left no trace.
  const { items } = await conveyor.system.listAudit({ eventType: "auditEventRecorded" });
  expect(items.map(({ entityId }) => entityId).reverse()).toEqual(versions);
  expect(items[0]).toMatchObject({ actor: "worker:server", threadId: "", payload: { event_type: "policy_changed" } });
});

test("a setting that has no bearing on what may be approved is shown, and pending cards stay good", async () => {
  const { policyVersion } = await conveyor.system.getPolicySummary({});
  const { turnId, actionId } = await conveyor.propose("ada");
  await conveyor.restart({ config: { tokensPerDay: 999_999, allowsRawReasoning: true } });
  const after = await conveyor.system.getPolicySummary({});
  expect(after.summary).toMatchObject({ settings: { tokens_per_day: 999_999, allows_raw_reasoning: true } });
  expect(after.policyVersion).toBe(policyVersion);
  await conveyor.approvals.approveAction({ actionId });
  await conveyor.until("turnCompleted", turnId);
  expect(conveyor.outlet.ledger).toHaveLength(1);
});
