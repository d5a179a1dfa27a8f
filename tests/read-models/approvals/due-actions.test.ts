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
  type ProposedActionRow,
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
const idOf = (row: ProposedActionRow) => row.action_id;
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
      (await listDueActions(backend.store.query, { at: at(seconds), limit })).map(idOf);
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
    expect(await listDueActions(backend.store.query, { at: at(90), limit: 10 })).toEqual([]);
    expect(await nextDueAt(backend.store.query)).toBeNull();
    expect(await listInFlightActions(backend.store.query)).toEqual([]);
  });
});

test("in flight are approved actions whose intent has no outcome, in the order of the log", async () => {
  await happens("b", proposed("b"), approvedUntil(5));
  await happens("a", proposed("a"), approvedUntil(5), intended());
  await happens("c", proposed("c"), approvedUntil(5), intended(), failedForNow);
  expect((await listInFlightActions(backend.store.query)).map(idOf)).toEqual(["a"]);
  await happens("b", intended());
  await happens("c", intended(2));
  expect((await listInFlightActions(backend.store.query)).map(idOf)).toEqual(["b", "a", "c"]);
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
  expect((await listExpiringActions(backend.store.query, { ...page, before: at(20) })).map(idOf)).toEqual(["a", "b"]);
});

test("what is next is found without looking at all that was", async () => {
  const soon = { limit: 10, at: at(0), before: at(0) };
  const plans = [
    await planOf(backend, (query) => listDueActions(query, soon)),
    await planOf(backend, nextDueAt),
    await planOf(backend, listInFlightActions),
    await planOf(backend, (query) => listExpiredActions(query, soon)),
    await planOf(backend, (query) => listExpiringActions(query, soon)),
    await planOf(backend, nextExpiryAt),
  ];
  expect(plans.map(([search]) => /\(.*\)/.exec(search!)?.[0])).toEqual([
    "(status=? AND due_at<?)",
    "(status=? AND due_at>?)",
    "(status=? AND in_flight=?)",
    "(status=? AND expires_at<?)",
    "(status=? AND expires_at<?)",
    "(status=?)",
  ]);
});
