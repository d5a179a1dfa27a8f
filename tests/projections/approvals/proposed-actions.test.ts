import { describe, expect, test } from "@jest/globals";
import type { NewFact } from "../../../domain/shared/index.js";
import {
  ActionStatus,
  ExecutionOutcome,
  Identity,
  RiskClass,
} from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import type { ProposedActionRow } from "../../../read-models/approvals/index.js";
import {
  approved,
  done,
  executed,
  failedForNow,
  finished,
  intended,
  proposed,
  rejected,
  rejectedWithoutCode,
  statusChanged,
} from "../../support/action-facts.js";
import { appendOf, noon, record, write } from "../../support/appends.js";
import { fromOwner, type Backend } from "../../support/backend.js";
import { differences, forget } from "../../support/conversation.js";
import { threadDeleted } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const provenance = { ...fromOwner, turnId: "turn-1" };
const at = (seconds: number) => new Date(noon + seconds * 1_000).toISOString();

/** The read models after these facts, a second apart, of action a of thread t, at the positions 1, 2 and so on. */
async function after(...facts: readonly NewFact[]): Promise<Backend> {
  const backend = await bench.backend();
  for (const [n, fact] of facts.entries()) await happens(backend, fact, n);
  return backend;
}

function happens({ log }: Backend, fact: NewFact, seconds = 0, stream = "action-a"): Promise<unknown> {
  const append = appendOf({ ...write(stream, "any", fact), threadId: "t", provenance });
  return record(log, { ...append, occurredAt: noon + seconds * 1_000 });
}

/** All actions, which a rebuild shows as well. */
async function rows(backend: Backend): Promise<ProposedActionRow[]> {
  await backend.projector.reached(backend.log.head().position);
  expect(await differences(backend)).toEqual([]);
  return backend.store.query.selectFrom("proposed_actions").selectAll().orderBy("position").execute();
}

const pending = {
  action_id: "a",
  user_id: "owner",
  thread_id: "t",
  turn_id: "turn-1",
  tool_call_id: "call a",
  source: "chat",
  source_id: "turn-1",
  tool: "gmail_send_draft",
  tool_version: 3,
  args_json: '{"draft":"a"}',
  risk_class: RiskClass.EXFILTRATION,
  identity: Identity.BOT,
  justification: "Because.",
  idempotency_key: "key a",
  status: "PENDING",
  rejection_reason: null,
  rejection_code: null,
  superseded_by: null,
  supersedes: null,
  revision: 1,
  summary: "Send a",
  target: "ann@example.com",
  preview_json: '{"body":"Hello"}',
  card_hash: Buffer.from("card a"),
  policy_version: "p1",
  untrusted_sources_json: '["web_open example.com"]',
  warnings_json: '["Never seen before"]',
  undo_until: null,
  execution: 0,
  execution_reason: null,
  result: null,
  attempts: 0,
  due_at: null,
  in_flight: 0,
  created_at: at(0),
  expires_at: at(3_600),
  decided_at: null,
  position: 1,
  status_position: null,
  decided_position: null,
  execution_position: null,
  due_position: null,
};
const byApproval = { undo_until: at(10), decided_at: at(1), decided_position: 2 };

