import { describe, expect, test } from "@jest/globals";
import type { NewFact } from "../../../domain/shared/index.js";
import { findNotification, type NotificationRow } from "../../../read-models/notifications/index.js";
import { ExecutionOutcome } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { approved, executed, finished, notificationRead, notified, rejected } from "../../support/action-facts.js";
import { appendOf, noon, record, write } from "../../support/appends.js";
import type { Backend } from "../../support/backend.js";
import { differences, forget } from "../../support/conversation.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const at = (seconds: number) => new Date(noon + seconds * 1_000).toISOString();

/** The read models after these facts about notification n, a second apart. */
async function after(...facts: readonly NewFact[]): Promise<Backend> {
  const backend = await bench.backend();
  for (const [n, fact] of facts.entries()) {
    const append = appendOf({ ...write("notification-n", "any", fact), threadId: null });
    await record(backend.log, { ...append, occurredAt: noon + n * 1_000 });
  }
  return backend;
}

async function found(backend: Backend): Promise<NotificationRow | undefined> {
  await backend.projector.reached(backend.log.head().position);
  expect(await differences(backend)).toEqual([]);
  return findNotification(backend.store.query, "n");
}

const unread = {
  notification_id: "n",
  user_id: "owner",
  type: "approval_needed",
  reason: "because",
  resource_kind: "action",
  resource_id: "a",
  created_at: at(0),
  read_at: null,
  position: 1,
};

describe("a notification", () => {
  test("says what it is about, and has not been read", async () => {
    expect(await found(await after(notified("n", "a")))).toEqual(unread);
  });

  test("was read when it was read first", async () => {
    const backend = await after(notified("n", "a"), notificationRead, notificationRead);
    expect(await found(backend)).toEqual({ ...unread, read_at: at(1) });
  });

  test("that is queued again is the same, read or not", async () => {
    const backend = await after(notified("n", "a"), notificationRead, notified("n", "b"));
    expect(await found(backend)).toEqual({ ...unread, read_at: at(1) });
  });

  test("that was erased is gone, and does not come back", async () => {
    const backend = await after(notified("n", "a"), notified("n", "a"), notificationRead);
    await forget(backend, 1);
    expect(await found(backend)).toBeUndefined();
  });

  test("of which it was erased that it was read has been read nevertheless", async () => {
    const backend = await after(notified("n", "a"), notificationRead);
    await forget(backend, 2);
    expect(await found(backend)).toEqual({ ...unread, read_at: at(1) });
  });

  test.each([
    ["decided", approved],
    ["superseded", rejected("superseded", "b")],
    ["settled by the owner", finished(ExecutionOutcome.FAILED)],
    ["executed", executed],
  ])("about an action that is %s has been read, also if that is erased", async (_, fact) => {
    const backend = await after(notified("n", "a"));
    const append = appendOf({ ...write("action-a", "any", fact), threadId: "t" });
    await record(backend.log, { ...append, occurredAt: noon + 1_000 });
    expect(await found(backend)).toEqual({ ...unread, read_at: at(1) });
    await forget(backend, 2);
    expect(await found(backend)).toEqual({ ...unread, read_at: at(1) });
  });

  test("about another action, or what comes later, is news still", async () => {
    const backend = await after();
    await record(backend.log, appendOf(write("action-a", "any", approved)));
    await record(backend.log, appendOf({ ...write("notification-n", "any", notified("n", "a")), threadId: null }));
    await record(backend.log, appendOf(write("action-b", "any", approved)));
    expect(await found(backend)).toEqual({ ...unread, position: 2 });
  });

  test("in the stream of something else is none", async () => {
    const backend = await bench.backend();
    for (const fact of [notified("n"), notificationRead]) {
      await record(backend.log, appendOf(write("elsewhere", "any", fact)));
    }
    expect(await found(backend)).toBeUndefined();
  });
});
