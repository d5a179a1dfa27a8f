import { beforeEach, describe, expect, test } from "@jest/globals";
import { toTimestamp, type NewFact } from "../../../domain/shared/index.js";
import { ActionStatus } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import {
  listDueActions,
  listExpiredActions,
  listExpiringActions,
  listInFlightActions,
  nextDueAt,
  nextExpiryAt,
} from "../../../read-models/approvals/index.js";
import {
  done,
  executed,
  failedForNow,
  intended,
  proposed,
  rejected,
  statusChanged,
} from "../../support/action-facts.js";
import { appendOf, noon, record, write } from "../../support/appends.js";
import type { Backend } from "../../support/backend.js";
import { forget } from "../../support/conversation.js";
import { planOf } from "../../support/query-plan.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const at = (seconds: number) => new Date(noon + seconds * 1_000).toISOString();
const idOf = (row: { readonly action_id: string }) => row.action_id;
const noTools = { exceptTools: [] };
const all = { afterPosition: 0, limit: 10 };
let backend: Backend;

beforeEach(async () => {
  backend = await bench.backend();
});

async function happens(actionId: string, ...facts: readonly NewFact[]): Promise<void> {
  await record(backend.log, appendOf({ ...write(`action-${actionId}`, "any", ...facts), threadId: "t" }));
}

const expiring = (actionId: string, seconds: number) =>
  proposed(actionId, { expiresAt: toTimestamp(noon + seconds * 1_000) });
const approvedUntil = (seconds: number) =>
  statusChanged(ActionStatus.APPROVED, { notBefore: toTimestamp(noon + seconds * 1_000) });

describe("due", () => {
  test("are approved actions that cannot be taken back any more, and those that are tried again", async () => {
    await happens("later", proposed("later"), approvedUntil(90));
    await happens("again", proposed("again"), approvedUntil(5), intended(), failedForNow); // After a minute.
    await happens("soon", proposed("soon"), approvedUntil(10));
    await happens("also soon", proposed("also soon"), approvedUntil(10));
    await happens("flying", proposed("flying"), approvedUntil(5), intended());
    await happens("over", proposed("over"), approvedUntil(5), intended(), done, executed);
    await happens("cancelled", proposed("cancelled"), approvedUntil(5), rejected("cancelled"));
    await happens("pending", proposed("pending"));
    const due = async (seconds: number, limit = 10) =>
      (await listDueActions(backend.store.query, { at: at(seconds), limit, ...noTools })).map(idOf);
    expect(await due(9)).toEqual([]);
    expect(await due(10)).toEqual(["soon", "also soon"]);
    expect(await due(90)).toEqual(["soon", "also soon", "again", "later"]);
    expect(await due(90, 3)).toEqual(["soon", "also soon", "again"]);
    expect(await nextDueAt(backend.store.query)).toBe(at(10));
  });

  test("is nothing of an action whose approval was erased", async () => {
    await happens("a", proposed("a"), approvedUntil(5), intended(), failedForNow);
    await happens("b", proposed("b"), approvedUntil(5), intended());
    await forget(backend, 2);
    await forget(backend, 6);
    await backend.projector.reached(backend.log.head().position);
    expect(await listDueActions(backend.store.query, { at: at(90), limit: 10, ...noTools })).toEqual([]);
    expect(await nextDueAt(backend.store.query)).toBeNull();
    expect(await listInFlightActions(backend.store.query, all)).toEqual([]);
  });
});

test("in flight are approved actions whose intent has no outcome, in the order of the log", async () => {
  await happens("b", proposed("b"), approvedUntil(5));
  await happens("a", proposed("a"), approvedUntil(5), intended());
  await happens("c", proposed("c"), approvedUntil(5), intended(), failedForNow);
  expect((await listInFlightActions(backend.store.query, all)).map(idOf)).toEqual(["a"]);
  await happens("b", intended());
  await happens("c", intended(2));
  expect((await listInFlightActions(backend.store.query, all)).map(idOf)).toEqual(["b", "a", "c"]);
});