describe("an action", () => {
  test("waits for a decision", async () => {
    expect(await rows(await after(proposed("a")))).toEqual([pending]);
  });

  test("that is approved is due once it cannot be taken back any more", async () => {
    const due = { status: "APPROVED", status_position: 2, due_at: at(10), due_position: 2 };
    expect(await rows(await after(proposed("a"), approved))).toEqual([{ ...pending, ...due, ...byApproval }]);
  });

  test("that is rejected says why, and is not due, even if it was approved before", async () => {
    const why = { rejection_reason: "cancelled", rejection_code: "cancelled" };
    const no = { status: "REJECTED", ...why, due_at: null, undo_until: null };
    const backend = await after(proposed("a"), approved, rejected("cancelled"));
    const decided = { status_position: 3, decided_at: at(2), decided_position: 3 };
    expect(await rows(backend)).toEqual([{ ...pending, ...no, ...decided }]);
  });

  test.each([
    [rejected("not now"), "not now", "owner"],
    [rejected("expired", "", "owner"), "expired", "owner"],
    [rejected("thread_deleted"), "thread_deleted", "thread_deleted"],
    [rejectedWithoutCode("expired"), "expired", "expired"],
    [rejectedWithoutCode("not now"), "not now", "owner"],
  ])("that is rejected says why in a word, whatever the reason is: %#", async (rejection, reason, code) => {
    const why = { status: "REJECTED", rejection_reason: reason, rejection_code: code };
    expect(await rows(await after(proposed("a"), rejection))).toMatchObject([why]);
  });

  test("and the revision that takes its place know of each other", async () => {
    const backend = await after(proposed("a"), rejected("superseded", "b"));
    await happens(backend, proposed("b", { revision: 2, supersedesActionId: "a" }), 9, "action-b");
    expect(await rows(backend)).toMatchObject([
      { action_id: "a", status: "REJECTED", rejection_reason: "superseded", superseded_by: "b", supersedes: null },
      { action_id: "b", status: "PENDING", superseded_by: null, supersedes: "a", revision: 2 },
    ]);
  });

  test("is in flight from its intent until its outcome", async () => {
    const backend = await after(proposed("a"), approved, intended());
    const flying = { status: "APPROVED", in_flight: 1, attempts: 1, due_at: null, due_position: null };
    expect(await rows(backend)).toMatchObject([flying]);
    await happens(backend, done);
    const landed = { in_flight: 0, attempts: 1, due_at: null, execution: ExecutionOutcome.DONE, result: "Sent." };
    expect(await rows(backend)).toMatchObject([{ ...landed, status: "APPROVED", execution_reason: null }]);
    await happens(backend, executed);
    expect(await rows(backend)).toMatchObject([{ ...landed, status: "EXECUTED", ...byApproval, status_position: 5 }]);
  });

  test("that failed for now is due again, and says nothing of that once it is tried again", async () => {
    const backend = await after(proposed("a"), approved, intended(), failedForNow);
    const again = { execution: ExecutionOutcome.FAILED_RETRYABLE, execution_reason: "busy", in_flight: 0 };
    expect(await rows(backend)).toMatchObject([{ ...again, due_at: at(60), due_position: 4 }]);
    await happens(backend, intended(2));
    const flying = { execution: 0, execution_reason: null, in_flight: 1, attempts: 2 };
    expect(await rows(backend)).toMatchObject([{ ...flying, due_at: null, due_position: null }]);
  });

  test.each([
    ["failed", finished(ExecutionOutcome.FAILED, { reason: "gone" }), ExecutionOutcome.FAILED],
    ["unknown", finished(ExecutionOutcome.UNKNOWN, { reason: "gone" }), ExecutionOutcome.UNKNOWN],
    ["not said", finished(ExecutionOutcome.UNSPECIFIED, { reason: "gone" }), ExecutionOutcome.UNKNOWN],
  ])("whose outcome is %s is not due", async (_, outcome, execution) => {
    const over = { status: "APPROVED", execution, execution_reason: "gone", result: null, due_at: null, in_flight: 0 };
    expect(await rows(await after(proposed("a"), approved, intended(), outcome))).toMatchObject([over]);
  });

  test("stays when its thread is deleted: what is approved is still to be done", async () => {
    const backend = await after(proposed("a"), approved);
    await happens(backend, threadDeleted, 0, "t");
    expect(await rows(backend)).toMatchObject([{ status: "APPROVED", due_at: at(10) }]);
  });
});

describe("a strange log does not stop it:", () => {
  test("a key that is used by two actions", async () => {
    const backend = await after(proposed("a", { idempotencyKey: "same" }));
    await happens(backend, proposed("b", { idempotencyKey: "same" }), 0, "action-b");
    expect(await rows(backend)).toMatchObject([{ action_id: "a" }, { action_id: "b" }]);
  });

  test("an action that is proposed twice: the later proposal counts", async () => {
    const backend = await after(proposed("a"), approved, proposed("a", { revision: 7 }));
    expect(await rows(backend)).toMatchObject([{ status: "PENDING", revision: 7, position: 3, due_at: null }]);
    await forget(backend, 3);
    expect(await rows(backend)).toEqual([]);
  });

  test("a status that is not said: it must not be done", async () => {
    const backend = await after(proposed("a"), approved, statusChanged(ActionStatus.ACTION_STATUS_UNSPECIFIED));
    expect(await rows(backend)).toMatchObject([{ status: "REJECTED", rejection_reason: "", due_at: null }]);
  });

  test("a proposal that leaves out all that it can, and events of actions that were never proposed", async () => {
    const backend = await after({ case: "proposedActionCreated", value: {} });
    for (const fact of [approved, intended(), done]) await happens(backend, fact, 0, "action-nobody");
    for (const fact of [proposed("x"), approved, intended(), done]) await happens(backend, fact, 0, "elsewhere");
    const blank = { action_id: "a", args_json: "{}", preview_json: "{}", expires_at: "1970-01-01T00:00:00.000Z" };
    expect(await rows(backend)).toMatchObject([blank]);
  });
});

