import { describe, expect, test } from "@jest/globals";
import type { NewFact } from "../../../domain/shared/index.js";
import { asOf } from "../../../infra/projector/index.js";
import { turnsProjection } from "../../../projections/threads/turns.js";
import { TriggerType } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import type { TurnRow } from "../../../read-models/threads/index.js";
import { appendOf, noon, record, write } from "../../support/appends.js";
import type { Backend } from "../../support/backend.js";
import { differences, forget } from "../../support/conversation.js";
import { said, threadCreated, threadDeleted } from "../../support/facts.js";
import {
  turnCompleted,
  turnFailed,
  turnPaused,
  turnQueued,
  turnResumed,
  turnStarted,
} from "../../support/turn-facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

/** The read models after these facts, a second apart, in thread t, at the positions 1, 2 and so on. */
async function after(...facts: readonly NewFact[]): Promise<Backend> {
  const backend = await bench.backend();
  for (const [n, fact] of facts.entries()) {
    await record(backend.log, { ...appendOf(write("t", "any", fact)), occurredAt: noon + n * 1_000 });
  }
  return backend;
}

/** Every turn, by the order of the log, which a rebuild shows as well. */
async function rows(backend: Backend): Promise<TurnRow[]> {
  await backend.projector.reached(backend.log.head().position);
  expect(await differences(backend)).toEqual([]);
  return backend.store.query.selectFrom("turns").selectAll().orderBy("position").execute();
}

/** What has become of each turn. */
async function statuses(backend: Backend): Promise<Record<string, string>> {
  return Object.fromEntries((await rows(backend)).map((row) => [row.turn_id, row.status]));
}

describe("a turn", () => {
  test("waits, runs and completes", async () => {
    const queued = {
      turn_id: "b",
      user_id: "owner",
      thread_id: "t",
      status: "queued",
      trigger_type: TriggerType.CHAT_MESSAGE,
      user_message_id: "ask b",
      assistant_message_id: null,
      failure_code: null,
      started_at: null,
      ended_at: null,
      position: 2,
      started_position: null,
      paused_position: null,
      ended_position: null,
    };
    const backend = await after(threadCreated, turnQueued("b"));
    expect(await rows(backend)).toEqual([queued]);
    await record(backend.log, appendOf(write("t", "any", turnStarted("b"))));
    const running = { ...queued, status: "running", started_at: "2026-01-01T12:00:00.000Z", position: 3 };
    expect(await rows(backend)).toEqual([{ ...running, started_position: 3 }]);
    await record(backend.log, appendOf(write("t", "any", turnCompleted("answer"))));
    const over = { status: "completed", ended_at: "2026-01-01T12:00:00.000Z", ended_position: 4 };
    expect(await rows(backend)).toEqual([{ ...running, started_position: 3, ...over, assistant_message_id: "answer" }]);
  });

  test("pauses and resumes, and is found by its name: others run meanwhile", async () => {
    const backend = await after(turnStarted("a"), turnPaused("a"));
    expect(await statuses(backend)).toEqual({ a: "paused" });
    await record(backend.log, appendOf(write("t", "any", turnStarted("b"), turnPaused("b"), turnStarted("c"))));
    expect(await statuses(backend)).toEqual({ a: "paused", b: "paused", c: "running" });
    await record(backend.log, appendOf(write("t", "any", turnCompleted("x"), turnResumed("b"))));
    expect(await statuses(backend)).toEqual({ a: "paused", b: "running", c: "completed" });
  });

  test("says where it was paused, as long as it is", async () => {
    const backend = await after(turnStarted("a"), turnPaused("a"));
    expect(await rows(backend)).toMatchObject([{ paused_position: 2 }]);
    await record(backend.log, appendOf(write("t", "any", turnResumed("a"))));
    expect(await rows(backend)).toMatchObject([{ paused_position: null }]);
  });

  test("that was running when the server was restarted still runs", async () => {
    expect(await statuses(await after(turnStarted("a"), turnResumed("a")))).toEqual({ a: "running" });
  });

  test("that fails says why, and one that is paused has not failed", async () => {
    const facts = [turnStarted("a"), turnFailed("timeout"), turnStarted("b"), turnPaused("b"), turnStarted("c")];
    expect(await rows(await after(...facts, turnFailed("rejected")))).toMatchObject([
      { turn_id: "a", status: "failed", failure_code: "timeout", ended_position: 2 },
      { turn_id: "b", status: "paused", failure_code: null, ended_position: null },
      { turn_id: "c", status: "failed", failure_code: "rejected", ended_position: 6 },
    ]);
  });

  test("that ends is the running one of its thread, and no other", async () => {
    const backend = await after(turnStarted("a"), turnQueued("b"), turnCompleted("x"), turnStarted("b"));
    await record(backend.log, appendOf(write("u", "any", turnStarted("c"), turnQueued("d"), turnFailed("cut"))));
    expect(await statuses(backend)).toEqual({ a: "completed", b: "running", c: "failed", d: "queued" });
  });

  test("ends with its thread", async () => {
    const facts = [turnStarted("a"), turnCompleted("x"), turnStarted("b"), turnPaused("b"), turnQueued("c")];
    expect(await statuses(await after(...facts, threadDeleted))).toEqual({});
  });
});

describe("what a turn is made of", () => {
  const story = [
    ...[turnStarted("a"), turnQueued("b"), turnCompleted("x"), turnStarted("b"), turnPaused("b")],
    ...[turnStarted("c"), turnFailed("cut"), turnResumed("b")],
  ];

  test("is never erased: it says nothing of what anybody said", async () => {
    const backend = await after(...story, said("Hello"));
    const before = await rows(backend);
    await forget(backend, 1, story.length + 1);
    expect(await rows(backend)).toEqual(before);
    expect(before.map(({ turn_id: id, status }) => [id, status])).toEqual([
      ["a", "completed"],
      ["b", "running"],
      ["c", "failed"],
    ]);
  });

  test("is still there for whoever comes later, or asks how it was then", async () => {
    const log = bench.log();
    for (const fact of story) await record(log, appendOf(write("t", "any", fact)));
    await forget({ log }, 1, story.length);
    log.close();
    const backend = await bench.backend();
    expect(await statuses(backend)).toEqual({ a: "completed", b: "running", c: "failed" });
    const found: (readonly [string, string])[] = [];
    await asOf(backend.log, [turnsProjection], 5, async (query) => {
      const then = await query.selectFrom("turns").select(["turn_id", "status"]).orderBy("position").execute();
      found.push(...then.map((row) => [row.turn_id, row.status] as const));
    });
    expect(found).toEqual([
      ["a", "completed"],
      ["b", "paused"],
    ]);
  });
});