test("pending actions expire one after the other, and those that are decided do not", async () => {
  expect(await nextExpiryAt(backend.store.query)).toBeNull();
  await happens("c", expiring("c", 30));
  await happens("a", expiring("a", 10));
  await happens("b", expiring("b", 20));
  await happens("rejected", expiring("rejected", 5), rejected("no"));
  await happens("approved", expiring("approved", 5), approvedUntil(2));
  const page = { limit: 2 };
  const expired = async (seconds: number) =>
    (await listExpiredActions(backend.store.query, { ...page, at: at(seconds) })).map(idOf);
  expect(await nextExpiryAt(backend.store.query)).toBe(at(10));
  expect(await expired(9)).toEqual([]);
  expect(await expired(10)).toEqual(["a"]);
  expect(await expired(60)).toEqual(["a", "b"]);
});

describe("those that expire soon", () => {
  const soon = async (seconds: number, before: number, limit = 10) =>
    (await listExpiringActions(backend.store.query, { at: at(seconds), before: at(before), limit })).map(idOf);
  const told = (actionId: string, type: string): NewFact => ({
    case: "notificationQueued",
    value: { notificationId: `${type} ${actionId}`, type, resourceKind: "action", resourceId: actionId },
  });

  test("are pending in the last quarter of their time, one after the other, and not over yet", async () => {
    await happens("b", expiring("b", 80));
    await happens("a", expiring("a", 40));
    await happens("decided", expiring("decided", 40), rejected("no"));
    expect(await soon(29, 3_600)).toEqual([]);
    expect(await soon(30, 3_600)).toEqual(["a"]);
    expect(await soon(39, 3_600)).toEqual(["a"]);
    expect(await soon(40, 3_600)).toEqual([]);
    expect(await soon(60, 3_600)).toEqual(["b"]);
    expect(await soon(60, 79)).toEqual([]);
  });

  test("are those whose owner was not told yet: nobody hides the others", async () => {
    for (const name of ["a", "b", "c"]) await happens(name, expiring(name, 40));
    expect(await soon(30, 60, 2)).toEqual(["a", "b"]);
    for (const name of ["a", "b", "c"]) {
      const type = name === "c" ? "approval_needed" : "approval_expiring";
      await record(backend.log, appendOf(write(`notification-${name}`, "any", told(name, type))));
    }
    await backend.projector.reached(backend.log.head().position);
    expect(await soon(30, 60, 2)).toEqual(["c"]);
  });
});

test("what belongs to a tool that is busy does not hide the rest", async () => {
  await happens("a", proposed("a", { tool: "slow" }), approvedUntil(5));
  await happens("b", proposed("b", { tool: "other" }), approvedUntil(6));
  const page = { at: at(90), limit: 1, exceptTools: ["slow"] };
  expect((await listDueActions(backend.store.query, page)).map(idOf)).toEqual(["b"]);
});

test("what is in flight is told page after page", async () => {
  for (const name of ["a", "b", "c"]) await happens(name, proposed(name), approvedUntil(5), intended());
  const first = await listInFlightActions(backend.store.query, { afterPosition: 0, limit: 2 });
  expect(first.map(idOf)).toEqual(["a", "b"]);
  const rest = await listInFlightActions(backend.store.query, { afterPosition: first[1]!.position, limit: 2 });
  expect(rest.map(idOf)).toEqual(["c"]);
});

test("what is next is found without looking at all that was", async () => {
  const soon = { limit: 10, at: at(0), before: at(0), ...noTools };
  const plans = [
    await planOf(backend, (query) => listDueActions(query, soon)),
    await planOf(backend, nextDueAt),
    await planOf(backend, (query) => listInFlightActions(query, all)),
    await planOf(backend, (query) => listExpiredActions(query, soon)),
    await planOf(backend, (query) => listExpiringActions(query, soon)),
    await planOf(backend, nextExpiryAt),
  ];
  expect(plans.map(([search]) => /\(.*\)/.exec(search!)?.[0])).toEqual([
    "(status=? AND due_at<?)",
    "(status=? AND due_at>?)",
    "(status=? AND in_flight=? AND position>?)",
    "(status=? AND expires_at<?)",
    "(status=? AND expires_at>? AND expires_at<?)",
    "(status=?)",
  ]);
});