describe("erased", () => {
  const story = [proposed("a"), approved, intended(), failedForNow, intended(2), done, executed];
  const unknown = { execution: ExecutionOutcome.UNKNOWN, execution_reason: null, result: null };
  const undecided = { undo_until: null, decided_at: null, decided_position: null };
  const why = { rejection_reason: "erased", rejection_code: "erased", superseded_by: null };
  const erased = { status: "REJECTED", ...why, ...undecided };

  test("a proposal leaves nothing of its action", async () => {
    const backend = await after(...story);
    await forget(backend, 1);
    expect(await rows(backend)).toEqual([]);
  });

  test("a decision leaves that there was one: what cannot be known must not be done", async () => {
    const backend = await after(proposed("a"), approved);
    await forget(backend, 2);
    expect(await rows(backend)).toEqual([{ ...pending, ...erased, status_position: 2 }]);
  });

  test("a rejection does not leave the approval before it", async () => {
    const backend = await after(proposed("a"), approved, rejected("superseded", "b"));
    await forget(backend, 3);
    expect(await rows(backend)).toEqual([{ ...pending, ...erased, status_position: 3 }]);
  });

  test("an approval that was taken back changes nothing", async () => {
    const backend = await after(proposed("a"), approved, rejected("cancelled"));
    const before = await rows(backend);
    await forget(backend, 2);
    expect(await rows(backend)).toEqual(before);
  });

  test("an approval of what is executed leaves when it was decided open, and the rest as it is", async () => {
    const backend = await after(...story);
    const [before] = await rows(backend);
    await forget(backend, 2);
    expect(await rows(backend)).toEqual([{ ...before, ...undecided }]);
  });

  test("the end of an executed action leaves its outcome", async () => {
    const backend = await after(...story);
    await forget(backend, 7);
    expect(await rows(backend)).toMatchObject([{ ...erased, execution: ExecutionOutcome.DONE, result: "Sent." }]);
  });

  test("intents change nothing: that there was one is still known", async () => {
    const backend = await after(...story);
    const before = await rows(backend);
    await forget(backend, 3);
    await forget(backend, 5);
    expect(await rows(backend)).toEqual(before);
  });

  test("an intent without an outcome is still in flight", async () => {
    const backend = await after(proposed("a"), approved, intended());
    await forget(backend, 3);
    expect(await rows(backend)).toMatchObject([{ in_flight: 1, attempts: 1, execution: 0 }]);
  });

  test("an outcome is one that nobody knows, and nothing is due because of it", async () => {
    const backend = await after(proposed("a"), approved, intended(), failedForNow);
    await forget(backend, 4);
    const open = { status: "APPROVED", in_flight: 0, due_at: null, due_position: null, execution_position: 4 };
    expect(await rows(backend)).toMatchObject([{ ...unknown, ...open }]);
  });

  test.each([
    ["attempt", 5],
    ["outcome", 6],
  ])("an outcome that another %s followed changes nothing", async (_, length) => {
    const backend = await after(...story.slice(0, length));
    const before = await rows(backend);
    await forget(backend, 4);
    expect(await rows(backend)).toEqual(before);
  });

  test("an approval leaves the due time of a later attempt, but the action is not approved any more", async () => {
    const backend = await after(proposed("a"), approved, intended(), failedForNow);
    await forget(backend, 2);
    expect(await rows(backend)).toMatchObject([{ ...erased, due_at: at(60) }]);
  });

  test("everything at once, before it was projected, leaves nothing", async () => {
    const log = bench.log();
    await record(log, appendOf({ ...write("action-a", "any", ...story), threadId: "t" }));
    await forget({ log }, 1, 7);
    log.close();
    expect(await rows(await bench.backend())).toEqual([]);
  });
});
